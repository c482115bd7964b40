"""Reads events that Assay wrote before version 1.0: the only module that knows their names and defaults.

The codec calls it for a value that does not fit today's event. Input events of other producers never need it: their
models read the earlier names too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from handlers.html.links import page_id_of

_RENAMED = {"author": "authors", "agency": "agencies", "excluded_because": "exclusion"}
_ADDRESSES = ("url", "target_url", "targetUrl")
_ADDED: Mapping[str, Mapping[str, Any]] = {
    "pages.scored.v1": {"title": "", "content": "", "summary": "", "quality_metadata": {}, "cts_breakdown": []},
    "documents.indexed.v1": {},
    "results.classified.v1": {
        "attempt": 1,
        "duplicates": 0,
        "confidence": 0.0,
        "extraction_targets": [],
        "retrieved_content": [],
        "config_version": "",
    },
    "retrieval.evaluated.v1": {
        "attempt": 1,
        "source_details": [],
        "next_step": "search_again",
        "needs_extraction": False,
        "extraction_targets": [],
        "config_version": "",
    },
    "search.evaluated.v1": {
        "query": "",
        "attempt": 1,
        "suggested_refinements": [],
        "missing_fields": [],
        "unchecked_fields": [],
        "config_version": "",
    },
    "extraction.completed.v1": {"fetched": [], "skipped": [], "forwarded": [], "config_version": ""},
    "relevance.judged.v1": {"config_version": ""},
    "snippets.extracted.v1": {"content_hash": "", "config_version": ""},
    "snippets.completed.v1": {"query": "", "config_version": ""},
    "claims.evaluated.v1": {"detail": "", "tries": 1, "tool_calls": []},
    "ranking.completed.v1": {"nothing_relevant": False},
}
"""The fields that each event always has since 1.0, with the value that their absence meant."""
_ADDED_TO_ITEMS: Mapping[str, Mapping[str, Any]] = {
    "results": {"reasons": [], "evidence": [], "content_kind": "snippet", "stage_scores": {}, "passage": ""},
    "counts": {"specific_content": 0, "aggregator": 0, "navigation": 0},
    "notes": {"reason": ""},
    "fetched": {"title": ""},
    "tool_calls": {"hits": 0},
}
"""The same for the objects in these fields of an event."""


def upgraded(topic: str, value: bytes) -> Any:
    """The JSON of an earlier event under today's names; None if the topic had no other event, or it is no JSON object.

    Args:
        topic: The logical topic.
        value: The value of the record.
    """
    if topic not in _ADDED:
        return None
    try:
        event = json.loads(value)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict):
        return None
    event = _renamed(event)
    if topic == "pages.scored.v1" and "label_source" not in event:
        event["label_source"] = "score" if event.get("cts_score") is not None else "fallback"
    if topic == "snippets.extracted.v1":
        event.setdefault("outcome", "extracted" if event.get("snippet") is not None else "failed")
    return {**_ADDED[topic], **event}


def _renamed(value: Any, field: str = "") -> Any:
    """A value with today's names, the ids of its pages, and what objects of this field always have."""
    if isinstance(value, list):
        return [_renamed(item, field) for item in value]
    if not isinstance(value, dict):
        return value
    fields: dict[str, Any] = {}
    for name, item in value.items():
        new = str(_RENAMED.get(name, name))
        if name == "because":
            new = "reasons" if isinstance(item, list) else "reason"
        fields[new] = _renamed(item, new)
    for address in _ADDRESSES:
        if isinstance(url := fields.get(address), str):
            fields.setdefault("page_id", page_id_of(url))
    return {**_ADDED_TO_ITEMS.get(field, {}), **fields}
