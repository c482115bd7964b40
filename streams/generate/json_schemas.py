"""A JSON Schema for each topic's event: what a writer in another language has to send.

The schemas describe the wire: wire names, required fields, bounds. What the models' docstrings say of a field becomes
its description.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from streams.generate.docstrings import attributes, paragraphs
from streams.generate.documents import to_json
from streams.topology import TOPICS, Topic

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schemas() -> dict[Path, str]:
    """``schemas/json/<topic>.schema.json`` for every topic."""
    return {Path("schemas/json") / f"{topic.name}.schema.json": to_json(schema_of(topic)) for topic in TOPICS}


def schema_of(topic: Topic) -> dict[str, Any]:
    """The schema of one topic's event, self-contained."""
    schema = topic.event.model_json_schema(by_alias=True)
    described = {"$schema": DIALECT, "$id": f"urn:assay:{topic.name}", **_described(schema)}
    if definitions := schema.get("$defs"):
        described["$defs"] = {name: _described(definition) for name, definition in definitions.items()}
    return described


def component_schemas(ref_template: str) -> dict[str, Any]:
    """The schemas of all events and their parts by name, for a document that refers to them.

    Args:
        ref_template: How a reference is written, with ``{model}`` in it.
    """
    events: list[tuple[type[BaseModel], JsonSchemaMode]] = [(topic.event, "validation") for topic in TOPICS]
    _, merged = models_json_schema(events, by_alias=True, ref_template=ref_template)
    return {name: _described(definition) for name, definition in sorted(merged["$defs"].items())}


def _described(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with its docstring taken apart, and without the titles that only repeat a field's name."""
    text = schema.get("description", "")
    fields = attributes(text)
    by_wire_name = fields | {to_camel(name): meaning for name, meaning in fields.items()}
    result = dict(schema)
    result.pop("$defs", None)
    if text:
        result["description"] = paragraphs(text)
    if "properties" in schema:
        result["properties"] = {
            name: _property(definition, by_wire_name.get(name)) for name, definition in schema["properties"].items()
        }
    return result


def _property(definition: dict[str, Any], meaning: str | None) -> dict[str, Any]:
    kept = {key: value for key, value in definition.items() if key != "title"}
    return kept | {"description": meaning} if meaning else kept
