"""Evaluation: the two worked examples exactly, thresholds, severe failure, and the stand-in for a judge."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from handlers.classify_results import ClassifyResultsRules, classify_results
from handlers.evaluate_retrieval import EvaluateRetrievalRules, evaluate_retrieval
from schemas.outcome import Emit
from schemas.retrieval import (
    JudgeScores,
    ResultsClassified,
    RetrievalBatch,
    RetrievalEvaluated,
    RetrievedContent,
    ScoreSource,
    SourceScores,
)
from tests.handlers.test_classify_results import CONCERT, LISTING
from tests.rules import shipped_rules

CLASSIFY = shipped_rules(ClassifyResultsRules)
EVALUATE = shipped_rules(EvaluateRetrievalRules)


def judged(recall: float, precision: float, quality: float) -> JudgeScores:
    return JudgeScores(context_recall=recall, context_precision=precision, source_quality=quality)


def evaluate(
    *contents: RetrievedContent,
    query: str = "jazz concert November 29",
    judge: JudgeScores | None = None,
    rules: EvaluateRetrievalRules = EVALUATE,
    **fields: Any,
) -> RetrievalEvaluated:
    batch = RetrievalBatch(batch_id="b1", query=query, retrieved_content=contents, judge_scores=judge, **fields)
    classified = classify_results(batch, CLASSIFY)
    assert isinstance(classified, Emit)
    assert isinstance(classified.events[0], ResultsClassified)
    outcome = evaluate_retrieval(classified.events[0], rules)
    assert isinstance(outcome, Emit)
    (evaluated,) = outcome.events
    assert isinstance(evaluated, RetrievalEvaluated)
    return evaluated


def test_detects_aggregator_pages_and_suggests_extraction() -> None:
    """R-063, on the wire."""
    evaluated = json.loads(evaluate(LISTING, query="events in Aarhus today", judge=judged(0.5, 0.5, 0.6)).to_json())
    assert evaluated["passed"] is False
    assert evaluated["scores"] == {
        "contextRecall": 0.5, "contextPrecision": 0.5, "sourceQuality": 0.6, "actionableInformation": 0.2,
    }  # fmt: skip
    assert evaluated["sourceDetails"] == [
        {
            "url": LISTING.url,
            "relevanceScore": 0.5,
            "qualityScore": 0.6,
            "resultType": "AGGREGATOR",
            "actionableScore": 0.2,
        }
    ]
    assert evaluated["needsExtraction"] is True
    assert evaluated["extractionReason"] == (
        "Retrieved content is mostly aggregator pages (1/1). Average actionable score: 0.20 < 0.6. "
        "Web fetch extraction recommended to get specific content."
    )
    assert evaluated["overallScore"] == pytest.approx(0.445)
    assert evaluated["severeFailure"] is True


def test_returns_scores_with_actionable_information() -> None:
    """R-064, on the wire."""
    evaluated = json.loads(evaluate(CONCERT, judge=judged(0.85, 0.9, 0.8)).to_json())
    assert evaluated["passed"] is True
    assert evaluated["scores"] == {
        "contextRecall": 0.85, "contextPrecision": 0.9, "sourceQuality": 0.8, "actionableInformation": 0.95,
    }  # fmt: skip
    assert evaluated["sourceDetails"] == [
        {
            "url": CONCERT.url,
            "relevanceScore": 0.875,
            "qualityScore": 0.8,
            "resultType": "SPECIFIC_CONTENT",
            "actionableScore": 0.95,
        }
    ]
    assert evaluated["needsExtraction"] is False
    assert "extractionReason" not in evaluated
    assert evaluated["overallScore"] == pytest.approx(0.8775)
    assert evaluated["severeFailure"] is False
    assert evaluated["scoreSource"] == "given"


@pytest.mark.parametrize(
    ("judge", "passed", "severe"),
    [
        (judged(0.5, 0.5, 0.5), True, False),
        (judged(0.49, 0.9, 0.9), False, False),
        (judged(0.0, 0.0, 0.9), False, True),
    ],
)
def test_flags_severe_failures_below_one_half(judge: JudgeScores, *, passed: bool, severe: bool) -> None:
    evaluated = evaluate(CONCERT, judge=judge)
    assert evaluated.passed is passed
    assert evaluated.severe_failure is severe


def test_an_empty_batch_is_zero_and_does_not_pass() -> None:
    for judge in (None, judged(1.0, 1.0, 1.0)):
        evaluated = evaluate(judge=judge)
        assert not evaluated.passed
        assert not evaluated.needs_extraction
        assert evaluated.overall_score == 0.0
        assert evaluated.source_details == ()


def test_without_a_judge_the_words_decide_and_the_event_says_so() -> None:
    known = CONCERT.model_copy(update={"cts_score": 90})
    evaluated = evaluate(known, RetrievedContent(url="https://example.com/", content="Something else."))
    assert evaluated.score_source is ScoreSource.FALLBACK
    assert evaluated.scores.context_recall == 1.0
    assert evaluated.scores.context_precision == 0.5
    assert evaluated.scores.source_quality == pytest.approx(0.7)


def test_queries_in_chinese_are_covered_by_pairs_of_characters() -> None:
    evaluated = evaluate(RetrievedContent(content="北京爵士音乐会"), query="北京的爵士音乐会")
    assert 0.5 < evaluated.scores.context_recall < 1.0


def test_improvement_and_version_travel_along() -> None:
    evaluated = evaluate(CONCERT, attempt=2, parent_batch_id="b0", previous_actionable_information=0.2)
    assert evaluated.improvement == pytest.approx(0.75)
    assert (evaluated.attempt, evaluated.parent_batch_id) == (2, "b0")
    assert evaluated.config_version == EVALUATE.config_version


def test_a_threshold_left_out_has_its_default() -> None:
    rules = shipped_rules(EvaluateRetrievalRules, retrievalEvaluation={"dimensionThresholds": {"sourceQuality": 0.7}})
    thresholds = rules.retrievalEvaluation.dimensionThresholds
    assert (thresholds.actionableInformation, thresholds.contextRecall, thresholds.sourceQuality) == (0.6, 0.5, 0.7)
    assert not evaluate(CONCERT, judge=judged(0.9, 0.9, 0.6), rules=rules).passed


def test_weights_that_do_not_sum_to_one_are_refused() -> None:
    with pytest.raises(ValidationError, match="sum to"):
        shipped_rules(EvaluateRetrievalRules, retrievalEvaluation={"weights": {"contextRecall": 0.4}})


def test_a_judge_of_single_sources_takes_the_place_of_the_batch_s_dimensions_there() -> None:
    """C-08: it overrides, and the event says so."""
    other = RetrievedContent(url="https://elsewhere.example/jazz", content="Jazz in November.")
    own = (
        SourceScores(url=CONCERT.url + "#programme", relevance_score=0.95, quality_score=0.0),
        SourceScores(url=CONCERT.url, relevance_score=0.1),
        SourceScores(url="https://nowhere.example/", relevance_score=0.1),
        SourceScores(url=other.url),
    )
    judge = judged(0.8, 0.6, 0.5).model_copy(update={"sources": own})
    evaluated = json.loads(evaluate(CONCERT, other, judge=judge).to_json())
    first, second = evaluated["sourceDetails"]
    assert (first["relevanceScore"], first["qualityScore"], first["scoreSource"]) == (0.95, 0.0, "given")
    assert (second["relevanceScore"], second["qualityScore"]) == (pytest.approx(0.7), 0.5)
    assert "scoreSource" not in second
    assert evaluated["scores"]["contextRecall"] == 0.8, "the batch's own dimensions stand"


def test_a_judge_may_score_one_side_of_a_source() -> None:
    judge = judged(0.8, 0.6, 0.5).model_copy(update={"sources": (SourceScores(url=CONCERT.url, quality_score=0.9),)})
    [detail] = evaluate(CONCERT, judge=judge).source_details
    assert detail.relevance_score == pytest.approx(0.7)
    assert detail.quality_score == 0.9
    assert detail.score_source is ScoreSource.GIVEN
