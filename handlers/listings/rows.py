"""Rows of a listing in plain text: a name and a price, a name and a date, a topic and its counts, one after another.

In: a text and the details that were found in it. Out: how many stand in the longest run of parallel rows, and how much
of the text they are: an item's page shows a few others as well. A sentence has several dates or prices too, with
function words between them; several prices of one thing stand side by side.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from handlers.text.patterns import CompiledPatterns, split_words
from handlers.text.words import fold
from schemas.retrieval import Evidence

# What stands before the first digit is looked at behind it: an expression that begins with a digit is found faster.
_COUNTS = re.compile(r"\d(?<![\w.,:/-]\d)\d{0,6}[ /]{1,3}\d{1,9}(?![\w:/%-]|[.,]\d)")
_KINDS = ("date", "price")
_MOST = 40
_GAP_CHARACTERS = 80
_GAP_WORDS = 12
_FUNCTION_WORDS = 0.4

_Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Rows:
    """The longest run of rows: how many, and the share of the text from the first to the last, in [0, 1]."""

    count: int = 0
    share: float = 0.0


def find_rows(text: str, evidence: Iterable[Evidence], patterns: CompiledPatterns) -> Rows:
    """The longest run of rows: each has a name of a few words before or after its date, price or counts.

    Args:
        text: Plain text, as far as rows are looked for.
        evidence: Its details, in order.
        patterns: Function words of all languages.
    """
    spans: dict[str, list[_Span]] = {kind: [] for kind in _KINDS}
    taken: list[_Span] = []
    for detail in evidence:
        if detail.end > len(text):
            continue
        taken.append((detail.start, detail.end))
        if detail.kind in spans:
            spans[detail.kind].append((detail.start, detail.end))
    spans["counts"] = [
        found.span()
        for found in islice(_COUNTS.finditer(text), _MOST)
        if not any(start < found.end() and found.start() < end for start, end in taken)
    ]
    count, characters = max(_longest_run(text, found, patterns) for found in spans.values())
    return Rows(count, characters / len(text)) if count > 1 else Rows()


def _longest_run(text: str, spans: Sequence[_Span], patterns: CompiledPatterns) -> tuple[int, int]:
    """How many there are, and characters from the first to the last."""
    longest = (0, 0)
    first = 0
    for place, span in enumerate(spans):
        if place and not _is_name(text[spans[place - 1][1] : span[0]], patterns):
            first = place
        longest = max(longest, (place - first + 1, span[1] - spans[first][0]))
    return longest


def _is_name(gap: str, patterns: CompiledPatterns) -> bool:
    """A few words, hardly any of them a function word that is not part of a button's label."""
    if len(gap) > _GAP_CHARACTERS:
        return False
    words = split_words(fold(gap))
    if not 0 < len(words) <= _GAP_WORDS:
        return False
    most = _FUNCTION_WORDS * len(words)
    function_words = sum(map(patterns.stop_words.__contains__, words))
    if function_words <= most:
        return True
    labels = chain.from_iterable((*patterns.item_phrases.find(words), *patterns.link_phrases.find(words)))
    return function_words - sum(map(patterns.stop_words.__contains__, labels)) <= most
