"""How a text is built: sentences, labels of links, phrases of certain pages.

Plain text has no anchors, so the share of links is counted from link phrases and addresses.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, pairwise
from itertools import count as count_up

from handlers.text.patterns import CompiledPatterns, split_words
from handlers.text.scripts import HAN_RUN
from handlers.text.words import fold

_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>\"')\]]{3,200}")
# One class of characters to begin with: the engine then looks for it in one go. A full stop ends nothing inside a word.
_SENTENCE_END = re.compile(r"[.!?\n。！？…](?:(?<![.!?])|(?!\S))")
_FIRST, _LAST = "\u3400", "\ua000"
_OF_ONE_ITEM = 2
_PAIRED = 1000
_MARKS = {"commas": (",", "，", "、"), "stops": (". ", "。"), "questions": ("?", "？"), "exclamations": ("!", "！")}
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
        function_words: Share of words such as "the" or "and", which running text has and lists of labels lack; two
            ideographs count as a word.
        account_phrases: Different phrases of log-in and registration forms.
        item_phrases: Different phrases that stand beside one item or article; one that comes often stands beside many.
        style: Further shares of the words by name, such as those that begin with a capital.
    """

    words: int = 0
    link_phrases: int = 0
    link_share: float = 0.0
    content_share: float = 0.0
    sentence_words: int = 0
    function_words: float = 0.0
    account_phrases: int = 0
    item_phrases: int = 0
    style: Mapping[str, float] = field(default_factory=dict)


def measure_text(text: str, patterns: CompiledPatterns) -> TextShape:
    """Measures a text; never raises. An empty text is all zeros."""
    folded = fold(text)
    words = split_words(folded)
    if not words:
        return TextShape()
    count = len(words)
    # Addresses count as one word each, and their own words not at all.
    addresses = _ADDRESS.findall(folded) if "://" in folded or "www." in folded else []
    places = list(compress(count_up(), map(patterns.phrase_begins.__contains__, words)))
    phrases = patterns.link_phrases.find(words, places)
    phrase_words = sum(map(len, phrases)) + len(addresses)
    address_words = sum(len(split_words(address)) for address in addresses)
    ideographs = 0 if text.isascii() else sum(_FIRST <= word < _LAST for word in words)
    characters, sentence_words = _sentences(folded, bool(ideographs))
    item_phrases = Counter(patterns.item_phrases.find(words, places))
    return TextShape(
        words=count,
        link_phrases=len(phrases) + len(addresses),
        link_share=min(1.0, phrase_words / max(1, count - address_words + len(addresses))),
        content_share=min(1.0, characters / len(text)),
        sentence_words=sentence_words,
        function_words=sum(map(patterns.stop_words.__contains__, words)) / count * (1.0 + ideographs / count),
        account_phrases=len(set(patterns.account_phrases.find(words, places))),
        item_phrases=sum(times <= _OF_ONE_ITEM for times in item_phrases.values()),
        style=_style(text, words, patterns),
    )


def _style(text: str, words: Sequence[str], patterns: CompiledPatterns) -> dict[str, float]:
    """Labels begin with a capital, alike blocks repeat pairs of words, a menu comes before the running text."""
    tokens, paired, tail = text.split(), words[:_PAIRED], words[len(words) // 2 :]
    return {
        "capitals": sum(map(str.istitle, tokens)) / len(tokens),
        "numbers": sum(map(str.isdecimal, tokens)) / len(words),
        "variety": len(set(words)) / len(words),
        "repeated_pairs": 1.0 - len(set(pairwise(paired))) / max(1, len(paired) - 1),
        "tail_function_words": sum(map(patterns.stop_words.__contains__, tail)) / len(tail),
        **{name: sum(map(text.count, marks)) / len(words) for name, marks in _MARKS.items()},
    }


def _sentences(text: str, has_ideographs: bool) -> tuple[int, int]:
    """Characters and words that stand in sentences. Labels run together are too short or too long for one."""
    # Counting blanks is cheaper than finding words; ideographs have none between them, so each is made one.
    blanks = HAN_RUN.sub(lambda run: " " * len(run[0]), text) if has_ideographs else text
    characters = total = 0
    for begin, end in pairwise((0, *(mark.end() for mark in _SENTENCE_END.finditer(text)))):
        words = blanks.count(" ", begin, end)
        if words in _SENTENCE_WORDS and text[end - 1] != "\n":
            characters += end - begin
            total += words
    return characters, total
