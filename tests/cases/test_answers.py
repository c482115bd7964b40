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
from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted
from streams.cli.answer import document_of
from tests.cases.situations import CASES, holds, value_at
from tests.rules import shipped_rules
from tests.samples import emitted, instance, judged_offline

RANKING, ANSWERING = shipped_rules(RankResultsRules), shipped_rules(AnswerRules)
SITUATIONS = yaml.safe_load((CASES / "answers" / "answers.yaml").read_text())["situations"]


def candidates_of(situation: dict[str, Any]) -> list[Any]:
    if "file" not in situation:
        return list(situation["candidates"])
    return [json.loads(line) for line in (CASES / "answers" / situation["file"]).read_text().splitlines()]


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation["query"])
def test_answer(situation: dict[str, Any]) -> None:
    fields = {"request_id": "case", "query": situation["query"], "candidates": candidates_of(situation)}
    request = RankingRequested.model_validate(fields)
    ranked = judged_offline(rank_results(request, RANKING), lambda replies: read_ranking(request, replies, RANKING))
    completed = emitted(RankingCompleted, ranked)
    sources = order_sources(completed.results)

    def step(replies: tuple[Any, ...]) -> Any:
        return answer_query(completed.query, sources, replies, ANSWERING, completed.requested_at)

    answer = judged_offline(step(()), step)
    document = {"value": document_of(completed, instance(Answer, answer))}
    for path, expected in situation["expect"].items():
        value = value_at(document, f"value.{path}")
        assert holds(expected, value), f"{path}: expected {expected!r}, got {value!r} ({situation['reason']})"


def test_every_file_is_asked_about() -> None:
    asked = {situation["file"] for situation in SITUATIONS if "file" in situation}
    assert asked == {path.name for path in (CASES / "answers").glob("*.jsonl")}
