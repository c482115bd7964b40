"""The verdict: counts, means, and when extraction is needed."""

from __future__ import annotations

import pytest

from handlers.results.verdict import extraction_reason, judge_batch
from schemas.retrieval import ClassifiedResult, ResultType

SPECIFIC, AGGREGATOR, NAVIGATION = ResultType.SPECIFIC_CONTENT, ResultType.AGGREGATOR, ResultType.NAVIGATION


def results(*pairs: tuple[ResultType, float]) -> list[ClassifiedResult]:
    return [
        ClassifiedResult(url="https://example.com", result_type=kind, actionable_score=score, confidence=0.5)
        for kind, score in pairs
    ]


def test_statistics_of_a_batch() -> None:
    verdict = judge_batch(results((SPECIFIC, 0.9), (AGGREGATOR, 0.2), (NAVIGATION, 0.4)), 0.6)
    assert (verdict.counts.specific_content, verdict.counts.aggregator, verdict.counts.navigation) == (1, 1, 1)
    assert verdict.actionable_information == pytest.approx(0.5)
    assert verdict.confidence == pytest.approx(0.5)
    assert verdict.extraction_reason is None


@pytest.mark.parametrize(
    ("pairs", "needed"),
    [
        ([(AGGREGATOR, 0.2)], True),
        ([(AGGREGATOR, 0.2), (SPECIFIC, 0.6)], False),
        ([(AGGREGATOR, 0.2), (AGGREGATOR, 0.2), (SPECIFIC, 0.95)], True),
        ([(AGGREGATOR, 0.5), (AGGREGATOR, 0.5), (SPECIFIC, 1.0)], False),
        ([(AGGREGATOR, 0.5), (AGGREGATOR, 0.5), (SPECIFIC, 0.8)], False),  # exactly the threshold
        ([(NAVIGATION, 0.4)], False),
        ([], False),
    ],
)
def test_extraction_needs_a_low_score_and_a_strict_majority(
    pairs: list[tuple[ResultType, float]], *, needed: bool
) -> None:
    threshold = 0.6
    verdict = judge_batch(results(*pairs), threshold)
    assert (verdict.extraction_reason is not None) is needed


def test_means_have_four_digits() -> None:
    verdict = judge_batch(results((SPECIFIC, 0.9), (AGGREGATOR, 0.2), (AGGREGATOR, 0.2)), 0.6)
    assert verdict.actionable_information == 0.4333


def test_an_empty_batch_is_zero() -> None:
    verdict = judge_batch([], 0.6)
    assert (verdict.actionable_information, verdict.confidence, verdict.extraction_reason) == (0.0, 0.0, None)


@pytest.mark.parametrize(
    ("actionable", "shown"), [(0.2, "0.20"), (0.3167, "0.32"), (0.5972, "0.59"), (0.59, "0.59"), (0.5999, "0.59")]
)
def test_what_the_reason_shows_is_below_the_threshold(actionable: float, shown: str) -> None:
    assert f"score: {shown} < 0.6." in extraction_reason(2, 3, actionable, 0.6)
