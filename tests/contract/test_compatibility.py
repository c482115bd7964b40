"""Today's models read every record of earlier releases, and the check of this finds breaking changes."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from streams.generate.asyncapi import schema_of
from streams.generate.examples import is_generated
from streams.generate.json_schemas import LIST, RELEASED, breaks, incompatible, lost
from streams.topology import TOPICS, Topic, topic_named
from tests.samples import ROOT, instance

EXAMPLES = sorted((ROOT / "schemas/examples").glob("*/*.json"))

TABLES = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
EVENT: dict[str, Any] = TABLES["event"]


def patched(value: Any, patch: Any) -> Any:
    """A JSON merge patch applied (RFC 7396)."""
    if not isinstance(patch, dict) or not isinstance(value, dict):
        return patch
    kept = {name: old for name, old in value.items() if name not in patch}
    return kept | {name: patched(value.get(name), new) for name, new in patch.items() if new is not None}


@pytest.mark.parametrize(("name", "change", "says"), TABLES["breaking"], ids=lambda value: str(value)[:30])
def test_breaking_change_is_reported(name: str, change: dict[str, Any], says: str) -> None:
    found = [str(one) for one in breaks(EVENT, patched(EVENT, change))]
    assert len(found) == 1, name
    assert found[0].startswith(says)


@pytest.mark.parametrize(("name", "change"), TABLES["harmless"], ids=lambda value: str(value)[:30])
def test_harmless_change_is_not_reported(name: str, change: dict[str, Any]) -> None:
    assert breaks(EVENT, patched(EVENT, change)) == [], name


def test_choices_of_an_object_may_name_a_few_of_its_fields() -> None:
    one, other = ({"required": [name], "properties": {name: {"type": "string"}}} for name in ("html", "content"))
    fields = {name: {"anyOf": [{"type": "string"}, {"type": "null"}]} for name in ("html", "content", "title")}
    event = {"type": "object", "properties": fields, "oneOf": [one, other]}
    assert breaks(event, event) == []
    assert breaks(event, {**event, "oneOf": [one, other, {}]}) == []
    assert [found.where for found in breaks(event, {**event, "oneOf": [one]})] == ["html", "html"]
    without_title = {**event, "properties": {name: fields[name] for name in ("html", "content")}}
    assert [found.where for found in breaks(event, without_title)] == ["title"]


def test_this_checkout_is_compatible_and_complete() -> None:
    assert incompatible(ROOT) == []
    assert lost(ROOT) == []


def test_every_kept_file_is_listed_and_every_event_was_released() -> None:
    listed = {line.split("  ")[1] for line in (ROOT / LIST).read_text("utf-8").splitlines()}
    written = [path for path in EXAMPLES if not is_generated(instance(Topic, topic_named(path.parent.name)))]
    kept = [*written, *(ROOT / RELEASED).glob("*/*.json")]
    assert listed == {path.relative_to(ROOT).as_posix() for path in kept}


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_the_examples_of_a_topic_fit_its_schema(topic: Topic) -> None:
    """A writer in another language may have written a golden message, so it must fit the schema too."""
    validator = jsonschema.Draft202012Validator(schema_of(topic))
    for path in (ROOT / "schemas/examples" / topic.name).glob("*.json"):
        assert [error.message for error in validator.iter_errors(json.loads(path.read_text("utf-8")))] == [], path
