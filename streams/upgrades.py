"""Reads events that Assay wrote before version 1.0: the only module that knows their names and defaults.

The codec calls it for a value that does not fit today's event. Input events of other producers never need it: their
models read the earlier names too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
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
_DAY = re.compile(r"(?:([0-9]{4})|-)-([0-9]{2})-([0-9]{2})")
_CODE = re.compile(r"[A-Z]{3}")
_EARLIER_FIELDS = frozenset({"kind", "text", "start", "end", "value"})
_NO_CODES = frozenset({"CFA", "IRT", "BTC"})
"""What earlier versions wrote in the form of a code although ISO 4217 does not have it."""


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
        if field == "evidence":
            return _details_of_today(item for item in value if isinstance(item, dict))
        return [_renamed(item, field) for item in value]
    if not isinstance(value, dict):
        return value
    fields: dict[str, Any] = {}
    for name, item in value.items():
        if item is None:
            continue  # the same as an absent field
        new = str(_RENAMED.get(name, name))
        if name == "because":
            new = "reasons" if isinstance(item, list) else "reason"
        fields[new] = _renamed(item, new)
    for address in _ADDRESSES:
        if isinstance(url := fields.get(address), str):
            fields.setdefault("page_id", page_id_of(url))
    return {**_ADDED_TO_ITEMS.get(field, {}), **fields}


def _details_of_today(details: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The details in their present form: the value was one string, which had another form for each kind.

    A price, time or place without a value says nothing now, so it is left out. A detail that no earlier version wrote
    is unchanged.
    """
    return [_detail_of_today(detail) for detail in details if detail.get("kind") == "date" or not _is_empty(detail)]


def _is_empty(detail: Mapping[str, Any]) -> bool:
    return detail.keys() <= _EARLIER_FIELDS and detail.get("value") is None


def _detail_of_today(detail: Mapping[str, Any]) -> dict[str, Any]:
    if not detail.keys() <= _EARLIER_FIELDS:
        return dict(detail)
    kept = {name: known for name, known in detail.items() if name != "value"}
    value = detail.get("value")
    match detail.get("kind"), value:
        case "price", str():
            return kept | price if (price := _price(value)) else dict(detail)
        case "date", None:
            return kept | {"date": None, "precision": None, "month": None, "day": None}
        case "date", str() if day := _DAY.fullmatch(value):
            date, precision = (value, "day") if day[1] else (None, None)
            return kept | {"date": date, "precision": precision, "month": int(day[2]), "day": int(day[3])}
        case "time", str():
            return kept | {"time": value}
        case "place", str():
            return kept | {"name": value}
    return dict(detail)


def _price(value: str) -> dict[str, str | None] | None:
    amount, _, unit = value.partition(" ")
    try:
        # Large amounts could have an exponent.
        plain = f"{Decimal(amount):f}"
    except InvalidOperation:
        return None
    is_code = _CODE.fullmatch(unit) is not None and unit not in _NO_CODES
    return {"amount": plain, "currency": unit if is_code else None, "unit": None if is_code else unit or None}
