"""The JSON Schema of each topic's event.

A schema describes the wire: names, required fields, bounds, and the models' docstrings as descriptions. What a field
means that has the same name in several events is in ``field_meanings.yaml``; a test requires a meaning for every field.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from inspect import cleandoc
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from schemas.event import SCHEMA_URI_PREFIX, Part
from streams.topology.text import attributes, paragraphs, without_references
from streams.topology.topics import TOPICS, Topic

DIALECT = "https://json-schema.org/draft/2020-12/schema"
READERS = "Readers ignore fields and enum values that they do not know: a later version may add some."


def schema_of(topic: Topic) -> dict[str, Any]:
    """The schema of one topic's event, self-contained."""
    schema = topic.event.model_json_schema(by_alias=True, mode=_mode(topic))
    described = {"$schema": DIALECT, "$id": SCHEMA_URI_PREFIX + topic.name, **_described(schema)}
    described["description"] += f"\n\n{READERS}"
    if definitions := schema.get("$defs"):
        described["$defs"] = {name: _described(definition) for name, definition in definitions.items()}
    return described


def component_schemas(ref_template: str) -> dict[str, Any]:
    """The schemas of all events and their parts by name; ``ref_template`` is a reference with ``{model}`` in it."""
    events: list[tuple[type[BaseModel], JsonSchemaMode]] = [(topic.event, _mode(topic)) for topic in TOPICS]
    _, merged = models_json_schema(events, by_alias=True, ref_template=ref_template)
    return {name: _described(definition) for name, definition in sorted(merged["$defs"].items())}


def _mode(topic: Topic) -> JsonSchemaMode:
    """What others may write, or what Assay writes: then each field is there."""
    return "validation" if topic.written_by else "serialization"


def _described(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with the meaning of each field, and without titles that repeat a field's name."""
    text = schema.get("description", "")
    fields = _meanings_of(schema.get("title", ""))
    by_wire_name = fields | {to_camel(name): meaning for name, meaning in fields.items()}
    result = dict(schema)
    result.pop("$defs", None)
    if text:
        result["description"] = without_references(paragraphs(text))
    if "properties" in schema:
        result["properties"] = {
            name: _property(definition, by_wire_name.get(name)) for name, definition in schema["properties"].items()
        }
    return result


def _property(definition: dict[str, Any], meaning: str | None) -> dict[str, Any]:
    kept = {key: value for key, value in definition.items() if key != "title"}
    if meaning and "$ref" not in kept:
        kept["description"] = without_references(meaning)
    return kept


def _meanings_of(title: str) -> dict[str, str]:
    """The meaning of each field of the model with that name; docstrings of the model and its bases come first."""
    found = {**_shared_meanings()}
    model = next((model for model in _models(Part) if model.__name__ == title), Part)
    for base in reversed(model.__mro__):
        found |= attributes(cleandoc(base.__doc__ or ""))
    return found


@cache
def _shared_meanings() -> dict[str, str]:
    return dict(yaml.safe_load((Path(__file__).parent / "field_meanings.yaml").read_text("utf-8")))


def _models(base: type[Part]) -> Iterator[type[Part]]:
    for model in base.__subclasses__():
        yield model
        yield from _models(model)
