"""How a text is built: sentences, labels of links, addresses, and phrases that stand on certain pages.

In: title and text of a result. Out: counts and shares. Plain text has no anchors, so the share of links is counted
from link phrases and addresses, and only from a minimum of them: one link in a snippet is no listing (C-04).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import compress, pairwise
from itertools import count as count_up

from handlers.text.patterns import CompiledPatterns, split_words
from handlers.text.scripts import HAN_RUN, has_han
from handlers.text.words import fold

_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>\"')\]]{3,200}")
# One class of characters to begin with: the engine then looks for it in one go. A full stop ends nothing inside a word.
_SENTENCE_END = re.compile(r"[.!?\n。！？…](?:(?<![.!?])|(?!\S))")
_FIRST, _LAST = "\u3400", "\ua000"
_PAIRED = 1000
_OF_ONE_ITEM = 2
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
        item_phrases: Different phrases that stand beside one item or article; one that comes often stands beside many.
        tail_function_words: The same share of the second half, beyond menus and headings.
        capitals: Share of words that begin with a capital, as names and labels do.
        variety: Different words by all words.
        repeated_pairs: Share of pairs of neighbouring words that occur again, as the labels of alike blocks do; of the
            first thousand.
        numbers: Numbers that stand alone, by all words.
        commas, stops, questions, exclamations: Marks by all words.
        longest_run: Share of the text that stands between the two ends of sentences that are furthest apart.
        first_end: Characters up to the first end of a sentence.
        ideographs: Share of words that are an ideograph.
    """

    words: int = 0
    link_phrases: int = 0
    link_share: float = 0.0
    content_share: float = 0.0
    sentence_words: int = 0
    function_words: float = 0.0
    account_phrases: int = 0
    item_phrases: int = 0
    tail_function_words: float = 0.0
    capitals: float = 0.0
    variety: float = 0.0
    repeated_pairs: float = 0.0
    numbers: float = 0.0
    commas: float = 0.0
    stops: float = 0.0
    questions: float = 0.0
    exclamations: float = 0.0
    longest_run: float = 0.0
    first_end: int = 0
    ideographs: float = 0.0


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
    has_wide = not text.isascii()
    has_ideographs = has_han(text)
    sentences = _sentences(folded, has_ideographs)
    is_function_word = patterns.stop_words.__contains__
    tail = words[count // 2 :]
    in_head, in_tail = sum(map(is_function_word, words[: count // 2])), sum(map(is_function_word, tail))
    tokens = text.split()
    paired = words[:_PAIRED]
    return TextShape(
        words=count,
        link_phrases=len(phrases) + len(addresses),
        link_share=min(1.0, phrase_words / max(1, count - address_words + len(addresses))),
        content_share=min(1.0, sentences.characters / len(text)),
        sentence_words=sentences.words,
        function_words=(in_head + in_tail) / count,
        account_phrases=len(set(patterns.account_phrases.find(words, places))),
        item_phrases=sum(
            times <= _OF_ONE_ITEM for times in Counter(patterns.item_phrases.find(words, places)).values()
        ),
        tail_function_words=in_tail / len(tail),
        capitals=sum(map(str.istitle, tokens)) / len(tokens),
        variety=len(set(words)) / count,
        repeated_pairs=1.0 - len(set(pairwise(paired))) / max(1, len(paired) - 1),
        numbers=sum(map(str.isdecimal, tokens)) / count,
        commas=_marks(text, ",", "，、", has_wide) / count,
        stops=_marks(text, (". ",), "。", has_wide) / count,
        questions=_marks(text, "?", "？", has_wide) / count,
        exclamations=_marks(text, "!", "！", has_wide) / count,
        longest_run=sentences.longest_run / len(text),
        first_end=sentences.first_end,
        ideographs=len([word for word in paired if _FIRST <= word < _LAST]) / len(paired) if has_ideographs else 0.0,
    )


def _marks(text: str, marks: Iterable[str], wide: str, has_wide: bool) -> int:
    return sum(map(text.count, (*marks, *wide) if has_wide else marks))


@dataclass(frozen=True, slots=True)
class _Sentences:
    """Characters and words that stand in sentences, the longest stretch without an end, and where the first ends."""

    characters: int
    words: int
    longest_run: int
    first_end: int


def _sentences(text: str, has_ideographs: bool) -> _Sentences:
    """Labels run together are too short or too long for a sentence."""
    ends = [mark.end() for mark in _SENTENCE_END.finditer(text)]
    if not ends:
        return _Sentences(0, 0, len(text), len(text))
    # Counting blanks is cheaper than finding words; ideographs have none between them, so each is made one.
    blanks = HAN_RUN.sub(lambda run: " " * len(run[0]), text) if has_ideographs else text
    characters = total = 0
    for begin, end in pairwise((0, *ends)):
        words = blanks.count(" ", begin, end)
        if words in _SENTENCE_WORDS and text[end - 1] != "\n":
            characters += end - begin
            total += words
    longest = max(end - begin for begin, end in pairwise((0, *ends, len(text))))
    return _Sentences(characters, total, longest, ends[0])
