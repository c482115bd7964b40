import io
import json
from typing import Any

import pytest

from schemas.outcome import Dead, Drop
from schemas.pages import ScoredPage
from streams.cli import event_lines
from streams.cli.event_lines import read_events, read_lines, values_in
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


def test_without_a_topic_all_events_of_a_trial_count() -> None:
    assert len(values_in(json.dumps(tried("pages.scored.v1", "documents.indexed.v1")).encode())) == 2


@pytest.mark.parametrize(
    "line", [b'{"outcome":7}', b'{"outcome":', b'{"topic":"t","value":{}}', b'{"topic":"t","offset":1,"value":', b"[1]"]
)
def test_line_that_only_begins_like_an_envelope_is_the_event(line: bytes) -> None:
    assert values_in(line, PAGES_CRAWLED) == [(line, "")]


def test_every_problem_has_its_place_and_blank_lines_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_lines, "TOPIC_BYTES", 2000)
    lines = [json.dumps(PAGE), "", "x" * 5000, "no json", json.dumps(tried())]
    found = list(read_events("f", read_lines(io.BytesIO("\r\n".join(lines).encode())), PAGES_SCORED))
    assert [(one.place, type(one.event)) for one in found] == [
        ("f:1", ScoredPage),
        ("f:3", Dead),
        ("f:4", Dead),
        ("f:5", Drop),
    ]
    assert [one.problem.partition(":")[0] for one in found] == [
        "",
        "too_large",
        "undecodable",
        "the line of `assay try` has no event of this topic",
    ]
