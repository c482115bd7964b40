"""Golden messages: today's models read the examples of their topics (R-010)."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from schemas.event import Part
from schemas.pages import ScoredPage
from schemas.retrieval import ResultsClassified
from streams.generate.examples import is_generated
from streams.topology import TOPICS
from tests.samples import EVENTS, EXAMPLES, small_example
from tests.tables import tables

TABLES = tables(__file__)

FILES = sorted(EXAMPLES.glob("*/*.json"))

MAPS = {"stage_scores", "stageScores"}


def parts_of(kind: type[Part]) -> list[type[Part]]:
    """A type and all that derive from it."""
    return [kind, *(inner for below in kind.__subclasses__() for inner in parts_of(below))]


PARTS = [part for part in parts_of(Part) if part.__module__.startswith("schemas.")]


def wire(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return value


def minimal(topic: str) -> dict[str, Any]:
    return wire(small_example(topic))


def test_every_event_has_examples() -> None:
    assert {path.parent.name for path in FILES} == set(EVENTS)
    for topic in TOPICS:
        if not is_generated(topic):
            assert len(list((EXAMPLES / topic.name).glob("*.json"))) >= 3
            assert (EXAMPLES / topic.name / "minimal.json").exists()


@pytest.mark.parametrize("topic", EVENTS)
def test_examples_round_trip_and_unknown_fields_are_ignored(topic: str) -> None:
    """A field that is misspelt would be ignored in silence; here it is not. Others are, at every depth."""
    kind = EVENTS[topic]
    for path in sorted((EXAMPLES / topic).glob("*.json")):
        event = kind.model_validate_json(path.read_bytes())
        assert kind.model_validate_json(event.to_json()) == event, path
        assert kind.model_validate(event.to_wire()) == event, path
        assert json.loads(event.to_json()) == event.to_wire(), path
        assert unknown(wire(path), event.to_wire()) == [], path
        value = with_unknown(wire(path))
        if topic == "ranking.requested.v1" and value.get("filters"):
            # An ignored filter would admit results that it should exclude, so rank_results reports it.
            del value["filters"]["fieldOfTomorrow"]
        assert kind.model_validate(value) == event, path


@pytest.mark.parametrize("topic", EVENTS)
def test_both_naming_styles_are_read(topic: str) -> None:
    for path in sorted((EXAMPLES / topic).glob("*.json")):
        event = EVENTS[topic].model_validate(wire(path))
        for style in (to_camel, to_snake):
            assert EVENTS[topic].model_validate(in_style(event.to_wire(), style)) == event, path


@pytest.mark.parametrize("topic", EVENTS)
def test_null_means_the_same_as_an_absent_field(topic: str) -> None:
    kind = EVENTS[topic]
    known = minimal(topic)
    optional = [name for name, info in kind.model_fields.items() if not info.is_required() and name not in known]
    absent = {key: value for key, value in known.items() if to_snake(key) not in optional or value is not None}
    assert kind.model_validate(absent | dict.fromkeys(optional)) == kind.model_validate(absent)


def test_what_may_be_null_is_null_if_absent() -> None:
    """Otherwise an absent field and null would have two meanings."""
    for part in PARTS:
        for name, info in part.model_fields.items():
            if not info.is_required() and type(None) in get_args(info.annotation):
                absent = info.get_default(call_default_factory=True, validated_data={})
                assert absent is None, f"{part.__name__}.{name}"


def test_evidence_offsets_point_at_their_text() -> None:
    for path in (EXAMPLES / "results.classified.v1").glob("*.json"):
        event = ResultsClassified.model_validate_json(path.read_bytes())
        for result, content in zip(event.results, event.retrieved_content, strict=False):
            for found in result.evidence:
                assert content.content[found.start : found.end] == found.text


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("pages.scored.v1/*.json")), ids=lambda path: path.stem)
def test_a_scored_example_adds_up(path: Path) -> None:
    page = ScoredPage.model_validate_json(path.read_bytes())
    assert page.trust_features.cts_score == page.cts_score
    assert not page.cts_breakdown or sum(line.points for line in page.cts_breakdown) == (page.cts_score or 0)


@pytest.mark.parametrize(
    ("topic", "change"),
    [*TABLES["out_of_bounds"], ("snippets.requested.v1", {"urls": ["https://a.example/"] * 10_001})],
)
def test_values_out_of_bounds_are_refused(topic: str, change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        EVENTS[topic].model_validate(minimal(topic) | change)


def to_snake(name: str) -> str:
    """The name in snake_case; digits belong to the word before them, as in ``html_base64``."""
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


def in_style(value: Any, style: Callable[[str], str]) -> Any:
    """The value with its field names in a style; the names in a map and those of the source document stay."""
    if isinstance(value, dict):
        renamed = {}
        for name, inner in value.items():
            renamed[name if name.startswith("_") else style(name)] = inner if name in MAPS else in_style(inner, style)
        return renamed
    return [in_style(inner, style) for inner in value] if isinstance(value, list) else value


def unknown(given: Any, written: Any) -> list[str]:
    """The names in ``given`` that the model did not write back, at any depth."""
    if isinstance(given, dict) and isinstance(written, dict):
        here = [name for name, value in given.items() if name not in written and value is not None]
        return here + [inner for name in given.keys() & written.keys() for inner in unknown(given[name], written[name])]
    if isinstance(given, list) and isinstance(written, list):
        return [inner for one, other in zip(given, written, strict=True) for inner in unknown(one, other)]
    return []


def with_unknown(value: Any) -> Any:
    """The value with an unknown field in every object; a map has no fields, and all its values have one type."""
    if isinstance(value, dict):
        inside = {name: inner if name in MAPS else with_unknown(inner) for name, inner in value.items()}
        return inside | {"fieldOfTomorrow": {"a": [1]}}
    if isinstance(value, list):
        return [with_unknown(inner) for inner in value]
    return value
