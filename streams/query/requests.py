"""HTTP requests to query requests: a JSON body, or a query string for what fits into one."""

from __future__ import annotations

import json
from urllib.parse import parse_qsl
from uuid import uuid4

from pydantic import ValidationError

from schemas.queries import RankingRequested
from streams.codec import refusal

_ONCE = {"q": "query", "limit": "limit", "request_id": "request_id"}
_FILTERS_ONCE = {"since": "date_from", "until": "date_to"}
_FILTERS_MANY = {"tier": "tiers", "domain": "domains", "tag": "tags"}
_MOST_PARAMETERS = 100
_SHOWN = 50
"""Characters of a name that somebody made up."""


def read_body(body: bytes) -> RankingRequested | str:
    """The request of a body, or why there is none. One without ``request_id`` is given one.

    Unlike a record's, its fields are all known: who misspells ``filters`` waits here for the answer, and would take
    unfiltered results for filtered ones.
    """
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return "the body is no JSON"
    if not isinstance(value, dict):
        return 'the body has to be a JSON object such as {"query": "…"}'
    if unknown := value.keys() - RankingRequested.model_fields.keys():
        return f"there is no field {min(unknown)[:_SHOWN]!r}; there are {', '.join(RankingRequested.model_fields)}"
    if isinstance(value.get("limit"), bool):
        return "limit: it has to be a number"
    return _request(value)


def read_query_string(text: bytes) -> RankingRequested | str:
    """The request of a query string, or why there is none.

    It has ``q``, and may have ``limit``, ``since``, ``until``, ``request_id``, and as often as wanted ``tier``,
    ``domain`` and ``tag``.
    """
    try:
        pairs = parse_qsl(text.decode("ascii"), True, True, "utf-8", "strict", _MOST_PARAMETERS)
    except ValueError:
        return "the query string can't be read; it begins like ?q=how+tall&limit=5"
    value: dict[str, object] = {}
    filters: dict[str, object] = {}
    for name, item in pairs:
        if name in _FILTERS_MANY:
            key = _FILTERS_MANY[name]
            filters[key] = [*_list(filters.get(key)), item]
            continue
        into, known = (filters, _FILTERS_ONCE) if name in _FILTERS_ONCE else (value, _ONCE)
        if name not in known:
            names = ", ".join((*_ONCE, *_FILTERS_ONCE, *_FILTERS_MANY))
            return f"there is no parameter {name[:_SHOWN]!r}; there are {names}"
        if known[name] in into:
            return f"the parameter {name} is given twice"
        into[known[name]] = item
    if "query" not in value:
        return "the parameter q is missing"
    return _request({**value, "filters": filters})


def _request(value: dict[str, object]) -> RankingRequested | str:
    if value.get("request_id") is None:
        value = {**value, "request_id": str(uuid4())}
    try:
        # As a record would be read: by the same rules for JSON.
        return RankingRequested.model_validate_json(json.dumps(value))
    except ValidationError as error:
        return refusal(error).detail
    except (ValueError, RecursionError) as error:
        return f"the request can't be read: {error}"[:500]


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
