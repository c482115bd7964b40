"""The JSON Schemas of events, and the AsyncAPI 3.0 document: every topic with messages, producers and consumers.

Its source is the topology and not FastStream's subscribers, which see raw bytes: the topology has the raw pages and the
envelope in the headers. The examples are the golden ones. ``/asyncapi.yaml`` of a worker serves the document with the
prefix of topics and groups.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from inspect import cleandoc
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

import schemas
from schemas.event import SCHEMA_URI_PREFIX, Part
from streams.generate.templates import filled, read_data
from streams.topology import HANDLERS, TOPICS, Handler, Topic
from streams.topology.text import attributes, paragraphs, prose, to_yaml, without_references

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
    properties = {}
    for name, definition in schema.get("properties", {}).items():
        properties[name] = {key: value for key, value in definition.items() if key != "title"}
        if (meaning := by_wire_name.get(name)) and "$ref" not in definition:
            properties[name]["description"] = without_references(meaning)
    return result | ({"properties": properties} if "properties" in schema else {})


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


_DESCRIPTION = f"Checks web pages, search results and claims before a language model reads them.\n\n{READERS}"
_EXAMPLES = Path(schemas.__file__).parent / "examples"


def asyncapi() -> dict[Path, str]:
    return {Path("docs/asyncapi.yaml"): to_yaml(asyncapi_document())}


def asyncapi_document(prefix: str = "") -> dict[str, Any]:
    """The document as plain values; ``prefix`` is that of topics and groups on the described cluster."""
    return {
        "asyncapi": "3.0.0",
        "info": filled(_parts()["info"], {"version": version("assay"), "description": _DESCRIPTION}),
        "defaultContentType": "application/json",
        "channels": {topic.name: _channel(topic, prefix) for topic in TOPICS},
        "operations": {name: value for handler in HANDLERS for name, value in _operations(handler, prefix).items()},
        "components": {
            "messages": {name: value for topic in TOPICS for name, value in _messages(topic).items()},
            "schemas": component_schemas("#/components/schemas/{model}"),
            "messageTraits": {"envelope": {"headers": _parts()["envelope"]}},
        },
    }


def _parts() -> Any:
    return read_data("asyncapi.yaml")


def _channel(topic: Topic, prefix: str) -> dict[str, Any]:
    outside = {"x-written-by": topic.written_by, "x-read-by": topic.read_by}
    kept = {"topicConfiguration": {"cleanup.policy": ["compact"]}} if topic.compacted else {}
    return {
        "address": prefix + topic.name,
        "title": topic.event.__name__,
        "description": topic.meaning,
        **{key: list(names) for key, names in outside.items() if names},
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in _messages(topic)},
        "bindings": {"kafka": {"topic": prefix + topic.name, "partitions": topic.partitions} | kept},
    }


def _messages(topic: Topic) -> dict[str, Any]:
    name = topic.event.__name__
    binding = {"kafka": {"key": {"type": "string", "description": topic.key_means}}}
    messages: dict[str, Any] = {
        name: {
            "name": name,
            "summary": paragraphs(topic.event.__doc__ or "").split("\n")[0],
            "contentType": "application/json",
            "traits": [{"$ref": "#/components/messageTraits/envelope"}],
            "payload": {"$ref": f"#/components/schemas/{name}"},
            "bindings": binding,
            "examples": [
                {"name": path.stem, "payload": json.loads(path.read_text("utf-8"))} for path in example_files(topic)
            ],
        }
    }
    if topic.raw_pages:
        messages[f"Raw{name}"] = filled(_parts()["raw_page"], {"name": f"Raw{name}", "bindings": binding})
    return messages


def example_files(topic: Topic) -> list[Path]:
    """The examples of a topic in its present form, the minimal one first."""
    return sorted((_EXAMPLES / topic.name).glob("*.json"), key=lambda path: (path.stem != "minimal", path.stem))


def _operations(handler: Handler, prefix: str) -> dict[str, Any]:
    group = {"kafka": {"groupId": {"type": "string", "const": prefix + handler.group}}}
    receive = {
        "action": "receive",
        "summary": prose(handler.fn).split("\n")[0],
        "tags": [{"name": handler.lane}],
        "channel": {"$ref": f"#/channels/{handler.consumes.name}"},
        "bindings": group,
    }
    sends = {
        f"{handler.name}.send.{topic.name}": {"action": "send", "channel": {"$ref": f"#/channels/{topic.name}"}}
        for topic in handler.emits
    }
    return {f"{handler.name}.receive": receive, **sends}
