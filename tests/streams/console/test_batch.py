"""The screen ``batch``: before and after the loop, evidence, dimensions, steps and the tree of attempts."""

import pytest

from schemas.extraction import ExtractionCompleted, ExtractionNeeded
from schemas.retrieval import ResultsClassified, RetrievalBatch, RetrievalEvaluated
from schemas.search import SearchEvaluated
from tests.streams.console.consoles import OwnConsole, example

CLASSIFIED = example(ResultsClassified, "aarhus_listing")
EVALUATED = example(RetrievalEvaluated, "aarhus_listing")
JAZZ = example(ResultsClassified, "jazz_concert")
"""A batch with evidence, taken as the second attempt."""


@pytest.fixture
def console() -> OwnConsole:
    console = OwnConsole()
    console.write(example(RetrievalBatch, "aarhus_listing"))
    console.write(CLASSIFIED, "classify_results", after=1)
    console.write(EVALUATED.model_copy(update={"gaps": ("a price",)}), "evaluate_retrieval", after=2)
    console.write(example(SearchEvaluated, "aarhus_listing"), "evaluate_search", after=2)
    for kind, handler, after in ((ExtractionNeeded, "classify_results", 3), (ExtractionCompleted, "fetch_page", 4)):
        console.write(example(kind, "aarhus_listing", batch_id=CLASSIFIED.batch_id), handler, after=after)
    child = {"batch_id": "child-1", "parent_batch_id": CLASSIFIED.batch_id, "attempt": 2}
    console.write(JAZZ.model_copy(update=child), "classify_results", after=5)
    scores = EVALUATED.scores.model_copy(update={"actionable_information": 0.95})
    verdict = child | {"passed": True, "scores": scores, "overall_score": 0.9}
    console.write(EVALUATED.model_copy(update=verdict), "evaluate_retrieval", after=6)
    return console


def test_the_child_shows_the_same_pair_and_marks_evidence(console: OwnConsole) -> None:
    text = console.client.get("/batch/child-1").text
    assert "Before the loop, attempt 1" in text
    assert "After the loop, attempt 2" in text
    assert "passed, next:" in text
    assert f'href="/batch/{CLASSIFIED.batch_id}"' in text
    [evidence, *_] = JAZZ.results[0].evidence
    assert f'<mark class="{evidence.kind}"' in text
    assert f">{evidence.text}</mark>" in text


def test_dimensions_have_thresholds_and_steps_have_reasons(console: OwnConsole) -> None:
    text = console.client.get(f"/batch/{CLASSIFIED.batch_id}").text
    assert "; a price" in text
    assert 'class="tone none"></span><div><strong>pages requested' in text
    for name in ("context recall", "context precision", "source quality", "actionable information"):
        assert f'<th scope="row">{name}</th>' in text
    assert text.count("<meter") == 8
    for step in ("classified", "evaluated", "search", "pages requested", "pages fetched"):
        assert f"<strong>{step}</strong>" in text
    assert str(CLASSIFIED.extraction_reason)[:30].replace("'", "&#39;") in text


def test_results_of_a_replay_do_not_replace_live_ones(console: OwnConsole) -> None:
    replayed = EVALUATED.model_copy(update={"passed": True, "overall_score": 1.0})
    console.write(replayed, "evaluate_retrieval", after=50, run="a-plan")
    text = console.client.get(f"/batch/{CLASSIFIED.batch_id}").text
    assert "attempt 2 passed, next:" in text  # the header follows the last attempt
    assert "attempt 1: not passed" in text


def test_an_expired_batch_keeps_its_verdicts(console: OwnConsole) -> None:
    console.forget([*console.records.written])
    text = console.client.get(f"/batch/{CLASSIFIED.batch_id}").text
    assert "has expired" in text
    assert "not passed" in text


def test_a_batch_that_is_its_own_parent_is_shown(console: OwnConsole) -> None:
    console.write(JAZZ.model_copy(update={"batch_id": "loop", "parent_batch_id": "loop"}), "classify_results")
    assert console.client.get("/batch/loop").status_code == 200
    for first, second in (("x", "y"), ("y", "x")):
        console.write(JAZZ.model_copy(update={"batch_id": first, "parent_batch_id": second}), "classify_results")
    assert console.client.get("/batch/x").status_code == 200
