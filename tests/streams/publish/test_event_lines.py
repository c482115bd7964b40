import json
from pathlib import Path
from typing import Any

import pytest

from schemas.outcome import Dead, Drop
from schemas.pages import ScoredPage
from streams.publish import entries as lines
from streams.publish.entries import read_lines
from streams.publish.sources import events_of, values_in
from streams.topology import PAGES_CRAWLED, PAGES_SCORED
from tests.samples import scored

PAGE = scored("https://a.example/1", "text").to_wire()
TAILED = {"topic": "dev.pages.scored.v1", "partition": 2, "offset": 7, "headers": {}, "value": PAGE}


def tried(*topics: str) -> dict[str, Any]:
    return {"outcome": "emit", "reason": None, "events": [{"topic": topic, "value": PAGE} for topic in topics]}


@pytest.mark.parametrize(
    ("line", "identities"),
    [
        (PAGE, [""]),
        (TAILED, ["dev.pages.scored.v1/2/7"]),
        ({**TAILED, "headers": {"ce_id": "one"}}, ["one"]),
        (tried("pages.scored.v1", "documents.indexed.v1", "pages.scored.v1"), ["", ""]),
        (tried("documents.indexed.v1"), []),
    ],
    ids=["bare", "of tail", "of tail, with an id", "of try", "of try, on another topic"],
)
def test_the_events_of_a_topic_are_found_in_every_form(line: dict[str, Any], identities: list[str]) -> None:
    values = values_in(json.dumps(line).encode(), PAGES_SCORED)
    assert [identity for _, identity in values] == identities
    assert all(json.loads(value) == PAGE for value, _ in values)


@pytest.mark.parametrize(
    "line", [b'{"outcome":7}', b'{"outcome":', b'{"topic":"t","value":{}}', b'{"topic":"t","offset":1,"value":', b"[1]"]
)
def test_line_that_only_begins_like_an_envelope_is_the_event(line: bytes) -> None:
    assert values_in(line, PAGES_CRAWLED) == [(line, "")]


def test_every_problem_has_its_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(lines, "LARGEST_LINE", 2000)
    written = [json.dumps(PAGE), "", "x" * 5000, "no json", json.dumps(tried())]
    (tmp_path / "f").write_bytes("\r\n".join(written).encode())
    found = [event for line in read_lines(tmp_path / "f") for event in events_of(line, PAGES_SCORED)]
    assert [(one.place.rpartition(":")[2], type(one.event)) for one in found] == [
        ("1", ScoredPage),
        ("3", Dead),
        ("4", Dead),
        ("5", Drop),
    ]
    assert [one.problem.partition(":")[0] for one in found] == [
        "",
        "too_large",
        "undecodable",
        "the line of `assay try` has no event of this topic",
    ]
