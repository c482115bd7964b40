"""How a text is built: sentences, labels of links, addresses, and phrases that stand on certain pages.

In: title and text of a result. Out: counts and shares. Plain text has no anchors, so the share of links is counted
from link phrases and addresses, and only from a minimum of them: one link in a snippet is no listing (C-04).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from handlers.results.evidence import fold
from handlers.results.patterns import CompiledPatterns

_ADDRESS = re.compile(r"https?://[^\s<>\"')\]]{3,200}|\bwww\.[^\s<>\"')\]]{3,200}")
_SENTENCE = re.compile(r"[^.!?。！？…\n]{20,1000}[.!?。！？…]")
_WORD = re.compile(r"[^\W\d_]+|[\u3400-\u9fff]")
_SENTENCE_WORDS = 6


@dataclass(frozen=True, slots=True)
class TextShape:
    """How a text is built.

    Attributes:
        characters: Length without outer and repeated blanks.
        words: Words; an ideograph counts as one.
        link_phrases: Labels such as "Read more", and addresses.
        link_share: Words of those labels by all words, in [0, 1].
        content_share: Characters that stand in sentences by all characters, in [0, 1].
        account_phrases: Different phrases of log-in and registration forms.
        item_phrases: Different phrases that stand beside one item or article.
    """

    characters: int = 0
    words: int = 0
    link_phrases: int = 0
    link_share: float = 0.0
    content_share: float = 0.0
    sentence_characters: int = 0
    account_phrases: int = 0
    item_phrases: int = 0


def measure_text(text: str, patterns: CompiledPatterns) -> TextShape:
    """Measures a text; never raises. An empty text is all zeros."""
    folded = fold(text)
    words = len(_WORD.findall(folded))
    if not words:
        return TextShape()
    # Addresses count as one word each, and their own words not at all.
    addresses = _ADDRESS.findall(folded)
    phrases = [match.group() for match in patterns.link_phrases.finditer(folded)]
    phrase_words = sum(len(_WORD.findall(phrase)) for phrase in phrases) + len(addresses)
    address_words = sum(len(_WORD.findall(address)) for address in addresses)
    sentences = sum(len(match.group()) for match in _SENTENCE.finditer(folded) if _is_sentence(match.group()))
    return TextShape(
        characters=len(text),
        words=words,
        link_phrases=len(phrases) + len(addresses),
        link_share=min(1.0, phrase_words / max(1, words - address_words + len(addresses))),
        content_share=min(1.0, sentences / len(text)),
        sentence_characters=sentences,
        account_phrases=len(set(patterns.account_phrases.findall(folded))),
        item_phrases=len(set(patterns.item_phrases.findall(folded))),
    )


def _is_sentence(text: str) -> bool:
    # Counting blanks is enough and cheaper than finding words; ideographs have none between them.
    return text.count(" ") >= _SENTENCE_WORDS - 1 or sum("\u3400" <= character <= "\u9fff" for character in text[:40]) > 12  # noqa: PLR2004
