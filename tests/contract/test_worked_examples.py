"""The two worked examples (R-063, R-064): the batch gives the printed verdict, which is in ``worked``."""

import json
from pathlib import Path
from typing import Any, TypeVar

import pytest

from handlers.classify_results import ClassifyResultsRules, classify_results
from handlers.evaluate_retrieval import EvaluateRetrievalRules, evaluate_retrieval
from schemas.event import Event
from schemas.extraction import ExtractionNeeded
from schemas.outcome import Emit
from schemas.retrieval import ResultsClassified, RetrievalBatch, RetrievalEvaluated
from tests.rules import shipped_rules
from tests.samples import EXAMPLES, emitted, instance

E = TypeVar("E", bound=Event)
PRINTED = Path(__file__).parent / "worked"
CLASSIFIED = (
    *("counts", "duplicates", "actionableInformation", "judgeScores", "retrievedContent"),
    *("needsExtraction", "extractionReason", "extractionTargets"),
)
EVALUATED = (
    *("passed", "scores", "sourceDetails", "overallScore", "severeFailure", "scoreSource", "nextStep"),
    *("needsExtraction", "extractionReason", "extractionTargets"),
)


def example(kind: type[E], topic: str, stem: str) -> E:
    return kind.model_validate_json((EXAMPLES / topic / f"{stem}.json").read_bytes())


def printed(topic: str, stem: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((PRINTED / topic / f"{stem}.json").read_bytes())
    return found


def stated(found: Any, expected: Any) -> Any:
    """What was found of the fields that the expected one has."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return {name: stated(found.get(name), value) for name, value in expected.items()}
    if isinstance(expected, list) and isinstance(found, list):
        return [stated(one, wanted) for one, wanted in zip(found, expected, strict=True)]
    return found


@pytest.mark.parametrize("stem", ["aarhus_listing", "jazz_concert"])
def test_a_batch_is_classified_as_printed(stem: str) -> None:
    batch = example(RetrievalBatch, "retrieval.batches.v1", stem)
    expected = printed("results.classified.v1", stem)
    outcome = instance(Emit, classify_results(batch, shipped_rules(ClassifyResultsRules)))
    classified, *requests = outcome.events
    found = classified.to_wire()
    verdict = {name: expected[name] for name in CLASSIFIED if name in expected}
    assert stated(found, verdict) == verdict
    for result, wanted in zip(found["results"], expected["results"], strict=True):
        for name in ("url", "resultType", "actionableScore"):
            assert result[name] == wanted[name]
        spans = [
            [(detail["kind"], detail["text"], detail["start"], detail["end"]) for detail in one.get("evidence", ())]
            for one in (result, wanted)
        ]
        assert spans[0] == spans[1]
    targets = [
        {"url": request.target_url, "extractionId": request.extraction_id}
        for request in requests
        if isinstance(request, ExtractionNeeded)
    ]
    assert targets == expected.get("extractionTargets", [])
    assert len(targets) == len(requests) == expected["needsExtraction"]


@pytest.mark.parametrize("stem", ["aarhus_listing", "jazz_concert"])
def test_a_classified_batch_is_evaluated_as_printed(stem: str) -> None:
    classified = example(ResultsClassified, "results.classified.v1", stem)
    outcome = evaluate_retrieval(classified, shipped_rules(EvaluateRetrievalRules))
    found = emitted(RetrievalEvaluated, outcome).to_wire()
    expected = printed("retrieval.evaluated.v1", stem)
    verdict = {name: expected[name] for name in EVALUATED if name in expected}
    assert stated(found, verdict) == verdict
