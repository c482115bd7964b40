"""``assay stats`` over files: counts of fields, a histogram of scores, and refusals by reason."""

import json
from pathlib import Path

import pytest

from streams.cli.stats import run_file_stats
from streams.topology import PAGES_SCORED, RESULTS_CLASSIFIED, RETRIEVAL_EVALUATED, Topic
from tests.command_line import Ran
from tests.samples import EXAMPLES, scored

DEAD = '{"outcome": "dead", "reason": "unreadable_page", "detail": "a PDF", "events": []}'


def lines_of(tmp_path: Path, *lines: str) -> Path:
    file = tmp_path / "lines.jsonl"
    file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return file


def a_page(number: int, score: int | None) -> str:
    return scored(f"https://a.example/{number}", cts_score=score).to_json().decode()


def test_scored_pages_and_refusals_are_counted(ran: Ran, tmp_path: Path) -> None:
    of_try = {"outcome": "emit", "reason": None, "events": [{"topic": PAGES_SCORED.name, "key": "k", "value": {}}]}
    of_try["events"][0]["value"] = json.loads(a_page(3, 100))  # type: ignore[index]
    file = lines_of(tmp_path, a_page(1, 7), a_page(2, 69), DEAD, json.dumps(of_try), a_page(4, None), DEAD)
    counted = ran(run_file_stats, PAGES_SCORED, file, as_json=True).document
    assert counted["events"] == 4
    assert counted["refusals"] == {"unreadable_page": 2}
    assert {band: count for band, count in counted["scores"].items() if count} == {"0-9": 1, "60-69": 1, "90-100": 1}
    assert sum(counted["fields"]["tier"].values()) == 4
    shown = ran(run_file_stats, PAGES_SCORED, file, as_json=False)
    assert shown.out.splitlines()[0] == "pages.scored.v1: 4 events, 2 refused"
    assert "refused: unreadable_page 2" in shown.out
    assert len(shown.out.splitlines()) < 24
    assert max(map(len, shown.out.splitlines())) < 80


@pytest.mark.parametrize(
    ("topic", "field"), [(RESULTS_CLASSIFIED, "type"), (RETRIEVAL_EVALUATED, "next step"), (PAGES_SCORED, "label")]
)
def test_each_kind_of_decision_has_its_fields(ran: Ran, tmp_path: Path, topic: Topic, field: str) -> None:
    examples = [json.dumps(json.loads(file.read_text("utf-8"))) for file in (EXAMPLES / topic.name).glob("*.json")]
    done = ran(run_file_stats, topic, lines_of(tmp_path, *examples), as_json=True)
    assert done.status == 0
    assert sum(done.document["fields"][field].values()) >= 1
