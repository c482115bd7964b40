"""Judges of batches through the real gateway, at a server that misbehaves: every task, every fault."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from handlers.classify_results import ClassifyResultsRules, classify_results
from schemas.event import Event
from schemas.outcome import Ask, AskModel, Emit, Outcome, Retry, RetryReason
from schemas.retrieval import RetrievalBatch, RetrievalEvaluated
from schemas.search import SearchEvaluated
from streams.llm.gateway import Gateway
from streams.topology import Handler, handler_named
from tests.rules import shipped_rules
from tests.streams.llm.model_server import FAULTS, model_server, says
from tests.streams.llm.questions import gateway_at

BATCH = RetrievalBatch.model_validate_json(
    (Path(__file__).parents[3] / "schemas/examples/retrieval.batches.v1/gaming_headset.json").read_bytes()
)
TASKS = ("evaluate_search", "evaluate_retrieval")
GOOD = {
    "evaluate_search": {
        "satisfied": True,
        "quality_score": 0.52,
        "gaps": "A single shop.",
        "recommendation": "stop",
        "suggested_refinements": [],
    },
    "evaluate_retrieval": {"contextRecall": 0.5, "contextPrecision": 0.5, "sourceQuality": 0.5, "sources": []},
}


def given(handler: Handler) -> Event:
    if handler.name == "evaluate_search":
        return BATCH
    classified = classify_results(BATCH, shipped_rules(ClassifyResultsRules))
    assert isinstance(classified, Emit)
    return classified.events[0]


async def judged(task: str, gateway: Gateway) -> Outcome:
    handler = handler_named(task)
    assert handler is not None
    assert handler.read is not None
    event, rules = given(handler), shipped_rules(handler.rules)
    answered = handler.fn(event, rules)
    assert isinstance(answered, Ask)
    assert isinstance(answered.need, AskModel)
    outcome = handler.read(event, (await gateway.answer(answered.need),), rules)
    assert not isinstance(outcome, Ask)
    return outcome


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("task", TASKS)
async def test_under_every_fault_the_counted_numbers_stand_or_the_batch_waits(task: str, fault: str) -> None:
    async with model_server(FAULTS[fault]) as server, gateway_at(server.base_url) as gateway:
        outcome = await judged(task, gateway)
    if isinstance(outcome, Retry):
        assert outcome.reason is RetryReason.UNAVAILABLE
        return
    assert isinstance(outcome, Emit)
    (evaluated,) = outcome.events
    assert isinstance(evaluated, SearchEvaluated | RetrievalEvaluated)
    assert evaluated.score_source in ("rubric", "fallback")
    assert evaluated.llm is not None
    assert evaluated.llm.judged_by == "model"
    assert type(evaluated).model_validate_json(evaluated.to_json()) == evaluated


@pytest.mark.parametrize("task", TASKS)
async def test_a_server_that_behaves_is_believed(task: str) -> None:
    async with model_server(says(json.dumps(GOOD[task]))) as server, gateway_at(server.base_url) as gateway:
        outcome = await judged(task, gateway)
        assert len(server.asked) == 1
    assert isinstance(outcome, Emit)
    (evaluated,) = outcome.events
    assert isinstance(evaluated, SearchEvaluated | RetrievalEvaluated)
    assert evaluated.score_source == "model"
    assert evaluated.llm is not None
    assert evaluated.llm.cost_usd
