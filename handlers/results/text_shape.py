"""How a text is built: sentences, labels of links, addresses, and phrases that stand on certain pages.

In: title and text of a result. Out: counts and shares. Plain text has no anchors, so the share of links is counted
from link phrases and addresses, and only from a minimum of them: one link in a snippet is no listing (C-04).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from handlers.results.patterns import CompiledPatterns, split_words
from handlers.results.spans import fold

_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>\"')\]]{3,200}")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[。！？…]|\n")
_IDEOGRAPH = re.compile(r"[\u3400-\u9fff]")
_SENTENCE_WORDS = range(5, 120)


@dataclass(frozen=True, slots=True)
class TextShape:
    """How a text is built.

    Attributes:
        words: Words; an ideograph counts as one.
        link_phrases: Labels such as "Read more", and addresses.
        link_share: Words of those labels by all words, in [0, 1].
        content_share: Characters that stand in sentences by all characters, in [0, 1].
        sentence_words: Words in sentences.
        function_words: Share of words such as "the" or "and", which running text has and lists of labels lack.
        account_phrases: Different phrases of log-in and registration forms.
        item_phrases: Different phrases that stand beside one item or article.
    """

    words: int = 0
    link_phrases: int = 0
    link_share: float = 0.0
    content_share: float = 0.0
    sentence_words: int = 0
    function_words: float = 0.0
    account_phrases: int = 0
    item_phrases: int = 0


def measure_text(text: str, patterns: CompiledPatterns) -> TextShape:
    """Measures a text; never raises. An empty text is all zeros."""
    folded = fold(text)
    words = split_words(folded)
    if not words:
        return TextShape()
    # Addresses count as one word each, and their own words not at all.
    addresses = _ADDRESS.findall(folded)
    phrases = patterns.link_phrases.find(words)
    phrase_words = sum(map(len, phrases)) + len(addresses)
    address_words = sum(len(split_words(address)) for address in addresses)
    characters, sentence_words = _sentences(folded)
    return TextShape(
        words=len(words),
        link_phrases=len(phrases) + len(addresses),
        link_share=min(1.0, phrase_words / max(1, len(words) - address_words + len(addresses))),
        content_share=min(1.0, characters / len(text)),
        sentence_words=sentence_words,
        function_words=sum(map(patterns.stop_words.__contains__, words)) / len(words),
        account_phrases=len(set(patterns.account_phrases.find(words))),
        item_phrases=len(set(patterns.item_phrases.find(words))),
    )


def _sentences(text: str) -> tuple[int, int]:
    """Characters and words that stand in sentences; labels run together are too short or too long for one."""
    characters = total = start = 0
    letters_only = text.isascii()
    for mark in _SENTENCE_END.finditer(text):
        sentence = text[start : mark.end()]
        start = mark.end()
        if mark.group() == "\n":
            continue
        # Counting blanks is cheaper than finding words; ideographs have none between them.
        words = sentence.count(" ") + (0 if letters_only else len(_IDEOGRAPH.findall(sentence)))
        if words in _SENTENCE_WORDS:
            characters += len(sentence)
            total += words
    return characters, total
