"""Evaluation: the two worked examples, thresholds, severe failure, and the fallback for a judge."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from handlers.classify_results import ClassifyResultsRules, classify_results
from handlers.evaluate_retrieval import EvaluateRetrievalRules, evaluate_retrieval, read_retrieval
from schemas.llm import CallOutcome, CamelLlmCall, LlmCall
from schemas.needs import Ask, AskModel
from schemas.outcome import Emit
from schemas.replies import ModelFailed, ModelReply
from schemas.retrieval import (
    JudgeScores,
    NextStep,
    ResultsClassified,
    RetrievalBatch,
    RetrievalEvaluated,
    RetrievedContent,
    ScoreSource,
    SourceScores,
)
from streams.llm.tasks import answer_offline
from tests.handlers.test_classify_results import CONCERT, LISTING
from tests.rules import shipped_rules
from tests.samples import emitted, instance
from tests.tables import tables

TABLES = tables(__file__)

CLASSIFY = shipped_rules(ClassifyResultsRules)
EVALUATE = shipped_rules(EvaluateRetrievalRules)
CALL = LlmCall(judged_by="model", model="m", prompt_version="v", temperature=0, cost_usd=None, outcome=CallOutcome.OK)
OTHER = RetrievedContent(url="https://elsewhere.example/jazz", title="Jazz", content="Jazz in November.")


def judged(recall: float, precision: float, quality: float) -> JudgeScores:
    return JudgeScores(context_recall=recall, context_precision=precision, source_quality=quality)


def evaluate(
    *contents: RetrievedContent,
    query: str = "jazz concert November 29",
    judge: JudgeScores | None = None,
    replied: str | None = None,
    **fields: Any,
) -> RetrievalEvaluated:
    batch = RetrievalBatch(batch_id="b1", query=query, retrieved_content=contents, judge_scores=judge, **fields)
    found = instance(ResultsClassified, instance(Emit, classify_results(batch, CLASSIFY)).events[0])
    answered = evaluate_retrieval(found, EVALUATE)
    if isinstance(answered, Ask):
        need = instance(AskModel, answered.need)
        reply = answer_offline(need) if replied is None else ModelReply(replied, (), CALL)
        answered = read_retrieval(found, (reply,), EVALUATE)
    else:
        assert replied is None, "nobody was asked"
    return emitted(RetrievalEvaluated, answered)


@pytest.mark.parametrize(
    ("judge", "passed", "severe"),
    [
        (judged(0.5, 0.5, 0.5), True, False),
        (judged(0.49, 0.9, 0.9), False, False),
        (judged(0.0, 0.0, 0.9), False, True),
        (judged(0.875, 0.0, 0.0), False, False),  # overall exactly 0.5
        (judged(0.874, 0.0, 0.0), False, True),
    ],
)
def test_flags_severe_failures_below_one_half(judge: JudgeScores, *, passed: bool, severe: bool) -> None:
    evaluated = evaluate(CONCERT, judge=judge)
    assert evaluated.passed is passed
    assert evaluated.severe_failure is severe


@pytest.mark.parametrize(("actionable", "passed"), [(0.6, True), (0.5999, False)])
def test_batch_passes_from_the_actionable_threshold_upwards(actionable: float, passed: bool) -> None:
    batch = classified(CONCERT, judge_scores=judged(0.9, 0.9, 0.9), actionable_information=actionable)
    assert emitted(RetrievalEvaluated, evaluate_retrieval(batch, EVALUATE)).passed is passed


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
    assert evaluated.scores.context_precision == 1.0, "a result on something else counts only where none answers"
    assert evaluated.scores.source_quality == pytest.approx(0.9)
    assert evaluated.llm is not None
    assert evaluated.llm.judged_by == "offline"
    assert {detail.quality_source for detail in evaluated.source_details} == {None}


def test_the_fallback_joins_results_and_rounds_to_four_digits() -> None:
    """Half of what is asked for, by how rare its words are, is enough; one on something else does not count."""
    texts = ("jazz in the old mill", "blues in the old mill", "with milk and an egg")
    contents = [
        RetrievedContent(content=f"This text of one page is on {text}, and it is long enough.") for text in texts
    ]
    known = [content.model_copy(update={"cts_score": 66.6666}) for content in contents]
    scores = evaluate(*known, query="jazz blues").scores
    assert (scores.context_recall, scores.context_precision, scores.source_quality) == (1.0, 1.0, 0.6667)


def test_contested_results_are_named_with_their_list() -> None:
    [reason] = evaluate(CONCERT, CONCERT.model_copy(update={"url": "https://infowars.com/jazz"})).reasons
    assert reason.startswith("infowars.com is contested: ")


def test_weights_that_do_not_sum_to_one_are_refused() -> None:
    with pytest.raises(ValidationError, match="sum to"):
        shipped_rules(EvaluateRetrievalRules, retrievalEvaluation={"weights": {"contextRecall": 0.4}})


def test_scores_of_single_sources_override_the_batch() -> None:
    """C-08: it overrides, and the event says so."""
    third = OTHER.model_copy(update={"url": "https://third.example/"})
    own = (
        SourceScores(url=CONCERT.url + "#programme", relevance_score=0.95, quality_score=0.0),
        SourceScores(url=CONCERT.url, relevance_score=0.1),
        SourceScores(url="https://nowhere.example/", relevance_score=0.1),
        SourceScores(url=OTHER.url),
        SourceScores(url=OTHER.url, quality_score=0.9),
        SourceScores(url=third.url, relevance_score=0.9),
    )
    judge = judged(0.8, 0.6, 0.5).model_copy(update={"sources": own})
    evaluated = evaluate(CONCERT, OTHER, third, judge=judge)
    details = [(each.relevance_score, each.quality_score, each.score_source) for each in evaluated.source_details]
    assert details == [(0.95, 0.0, "given"), (pytest.approx(0.7), 0.9, "given"), (0.9, 0.5, "given")]
    assert evaluated.scores.context_recall == 0.8, "the batch's own dimensions stand"


def test_given_scores_count_without_any_text() -> None:
    batch = classified(CONCERT, retrieved_content=(), judge_scores=judged(0.8, 0.6, 0.5))
    evaluated = emitted(RetrievalEvaluated, evaluate_retrieval(batch, EVALUATE))
    assert (evaluated.score_source, evaluated.scores.context_recall) == (ScoreSource.GIVEN, 0.8)
    unasked = emitted(RetrievalEvaluated, evaluate_retrieval(classified(CONCERT, retrieved_content=()), EVALUATE))
    assert (unasked.score_source, unasked.llm) == (ScoreSource.FALLBACK, None)


def test_scores_have_six_digits() -> None:
    evaluated = evaluate(CONCERT, judge=judged(0.1111111, 0.2, 0.0))
    assert evaluated.source_details[0].relevance_score == 0.155556
    assert evaluated.overall_score == 0.320833


def reply(recall: Any = 0.8, precision: Any = 0.6, quality: Any = 0.5, sources: Any = (), **more: Any) -> str:
    dimensions = {"contextRecall": recall, "contextPrecision": precision, "sourceQuality": quality}
    return json.dumps({**dimensions, "sources": sources, **more})


def source(number: Any, relevance: Any = 0.9, quality: Any = 0.3) -> dict[str, Any]:
    return {"number": number, "relevance": relevance, "quality": quality}


def classified(*contents: RetrievedContent, **fields: Any) -> ResultsClassified:
    batch = RetrievalBatch(batch_id="b1", query="jazz concert November 29", retrieved_content=contents)
    [event, *_] = instance(Emit, classify_results(batch, CLASSIFY)).events
    return instance(ResultsClassified, event).model_copy(update=fields)


def asked(batch: ResultsClassified) -> AskModel:
    return instance(AskModel, instance(Ask, evaluate_retrieval(batch, EVALUATE)).need)


def test_model_scores_set_the_three_dimensions() -> None:
    evaluated = evaluate(CONCERT, OTHER, replied=reply())
    assert evaluated.score_source is ScoreSource.MODEL
    scores = evaluated.scores
    assert (scores.context_recall, scores.context_precision, scores.source_quality) == (0.8, 0.6, 0.5)
    assert evaluated.llm == CamelLlmCall(**dict(CALL))
    assert {detail.relevance_score for detail in evaluated.source_details} == {0.7}
    assert [detail.score_source for detail in evaluated.source_details] == [None, None]
    wire = json.loads(evaluated.to_json())
    assert wire["llm"]["judgedBy"] == "model"
    assert wire["llm"]["costUsd"] is None, "unknown, and not 0"
    assert RetrievalEvaluated.model_validate_json(evaluated.to_json()) == evaluated


def test_a_model_may_score_single_sources_by_their_numbers() -> None:
    first, second = evaluate(CONCERT, OTHER, replied=reply(sources=[source(2)])).source_details
    assert (first.relevance_score, first.quality_score, first.score_source) == (0.7, 0.5, None)
    assert (second.relevance_score, second.quality_score, second.score_source) == (0.9, 0.3, ScoreSource.MODEL)


def test_a_known_trust_score_is_the_quality_of_its_source() -> None:
    """C-10, C-54: recorded as such, and part of the batch's quality."""
    known = CONCERT.model_copy(update={"cts_score": 90})
    evaluated = evaluate(known, OTHER, replied=reply(sources=[source(1)]))
    first, second = evaluated.source_details
    assert (first.quality_score, first.quality_source) == (0.9, "cts")
    assert (first.relevance_score, first.score_source) == (0.9, ScoreSource.MODEL)
    assert (second.quality_score, second.quality_source) == (0.7, None)
    assert evaluated.scores.source_quality == pytest.approx((0.9 + 0.5) / 2)


def test_judge_sees_the_query_and_a_limited_number_of_sources() -> None:
    many = tuple(
        CONCERT.model_copy(update={"url": f"{CONCERT.url}/{n}", "title": f"number-{n}-", "cts_score": 77})
        for n in range(1, 31)
    )
    need = asked(classified(*many, CONCERT.model_copy(update={"content": "x" * 20_000})))
    system, user = need.messages
    assert "jazz concert November 29" in user.content
    assert "number-20-" in user.content
    assert "number-21-" not in user.content
    assert user.content.count("\n[TRUST_TIER: MEDIUM]\n<<source ") == 20
    assert "77" not in system.content + user.content
    assert "sourceQuality" in system.content
    assert need.schema is not None
    assert set(need.facts) == {"contextRecall", "contextPrecision", "sourceQuality", "sourcesShown"}
    assert need.facts["sourcesShown"] == 20
    task = EVALUATE.model_tasks["evaluate_retrieval"]
    assert (need.task, need.max_tokens, need.temperature) == ("evaluate_retrieval", task.max_tokens, task.temperature)


@pytest.mark.parametrize(("score", "url", "label"), TABLES["judge_sees_trust_as_a_label_only"])
def test_judge_sees_trust_as_a_label_only(score: float | None, url: str, label: str) -> None:
    user = asked(classified(CONCERT.model_copy(update={"cts_score": score, "url": url}))).messages[1].content
    tiers = [line for line in user.splitlines() if "TRUST_TIER" in line]
    assert tiers == ([f"[TRUST_TIER: {label}]"] if label else [])
    assert not label or user.index("TRUST_TIER") < user.index("<<source 1 ")


MALFORMED = [
    *(reply(**fields) for fields in TABLES["malformed"]),
    *TABLES["malformed_texts"],
    f"```json\n{reply()}\n```",
    reply() + reply(0.1),
    reply(recall=float("nan")),
    reply(sources=[source(0)]),
    reply(sources=[source(3)]),
    reply(sources=[source(1), source(1)]),
    reply(sources=[source(1.5)]),
    reply(sources=[source("1")]),
    reply(sources=[source(1, relevance=None)]),
    reply(sources=[source(1, quality=2)]),
    '{"contextRecall": 0.1, ' + reply()[1:],
    "{" * 100_000,
]


@pytest.mark.parametrize("text", MALFORMED, ids=lambda text: repr(text[:40].partition("\n")[0]))
def test_malformed_reply_leaves_the_fallback(text: str) -> None:
    evaluated = evaluate(CONCERT, OTHER, replied=text)
    fallback = evaluate(CONCERT, OTHER)
    assert evaluated.score_source is ScoreSource.FALLBACK
    assert evaluated.scores == fallback.scores
    assert evaluated.source_details == fallback.source_details
    assert evaluated.llm == CamelLlmCall(**dict(CALL))


def test_failed_call_uses_the_fallback_and_still_extracts() -> None:
    """C-09: extraction needs no judge."""
    batch = classified(LISTING)
    call = CALL.model_copy(update={"outcome": CallOutcome.TIMEOUT})
    failed = read_retrieval(batch, (ModelFailed(call, "late"),), EVALUATE)
    praised = read_retrieval(batch, (ModelReply(reply(1, 1, 1), (), CALL),), EVALUATE)
    for outcome, source_of in ((failed, ScoreSource.FALLBACK), (praised, ScoreSource.MODEL)):
        evaluated = emitted(RetrievalEvaluated, outcome)
        assert evaluated.needs_extraction
        assert evaluated.extraction_targets == batch.extraction_targets != ()
        assert not evaluated.passed
        assert evaluated.score_source is source_of


@pytest.mark.parametrize(
    ("contents", "judge", "attempt", "step"),
    [
        ((CONCERT,), judged(0.9, 0.9, 0.9), 1, NextStep.ANSWER),
        ((LISTING,), judged(0.9, 0.9, 0.9), 1, NextStep.AWAIT_EXTRACTION),
        ((LISTING,), judged(0.9, 0.9, 0.9), 2, NextStep.SEARCH_AGAIN),  # nothing is fetched any more
        ((CONCERT, LISTING), judged(0.9, 0.9, 0.9), 1, NextStep.ANSWER_FROM_ITEMS),
        ((CONCERT, LISTING), judged(0.9, 0.4, 0.9), 1, NextStep.SEARCH_AGAIN),
        ((CONCERT,), judged(0.1, 0.9, 0.9), 1, NextStep.SEARCH_AGAIN),
        ((), None, 1, NextStep.SEARCH_AGAIN),
    ],
)
def test_every_verdict_says_what_to_do_next(
    contents: tuple[RetrievedContent, ...], judge: JudgeScores | None, attempt: int, step: NextStep
) -> None:
    """A good item beside one listing does not pass, and asks for no extraction: the item is the answer then."""
    evaluated = evaluate(*contents, judge=judge, attempt=attempt)
    assert evaluated.next_step is step
    assert evaluated.passed is (step is NextStep.ANSWER)
