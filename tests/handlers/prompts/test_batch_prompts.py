"""What a judge of batches is sent, word for word: a change of a prompt shows in these files."""

from __future__ import annotations

from pathlib import Path

import pytest

from handlers.classify_results import ClassifyResultsRules, classify_results
from handlers.evaluate_retrieval import EvaluateRetrievalRules, evaluate_retrieval
from handlers.evaluate_search import EvaluateSearchRules, evaluate_search
from schemas.needs import Ask, AskModel
from schemas.outcome import Emit
from schemas.retrieval import ResultsClassified, RetrievalBatch
from tests.rules import CONFIG, shipped_rules

GOLDEN = Path(__file__).parent / "golden"
BATCH = CONFIG.parent / "schemas" / "examples" / "retrieval.batches.v1" / "gaming_headset.json"


def retrieval(batch: RetrievalBatch) -> object:
    classified = classify_results(batch, shipped_rules(ClassifyResultsRules))
    assert isinstance(classified, Emit)
    (event, *_) = classified.events
    assert isinstance(event, ResultsClassified)
    return evaluate_retrieval(event, shipped_rules(EvaluateRetrievalRules))


def search(batch: RetrievalBatch) -> object:
    return evaluate_search(batch, shipped_rules(EvaluateSearchRules))


@pytest.mark.parametrize(("task", "ask"), [("evaluate_retrieval", retrieval), ("evaluate_search", search)])
def test_a_prompt_is_rendered_as_kept(task: str, ask: object) -> None:
    assert callable(ask)
    answered = ask(RetrievalBatch.model_validate_json(BATCH.read_bytes()))
    assert isinstance(answered, Ask)
    assert isinstance(answered.need, AskModel)
    assert answered.need.task == task
    rendered = "".join(f"# {message.role}\n{message.content}\n" for message in answered.need.messages)
    assert rendered == (GOLDEN / f"{task}.txt").read_text("utf-8")
