"""How much of a query a text covers, word by word: the stand-in where no judge has read the results (C-10)."""

from __future__ import annotations

import re
from collections.abc import Sequence

_WORDS = re.compile(r"[^\W_]+")
_CJK_RUNS = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\u3040-\u30ff\uac00-\ud7af]+")


def query_terms(query: str, stop_words: frozenset[str]) -> tuple[str, ...]:
    """The terms of a query without stop words: words, and pairs of characters where no spaces divide words.

    >>> query_terms("events in Aarhus", frozenset({"in"}))
    ('events', 'aarhus')
    >>> query_terms("爵士音樂", frozenset())
    ('爵士', '士音', '音樂')
    """
    terms: dict[str, None] = {}
    lowered = query.lower()
    for run in _CJK_RUNS.findall(lowered):
        for start in range(max(1, len(run) - 1)):
            if (pair := run[start : start + 2]) not in stop_words:
                terms[pair] = None
    for word in _WORDS.findall(_CJK_RUNS.sub(" ", lowered)):
        if word not in stop_words:
            terms[word] = None
    return tuple(terms)


def coverage(terms: Sequence[str], text: str) -> float:
    """Share of the terms that occur in a text, 0 to 1; 0 where there are none.

    >>> coverage(("jazz", "november"), "Jazz at the Blue Note")
    0.5
    >>> coverage(("ai",), "南方AI健康展")
    1.0
    """
    if not terms:
        return 0.0
    lowered = text.lower()
    words = frozenset(_WORDS.findall(_CJK_RUNS.sub(" ", lowered)))
    return sum(term in words or (not term.isascii() and term in lowered) for term in terms) / len(terms)
