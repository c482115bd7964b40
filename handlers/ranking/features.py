"""The features of a query's candidates: one row a candidate, one column a ``Feature``.

The matrix always has all 41 columns; the trust of a candidate has no influence on the first 29 (R-241, R-242).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from handlers.ranking.candidates import Candidate
from handlers.ranking.fusion import Fused, age_in_days
from handlers.ranking.model import NAMES, Feature
from handlers.ranking.query import ReadQuery
from schemas.queries import CandidateTrust
from schemas.ranking import Intent

_NAN = math.nan
_INTENTS = {Intent.SPECIFIC: 0.0, Intent.EXPLORATORY: 1.0, Intent.BALANCED: 2.0}
_STATED = NAMES[Feature.SOURCE_TIER : Feature.DOMAIN_AUTHORITY]
"""Features that a candidate's trust has under the same names."""
_ANY_TIME = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST = 3.0e38
"""Bound of a foreign number: trees compare in 32 bits, where it stays finite."""


def extract_features(
    query: ReadQuery,
    candidates: Sequence[Candidate],
    fused: Sequence[Fused],
    ranked: Sequence[float | None] | None,
    order_before: Sequence[int],
    preview: Sequence[float] | None,
    now: datetime | None,
) -> NDArray[np.float64]:
    """The features of a query's candidates (R-240): candidates x 41, by the columns of ``Feature``.

    Args:
        query: As it was read.
        candidates: In any order; row ``i`` of the result is candidate ``i``.
        fused: Scores of the fusion.
        ranked: The judge's scores, 0 to 1, None for a candidate without one; None if no judge was asked (cascade).
        order_before: Candidates' numbers in the order before the trees, the best first.
        preview: Scores of the diversity stage for the fused ones; None where it is off.
        now: When the query was asked; None where unknown, then no document has an age.
    """
    rows = np.full((len(candidates), len(Feature)), _NAN)
    places = {number: place for place, number in enumerate(order_before)}
    relative = _relative(fused, ranked)
    counted = (query.text, query.words, query.phrases, query.numbers, query.question_words, query.keywords)
    intent = _INTENTS[query.intent.intent]
    last = max(len(candidates) - 1, 1)
    for number, (candidate, score) in enumerate(zip(candidates, fused, strict=True)):
        place = places[number]
        rows[number] = (
            *map(len, counted),
            *_of_document(candidate, now),
            _known(score.vector),
            score.bm25,
            score.keyword_boost,
            score.temporal_boost,
            score.score,
            score.keyword_overlap,
            score.exact_title,
            candidate.position,
            place,
            _NAN if ranked is None else _known(ranked[number]),
            relative[number],
            1.0 - place / last,
            candidate.position - place,
            0.0 if preview is None else preview[number],
            intent,
            *_of_trust(candidate),
        )
    return rows


def _of_document(candidate: Candidate, now: datetime | None) -> tuple[float, ...]:
    # Not of the trust block (length in words, schema.org type): a model of 29 features must not depend on it.
    age = age_in_days(candidate.date, now or _ANY_TIME)
    fields = (candidate.title, candidate.summary, candidate.author, age is not None, candidate.site_name)
    return (
        len(candidate.text),
        _NAN if now is None or age is None else max(0.0, age),
        bool(candidate.author),
        age is not None,
        sum(map(bool, fields)) / len(fields),
        len(candidate.title),
        len(candidate.summary),
        len(candidate.url),
    )


def _relative(fused: Sequence[Fused], ranked: Sequence[float | None] | None) -> list[float]:
    scores = [score.score for score in fused] if ranked is None else [_known(score) for score in ranked]
    best = max((score for score in scores if score == score), default=0.0)
    return [score if score != score else score / best if best > 0 else 0.0 for score in scores]


def _of_trust(candidate: Candidate) -> tuple[float, ...]:
    trust = candidate.trust or CandidateTrust()
    seen = (trust.domain_is_academic, trust.domain_is_government)
    stated = (getattr(trust, name) for name in _STATED)
    block = (candidate.cts_score, *stated, None if seen == (None, None) else any(seen))
    return float(any(value is not None for value in block)), *map(_known, block)


def _known(value: float | None) -> float:
    return _NAN if value is None else float(max(min(value, _LARGEST), -_LARGEST))
