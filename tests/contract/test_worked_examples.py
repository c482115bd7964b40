"""The two worked examples (R-063, R-064): the golden batch gives the golden verdict."""

from typing import TypeVar

import pytest

from handlers.classify_results import ClassifyResultsRules, classify_results
from handlers.evaluate_retrieval import EvaluateRetrievalRules, evaluate_retrieval
from schemas.event import Event
from schemas.extraction import ExtractionNeeded
from schemas.outcome import Emit
from schemas.retrieval import ResultsClassified, RetrievalBatch, RetrievalEvaluated
from tests.rules import shipped_rules
from tests.samples import EXAMPLES, instance

E = TypeVar("E", bound=Event)


def golden(kind: type[E], topic: str, stem: str) -> E:
    return kind.model_validate_json((EXAMPLES / topic / f"{stem}.json").read_bytes())


@pytest.mark.parametrize("stem", ["aarhus_listing", "jazz_concert"])
def test_a_batch_is_classified_as_printed(stem: str) -> None:
    batch = golden(RetrievalBatch, "retrieval.batches.v1", stem)
    printed = golden(ResultsClassified, "results.classified.v1", stem)
    outcome = instance(Emit, classify_results(batch, shipped_rules(ClassifyResultsRules)))
    classified, *requests = outcome.events
    assert isinstance(classified, ResultsClassified)
    for name in (
        *("counts", "duplicates", "actionable_information", "judge_scores", "retrieved_content"),
        *("needs_extraction", "extraction_reason", "extraction_targets"),
    ):
        assert getattr(classified, name) == getattr(printed, name)
    for result, expected in zip(classified.results, printed.results, strict=True):
        assert (result.url, result.result_type) == (expected.url, expected.result_type)
        assert result.actionable_score == expected.actionable_score
        assert result.evidence == expected.evidence
        assert result.reasons
    targets = [
        (request.target_url, request.extraction_id) for request in requests if isinstance(request, ExtractionNeeded)
    ]
    assert targets == [(target.url, target.extraction_id) for target in printed.extraction_targets]
    assert len(targets) == len(requests) == printed.needs_extraction


@pytest.mark.parametrize("stem", ["aarhus_listing", "jazz_concert"])
def test_a_classified_batch_is_evaluated_as_printed(stem: str) -> None:
    rules = shipped_rules(EvaluateRetrievalRules)
    printed = golden(RetrievalEvaluated, "retrieval.evaluated.v1", stem)
    outcome = evaluate_retrieval(golden(ResultsClassified, "results.classified.v1", stem), rules)
    expected = printed.model_copy(update={"config_version": rules.config_version, "event_id": None})
    assert outcome == Emit((expected,))
