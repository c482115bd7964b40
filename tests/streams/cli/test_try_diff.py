"""``assay try --diff``: the decisions that another configuration would change, counted over any lines."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from streams.cli.main import _run
from tests.samples import EXAMPLES, environment
from tests.tables import tables

TABLES = tables(__file__)

HIGHER = "source_rules: {base_scores: {tier_3: 35}}\n"


def page(number: int = 1, headings: int = 1, depth: int = 0) -> str:
    html = "<title>T</title>" + "<div>" * depth + "<h2>Part</h2>" * headings + "<p>Some text about the harbour.</p>"
    return json.dumps({"url": f"https://a.example/{number}", "html": html})


@pytest.fixture
def assay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Any:
    """Runs ``assay try --diff`` in this process; returns status, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("streams.cli.progress._LINE_SECONDS", 1e9)

    def run(lines: list[str], other: str, *options: str, handler: str = "score_page") -> tuple[int, str, str]:
        Path("in.jsonl").write_text("".join(line + "\n" for line in lines))
        Path("other.yaml").write_text(other)
        status = _run(["try", handler, "in.jsonl", "--config", "other.yaml", "--diff", *options])
        out, err = capfdbinary.readouterr()
        return status, out.decode(), err.decode()

    return run


def found(done: tuple[int, str, str], status: int = 0) -> dict[str, Any]:
    assert (done[0], done[2]) == (status, "")
    [line] = done[1].splitlines()
    return dict(json.loads(line))


def test_moved_pages_are_listed_with_their_components(assay: Any) -> None:
    told = found(assay([page(1), page(2), page(3, headings=0)], HIGHER, "--json"))
    assert (told["handler"], told["pages"], told["moved_count"]) == ("score_page", 3, 2)
    assert told["config_version_now"] != told["config_version_then"]
    assert told["matrix"]["C"] == {"A": 0, "B": 2, "C": 1, "dead": 0}
    assert (told["rescored"], told["reread"], told["unchanged"], told["more"]) == (1, 0, 0, 0)
    assert told["labels"] == [{"label_now": "LOW", "label_then": "MEDIUM", "pages": 2}]
    first = told["moved"][0]
    assert (first["url"], first["score_now"], first["score_then"]) == ("https://a.example/1", 18, 43)
    assert (first["tier_now"], first["tier_then"], first["other_thresholds"]) == ("C", "B", False)
    assert first["components"] == list(TABLES["moved_pages_are_listed_with_their_components"])


def test_invalid_and_dying_pages_are_counted(assay: Any) -> None:
    lines = [page(1), page(2, depth=40), "{}", " {", "[" * 5000, "x" * 100]
    told = found(assay(lines, "page_reading: {max_depth: 20}\n", "--json"))
    assert (told["pages"], told["moved_count"], told["unchanged"]) == (6, 1, 5)
    assert told["dead"]["now"] == {"invalid": 1, "undecodable": 3}
    assert told["dead"]["then"] == {"invalid": 1, "undecodable": 3, "too_complex": 1}
    [moved] = told["moved"]
    assert (moved["tier_then"], moved["score_then"]) == ("dead", None)
    assert moved["detail_then"].startswith("too_complex: ")
    assert found(assay(lines, "page_reading: {max_depth: 20}\n", "--json", "--strict"), status=1) == told


def test_people_see_the_matrix_and_the_moves(assay: Any) -> None:
    lines = [*(page(number) for number in range(1, 1003)), page(2000, depth=40), "{}"]
    other = HIGHER + "page_reading: {max_depth: 20}\n"
    assert "  then too_complex: " in assay(lines[-2:], other)[1]
    assert "  because a threshold changed\n" in assay([page()], "tiered_indexing: {tier_b: {min_cts: 18}}\n")[1]
    status, out, err = assay(lines, other, "--limit", "2")
    assert (status, err) == (0, "")
    shown = [" ".join(line.split()) for line in out.splitlines()]
    assert shown[0] == "1,004 pages, by tier"
    assert "now \\ then A B C dead all now" in shown
    assert "C · 1,002 · 1 1,003" in shown
    assert "all then 0 1,002 0 2" in shown
    assert "1,003 pages with another tier or label: 1,002 up, 1 into the dead letters" in shown
    assert "1 page with the same tier and label: 1 unchanged" in shown
    assert "labels: LOW → MEDIUM 1,002" in shown
    assert "dead letters: invalid 1 → invalid 1, too_complex 1" in shown
    assert "C → B 18 → 43 LOW → MEDIUM https://a.example/1" in shown
    assert "base 10 → 35: a.example is not listed" in shown
    assert shown[-1] == "and 1,001 more (--limit shows them)"


def test_batch_diff_reports_changed_results_and_extractions(assay: Any) -> None:
    batches = [
        json.dumps(json.loads(path.read_text("utf-8")))
        for path in sorted((EXAMPLES / "retrieval.batches.v1").glob("*.json"))
    ]
    never = "retrievalEvaluation: {dimensionThresholds: {actionableInformation: 0.0}}\n"
    told = found(assay(batches, never, "--json", handler="classify_results"))
    assert told["batches"] == len(batches)
    assert told["moved_count"] == 0
    assert told["extractions"]["now"] > told["extractions"]["then"] == 0
    assert told["extractions"]["changed"][0]["fewer"]
    status, out, _ = assay(batches, never, handler="classify_results")
    assert status == 0
    assert f"{len(batches)} batches, results by type" in out
    assert f"extractions: {told['extractions']['now']} → 0, different in " in out
    assert "\n  - https://" in out


def test_results_that_flip_are_shown_with_their_reasons(assay: Any) -> None:
    text = "Sea: View walk. Wood: View walk. See all walks."
    listing = {"url": "https://a.example/walks", "title": "All walks in Aarhus", "content": text}
    batch = json.dumps({"batchId": "b", "query": "walks", "retrievedContent": [listing]})
    never_a_listing = "classification: {least_listing_confidence: 1.0}\n"
    told = found(assay([batch], never_a_listing, "--json", handler="classify_results"))
    assert sum(told["matrix"]["AGGREGATOR"].values()) == 1
    assert told["matrix"]["AGGREGATOR"]["AGGREGATOR"] == 0
    [flip] = told["moved"]
    assert (flip["type_now"], flip["url"]) == ("AGGREGATOR", "https://a.example/walks")
    status, out, _ = assay([batch], never_a_listing, handler="classify_results")
    assert status == 0
    assert "1 result of another type" in out
    assert f"AGGREGATOR → {flip['type_then']}" in out


# --- wrong usage -----------------------------------------------------------------------------------------------------


# --- the process -----------------------------------------------------------------------------------------------------


def test_diff_imports_no_client_and_json_output_no_tables(tmp_path: Path) -> None:
    heavy = ("aiokafka", "faststream", "httpx", "openai", "prometheus_client", "rich", "structlog", "uvicorn")
    (tmp_path / "other.yaml").write_text(HIGHER)
    program = (
        "import sys; from pathlib import Path; from streams.settings.model import load_settings;"
        "from streams.cli.try_ import run_diff;"
        "settings, other = load_settings(), load_settings(Path('other.yaml'));"
        "run_diff('score_page', None, settings, other, limit=50, strict=False, as_json=True);"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], input=page().encode(), capture_output=True, cwd=tmp_path, env=environment()
    )
    assert done.stderr == b""
    answer, imported = done.stdout.splitlines()
    assert json.loads(answer)["moved_count"] == 1
    assert imported == b"[]"
