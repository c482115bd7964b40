"""Replies of the roles: valid in the protocol, or ignored."""

import json

import pytest

from handlers.reasoning.replies import plain, read_findings, read_sentences, read_verdicts
from tests.tables import tables

TABLES = tables(__file__)

CITED = {"text": "It rained.", "sources": [1]}


@pytest.mark.parametrize(
    "text",
    [
        *TABLES["what_is_not_in_the_protocol_is_nothing"],
        json.dumps({"sentences": [CITED] * 5000}),
    ],
)
def test_what_is_not_in_the_protocol_is_nothing(text: str) -> None:
    assert read_sentences(text) is None
    assert read_findings(text.replace("sentences", "findings")) is None


@pytest.mark.parametrize("numbers", [[], [1], [1, 1], [1, 3], [0, 1], [1, 2, 3]])
def test_every_finding_has_one_verdict(numbers: list[int]) -> None:
    verdicts = [{"finding": number, "verdict": "supported", "because": ""} for number in numbers]
    assert read_verdicts(json.dumps({"verdicts": verdicts}), 2) is None


def test_a_verdict_is_one_of_three() -> None:
    said = '{"verdicts": [{"finding": 1, "verdict": "%s", "because": ""}]}'
    assert read_verdicts(said % "contradicted", 1) is not None
    assert read_verdicts(said % "true", 1) is None


@pytest.mark.parametrize(("text", "shown"), TABLES["texts_are_plain"])
def test_texts_are_plain(text: str, shown: str) -> None:
    assert plain(text, 100) == shown
