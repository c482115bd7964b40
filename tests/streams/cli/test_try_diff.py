"""``assay try --diff``: the decisions that another configuration would change, counted over any lines."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import Done, Ran
from tests.samples import EXAMPLES
from tests.tables import tables

TABLES = tables(__file__)

HIGHER = "source_rules: {base_scores: {tier_3: 35}}\n"


def page(number: int = 1, headings: int = 1, depth: int = 0) -> str:
    html = "<title>T</title>" + "<div>" * depth + "<h2>Part</h2>" * headings + "<p>Some text about the harbour.</p>"
    return json.dumps({"url": f"https://a.example/{number}", "html": html})


@pytest.fixture
def compare(assay: Ran, monkeypatch: pytest.MonkeyPatch) -> Ran:
    """``compare(lines, settings, …)``: runs ``assay try --diff`` under the settings of a file."""
    monkeypatch.setattr("streams.cli.progress._LINE_SECONDS", 1e9)

    def run(lines: list[str], other: str, *options: str, handler: str = "score_page") -> Done:
        Path("in.jsonl").write_text("".join(line + "\n" for line in lines))
        Path("other.yaml").write_text(other)
        asked = ("try", handler, "in.jsonl", "--config", "other.yaml", "--diff", *options)
        return assay(*asked, ASSAY_WORKERS__PROCESSES="0")

    return run


def found(done: Done, status: int = 0) -> dict[str, Any]:
    assert (done.status, done.err, done.out.count("\n")) == (status, "", 1)
    return dict(done.document)


def test_moved_pages_are_listed_with_their_components(compare: Ran) -> None:
    told = found(compare([page(1), page(2), page(3, headings=0)], HIGHER, "--json"))
    assert (told["handler"], told["pages"], told["moved_count"]) == ("score_page", 3, 2)
    assert told["config_version_now"] != told["config_version_then"]
    assert told["matrix"]["C"] == {"A": 0, "B": 2, "C": 1, "dead": 0}
    assert (told["rescored"], told["reread"], told["unchanged"], told["more"]) == (1, 0, 0, 0)
    assert told["labels"] == [{"now": "LOW", "then": "MEDIUM", "count": 2}]
    first = told["moved"][0]
    assert (first["url"], first["now"]["score"], first["then"]["score"]) == ("https://a.example/1", 18, 43)
    assert (first["now"]["decision"], first["then"]["decision"]) == ("C", "B")
    assert first["components"] == list(TABLES["moved_pages_are_listed_with_their_components"])


def test_invalid_and_dying_pages_are_counted(compare: Ran) -> None:
    lines = [page(1), page(2, depth=40), "{}", " {", "[" * 5000, "x" * 100]
    told = found(compare(lines, "page_reading: {max_depth: 20}\n", "--json"))
    assert (told["pages"], told["moved_count"], told["unchanged"]) == (6, 1, 5)
    assert told["dead"]["now"] == {"invalid": 1, "undecodable": 3}
    assert told["dead"]["then"] == {"invalid": 1, "undecodable": 3, "too_complex": 1}
    [moved] = told["moved"]
    assert (moved["then"]["decision"], moved["then"]["score"]) == ("dead", None)
    assert moved["then"]["because"].startswith("too_complex: ")
    assert found(compare(lines, "page_reading: {max_depth: 20}\n", "--json", "--strict"), status=1) == told


def test_batch_diff_reports_changed_results_and_extractions(compare: Ran) -> None:
    batches = [
        json.dumps(json.loads(path.read_text("utf-8")))
        for path in sorted((EXAMPLES / "retrieval.batches.v1").glob("*.json"))
    ]
    never = "retrievalEvaluation: {dimensionThresholds: {actionableInformation: 0.0}}\n"
    told = found(compare(batches, never, "--json", handler="classify_results"))
    assert told["batches"] == len(batches)
    assert told["moved_count"] == 0
    assert told["extractions"]["now"] > told["extractions"]["then"] == 0
    done = compare(batches, never, handler="classify_results")
    assert done.status == 0
    assert f"{len(batches)} batches\n" in done.out
    assert f"extractions: {told['extractions']['now']} → 0\n" in done.out
