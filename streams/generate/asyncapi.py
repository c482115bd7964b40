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
from streams.topology import HANDLERS, TOPICS, Handler, Topic
from streams.topology.event_schemas import READERS, component_schemas
from streams.topology.text import paragraphs, prose, to_yaml

_DESCRIPTION = f"Checks web pages, search results and claims before a language model reads them.\n\n{READERS}"
_EXAMPLES = Path(schemas.__file__).parent / "examples"


def asyncapi() -> dict[Path, str]:
    """``docs/asyncapi.yaml``."""
    return {Path("docs/asyncapi.yaml"): to_yaml(asyncapi_document())}


def asyncapi_document(prefix: str = "") -> dict[str, Any]:
    """The document as plain values; ``prefix`` is that of topics and groups on the described cluster."""
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Assay",
            "version": version("assay"),
            "description": _DESCRIPTION,
            "license": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
        },
        "defaultContentType": "application/json",
        "channels": {topic.name: _channel(topic, prefix) for topic in TOPICS},
        "operations": {name: value for handler in HANDLERS for name, value in _operations(handler, prefix).items()},
        "components": {
            "messages": {name: value for topic in TOPICS for name, value in _messages(topic).items()},
            "schemas": component_schemas("#/components/schemas/{model}"),
            "messageTraits": {"envelope": {"headers": _envelope()}},
        },
    }


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
        messages[f"Raw{name}"] = {
            "name": f"Raw{name}",
            "summary": "A page as it was fetched: the value is the HTML in its own encoding.",
            "contentType": "text/html",
            "headers": _raw_page_headers(),
            "payload": {"type": "string", "format": "binary"},
            "bindings": binding,
            "examples": [_RAW_PAGE],
        }
    return messages


_RAW_PAGE = {
    "name": "raw_page",
    "headers": {
        "content-type": "text/html; charset=utf-8",
        "assay_url": "https://www.example.org/a",
        "assay_fetched_at": "2026-11-21T08:30:00Z",
    },
    "payload": "<!doctype html><title>A page</title><p>As it was fetched.",
}


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


def _envelope() -> dict[str, Any]:
    """CloudEvents in binary mode. Other producers may omit every header."""
    return {
        "type": "object",
        "properties": {
            "ce_specversion": _text("Always 1.0.", const="1.0"),
            "ce_id": _text("Identity of the event; derived from its input, so a replay writes the same."),
            "ce_type": _text("org.assay. and the topic's name without any prefix, such as org.assay.pages.scored.v1."),
            "ce_subject": _text("The record's key, such as the page's address or the id of the batch."),
            "ce_dataschema": _text("The $id of the JSON Schema."),
            "ce_source": _text("The producer, such as assay/score_page."),
            "ce_time": _text("When it was written, UTC.", format="date-time"),
            "ce_correlationid": _text("Identity of the first event of the chain."),
            "ce_causationid": _text("Identity of the event that this one answers."),
            "traceparent": _text("W3C trace context."),
            "assay_run": _text("The replay or backfill that wrote it; absent for live traffic."),
            "content-type": _text("Media type of the value."),
        },
    }


def _raw_page_headers() -> dict[str, Any]:
    envelope = _envelope()
    own = {
        "content-type": _text("text/html or application/xhtml+xml, with the charset as it was received."),
        "assay_url": _text("The page's address."),
        "assay_fetched_at": _text("When it was fetched; without it the record's timestamp counts.", format="date-time"),
        "assay_final_url": _text("The address after redirects."),
        "assay_status": _text("HTTP status, such as 200."),
        "assay_site_name": _text("The publisher as the crawler knows it."),
        "assay_context": _text("Free text that is passed on."),
    }
    return {
        "type": "object",
        "required": ["content-type", "assay_url"],
        "properties": envelope["properties"] | own,
    }


def _text(description: str, **more: str) -> dict[str, str]:
    return {"type": "string", **more, "description": description}
