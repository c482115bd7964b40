"""The AsyncAPI 3.0 document: every topic with its messages, headers, producers and consumers.

Its source is the topology and not FastStream's subscribers, which see raw bytes: the topology has the raw pages and the
envelope in the headers. The examples are the golden ones. ``/asyncapi.yaml`` of a worker serves the document with the
prefix of topics and groups.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import schemas
from streams.generate.templates import filled, read_data
from streams.topology import HANDLERS, TOPICS, Handler, Topic
from streams.topology.event_schemas import READERS, component_schemas
from streams.topology.text import paragraphs, prose, to_yaml

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
