"""The offline judge of rankings: how much of a query's wording a passage has, where, and how near together.

In: the facts that ``rank_results`` asked with. Out: a score for each passage, in the protocol of the task. It compares
words and understands none, so no sentence on a page can talk to it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from itertools import pairwise
from typing import Any

_TITLE, _TEXT, _ORDER, _NEAR = 0.35, 0.35, 0.15, 0.15
"""Shares of a score: words in the title, words in the text, pairs in the query's order, and how near they stand."""
_PHRASE = 0.5
"""What a passage keeps of its score that lacks a phrase which was asked for in quotes."""


def answer(facts: Mapping[str, Any]) -> str:
    """A score in [0, 1] for every passage.

    Args:
        facts: ``words``, those of the query that say something of its subject, in its order; ``phrases``, what it has
            in quotes; and ``passages``, each with ``title`` and ``text``.

    >>> passages = [{"title": "Boat race", "text": "The boat race."}, {"title": "Rain", "text": "No race."}]
    >>> answer({"words": ["boat", "race"], "phrases": [], "passages": passages})
    '{"scores": [{"number": 1, "score": 1.0}, {"number": 2, "score": 0.25}]}'
    """
    # Its dictionary takes a quarter of a second to load, and other tasks are judged without it.
    from handlers.ranking.tokens import tokenize

    words, phrases = facts["words"], [tokenize(phrase) for phrase in facts["phrases"]]
    scores = [
        {
            "number": number,
            "score": round(_score(words, phrases, tokenize(passage["title"]), tokenize(passage["text"])), 4),
        }
        for number, passage in enumerate(facts["passages"], 1)
    ]
    return json.dumps({"scores": scores})


def _score(words: Sequence[str], phrases: Sequence[Sequence[str]], head: Sequence[str], body: Sequence[str]) -> float:
    wanted = list(dict.fromkeys(words))
    if not wanted:
        return 0.0
    in_title = _share(wanted, set(head))
    in_text = _share(wanted, {*head, *body})
    order = max(_in_order(words, head), _in_order(words, body))
    near = max(_nearness(wanted, head), _nearness(wanted, body))
    score = _TITLE * in_title + _TEXT * in_text + _ORDER * order + _NEAR * near
    missed = sum(not (_has(head, phrase) or _has(body, phrase)) for phrase in phrases if phrase)
    return score * _PHRASE**missed


def _share(wanted: Sequence[str], there: Set[str]) -> float:
    return sum(word in there for word in wanted) / len(wanted)


def _in_order(words: Sequence[str], tokens: Sequence[str]) -> float:
    """Share of the query's neighbouring words that are neighbours in the text too; of one word, whether it is there."""
    pairs = list(pairwise(words))
    if not pairs:
        return float(words[0] in tokens)
    there = set(pairwise(tokens))
    return sum(pair in there for pair in pairs) / len(pairs)


def _nearness(wanted: Sequence[str], tokens: Sequence[str]) -> float:
    """Share of the words that are there, times how much of the shortest stretch that has them all they take up."""
    places = [(place, token) for place, token in enumerate(tokens) if token in set(wanted)]
    present = {token for _, token in places}
    if not present:
        return 0.0
    counts: dict[str, int] = {}
    shortest, begin = len(tokens), 0
    for end, token in places:
        counts[token] = counts.get(token, 0) + 1
        while len(counts) == len(present):
            first, leaving = places[begin]
            shortest = min(shortest, end - first + 1)
            begin += 1
            counts[leaving] -= 1
            if not counts[leaving]:
                del counts[leaving]
    return len(present) / len(wanted) * len(present) / shortest


def _has(tokens: Sequence[str], phrase: Sequence[str]) -> bool:
    size = len(phrase)
    return any(list(tokens[at : at + size]) == list(phrase) for at in range(len(tokens) - size + 1))
