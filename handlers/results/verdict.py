"""The verdict on a batch: how many results are of each type, how actionable it is, and whether to fetch (R-039, R-055).

Extraction is needed where the mean actionable score is below its threshold *and* strictly more than half of the
results are listings (C-07).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal

from schemas.retrieval import ClassifiedResult, ResultCounts, ResultType


@dataclass(frozen=True, slots=True)
class Verdict:
    """Statistics of a batch. All are 0 for an empty one, which needs no extraction (R-042).

    ``extraction_reason`` says why listings should be followed, if there are any that can be; None where none should.
    """

    counts: ResultCounts
    actionable_information: float
    confidence: float
    extraction_reason: str | None


def judge_batch(results: Sequence[ClassifiedResult], threshold: float) -> Verdict:
    """The verdict on classified results, against the threshold of actionable information."""
    types = Counter(result.result_type for result in results)
    counts = ResultCounts(
        specific_content=types[ResultType.SPECIFIC_CONTENT],
        aggregator=types[ResultType.AGGREGATOR],
        navigation=types[ResultType.NAVIGATION],
    )
    actionable = _mean([result.actionable_score for result in results])
    needed = actionable < threshold and 2 * counts.aggregator > len(results)
    return Verdict(
        counts=counts,
        actionable_information=actionable,
        confidence=_mean([result.confidence for result in results]),
        extraction_reason=extraction_reason(counts.aggregator, len(results), actionable, threshold) if needed else None,
    )


def extraction_reason(aggregators: int, total: int, actionable: float, threshold: float) -> str:
    """The reason in the words of R-057.

    >>> extraction_reason(1, 1, 0.2, 0.6)  # doctest: +ELLIPSIS
    'Retrieved content is mostly aggregator pages (1/1). Average actionable score: 0.20 < 0.6. Web fetch ...'
    """
    shown = f"{actionable:.2f}"
    if float(shown) >= threshold:
        # 0.5972 is below 0.6, and must not be told as 0.60.
        shown = str(Decimal(str(actionable)).quantize(Decimal("0.01"), ROUND_DOWN))
    return (
        f"Retrieved content is mostly aggregator pages ({aggregators}/{total}). "
        f"Average actionable score: {shown} < {threshold:g}. "
        "Web fetch extraction recommended to get specific content."
    )


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4) if values else 0.0
