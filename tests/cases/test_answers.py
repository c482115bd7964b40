"""Everyday questions get the answer that a user expects, with the shipped settings and no model.

``answers.yaml`` has the questions. The candidates of each are given there, or in a file of ``answers/``.
"""

import json
from typing import Any

import pytest
import yaml

from handlers.rank_results import RankResultsRules, rank_results, read_ranking
from handlers.reasoning.answer import Answer, AnswerRules, answer_query
from handlers.reasoning.context import order_sources
from schemas.needs import Ask, AskModel
from schemas.outcome import Emit
from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted
from schemas.replies import ModelFailed, ModelReply
from streams.cli.answer import document_of
from streams.llm.tasks import answer_offline
from streams.settings.model import Settings
from tests.cases.situations import CASES, holds, value_at
from tests.samples import instance

SITUATIONS = yaml.safe_load((CASES / "answers" / "answers.yaml").read_text())["situations"]


@pytest.fixture(scope="module")
def rules() -> tuple[RankResultsRules, AnswerRules]:
    settings = Settings()
    return settings.rules(RankResultsRules), settings.rules(AnswerRules)


def candidates_of(situation: dict[str, Any]) -> list[Any]:
    if "file" not in situation:
        return list(situation["candidates"])
    return [json.loads(line) for line in (CASES / "answers" / situation["file"]).read_text().splitlines()]


def offline(need: Any) -> ModelReply | ModelFailed:
    assert isinstance(need, AskModel)
    return answer_offline(need)


def ranked(request: RankingRequested, rules: RankResultsRules) -> RankingCompleted:
    step = rank_results(request, rules)
    while isinstance(step, Ask):
        step = read_ranking(request, (offline(step.need),), rules)
    outcome = instance(Emit, step)
    return instance(RankingCompleted, outcome.events[0])


def answered(completed: RankingCompleted, rules: AnswerRules) -> Answer:
    replies: list[ModelReply | ModelFailed] = []
    sources = order_sources(completed.results)
    while isinstance(step := answer_query(completed.query, sources, replies, rules, completed.requested_at), Ask):
        replies.append(offline(step.need))
    assert isinstance(step, Answer)
    return step


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation["query"])
def test_answer(situation: dict[str, Any], rules: tuple[RankResultsRules, AnswerRules]) -> None:
    fields = {"request_id": "case", "query": situation["query"], "candidates": candidates_of(situation)}
    completed = ranked(RankingRequested.model_validate(fields), rules[0])
    document = {"value": document_of(completed, answered(completed, rules[1]))}
    for path, expected in situation["expect"].items():
        value = value_at(document, f"value.{path}")
        assert holds(expected, value), f"{path}: expected {expected!r}, got {value!r} ({situation['reason']})"


def test_every_file_is_asked_about() -> None:
    asked = {situation["file"] for situation in SITUATIONS if "file" in situation}
    assert asked == {path.name for path in (CASES / "answers").glob("*.jsonl")}
