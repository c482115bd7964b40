"""What the trees see of a query's candidates: one row a candidate, one column a ``Feature``.

A query as it was read, its candidates and what the stages before gave them go in; a matrix of numbers comes out. It
has always all 41 columns: a model of the first 29 is shown those alone, and what is known of a candidate's trust
changes nothing in them (R-241, R-242). What is not known is NaN where the manifest says so (R-245).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from handlers.ranking.candidate import Candidate
from handlers.ranking.fusion import Fused, age_in_days
from handlers.ranking.intent import ReadQuery
from handlers.ranking.manifest import TOTAL_FEATURES_PHASE_C
from schemas.queries import CandidateTrust
from schemas.ranking import Intent

_NAN = math.nan
_INTENTS = {Intent.SPECIFIC: 0.0, Intent.EXPLORATORY: 1.0, Intent.BALANCED: 2.0}
_ANY_TIME = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST = 3.0e38
"""What a foreign number is cut to, so that it stays finite in the 32 bits in which trees compare."""


def extract_features(
    query: ReadQuery,
    candidates: Sequence[Candidate],
    fused: Sequence[Fused],
    ranked: Sequence[float | None] | None,
    order_before: Sequence[int],
    preview: Sequence[float] | None,
    now: datetime | None,
) -> NDArray[np.float64]:
    """The features of a query's candidates, as they are at this moment of the query (R-240).

    Args:
        query: The query as it was read.
        candidates: In any order; row ``i`` of the result is candidate ``i``.
        fused: What fusion made of each of them.
        ranked: What the judge gave each, 0 to 1, None where it was not shown one; None where no judge was asked, as in
            the cascade.
        order_before: Candidates' numbers in the order before the trees, the best first: the judge's, or the fused one.
        preview: What the diversity stage would give each by the fused scores; None where there is no such stage.
        now: When the query was asked; None where that is unknown, then no document has an age.

    Returns:
        Candidates x 41, by the columns of ``Feature``.
    """
    rows = np.full((len(candidates), TOTAL_FEATURES_PHASE_C), _NAN)
    if not candidates:
        return rows
    places = {number: place for place, number in enumerate(order_before)}
    relative = _relative(fused, ranked)
    of_query = _of_query(query)
    intent = _INTENTS[query.intent.intent]
    last = max(len(candidates) - 1, 1)
    for number, (candidate, score) in enumerate(zip(candidates, fused, strict=True)):
        place = places[number]
        judged = None if ranked is None else ranked[number]
        rows[number] = (
            *of_query,
            *_of_document(candidate, now),
            _known(score.vector),
            score.bm25,
            score.keyword_boost,
            score.temporal_boost,
            score.score,
            score.keyword_overlap,
            float(score.exact_title),
            candidate.position,
            place,
            _known(judged),
            relative[number],
            1.0 - place / last,
            candidate.position - place,
            0.0 if preview is None else preview[number],
            intent,
            *_of_trust(candidate),
        )
    return rows


def _of_query(query: ReadQuery) -> tuple[float, ...]:
    return (
        float(len(query.text)),
        float(len(query.words)),
        float(len(query.phrases)),
        float(len(query.numbers)),
        float(len(query.question_words)),
        float(len(query.keywords)),
    )


def _of_document(candidate: Candidate, now: datetime | None) -> tuple[float, ...]:
    # Of the text that is ranked, and of the fields that a candidate has by itself: its length in words and its
    # schema.org type come with the trust block, and a model of 29 features must not see whether there is one.
    age = age_in_days(candidate.date, now or _ANY_TIME)
    fields = (candidate.title, candidate.summary, candidate.author, age is not None, candidate.site_name)
    return (
        float(len(candidate.text)),
        _NAN if now is None else _known(age),
        float(bool(candidate.author)),
        float(age is not None),
        sum(map(bool, fields)) / len(fields),
        float(len(candidate.title)),
        float(len(candidate.summary)),
        float(len(candidate.url)),
    )


def _relative(fused: Sequence[Fused], ranked: Sequence[float | None] | None) -> list[float]:
    scores = [score.score for score in fused] if ranked is None else [_known(score) for score in ranked]
    best = max((score for score in scores if score == score), default=0.0)
    return [score if score != score else score / best if best > 0 else 0.0 for score in scores]


def _of_trust(candidate: Candidate) -> tuple[float, ...]:
    trust = candidate.trust or CandidateTrust()
    seen = (trust.domain_is_academic, trust.domain_is_government)
    block = (
        candidate.cts_score,
        trust.source_tier,
        trust.has_doi,
        trust.citation_count,
        trust.external_links_count,
        trust.has_references_section,
        trust.has_headings,
        trust.has_statistics,
        trust.has_byline,
        trust.is_wire_report,
        None if seen == (None, None) else any(seen),
    )
    return float(any(value is not None for value in block)), *map(_known, block)


def _known(value: float | None) -> float:
    return _NAN if value is None else float(max(min(value, _LARGEST), -_LARGEST))
