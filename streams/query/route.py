"""The route ``/query``: a query over HTTP, its results as JSON.

``POST`` takes the JSON of a ``ranking.requested.v1`` event, ``GET`` a query string. Both return the JSON of
``ranking.completed.v1``. ``streams.http.gate`` decides who may ask. Body size, time and concurrent queries are
bounded. A query is cancelled when its client disconnects.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl
from uuid import uuid4

from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted
from streams.http.gate import refuse
from streams.query.engine import Queries, Refusal
from streams.settings.model import QuerySettings
from streams.telemetry.labels import RefusalReason
from streams.topology.codec import refusal

_ONCE = {"q": "query", "limit": "limit", "request_id": "request_id"}
_FILTERS_ONCE = {"since": "date_from", "until": "date_to"}
_FILTERS_MANY = {"tier": "tiers", "domain": "domains", "tag": "tags"}
_MOST_PARAMETERS = 100
_SHOWN = 50
"""Characters of an unknown name in an answer."""


def read_body(body: bytes) -> RankingRequested | str:
    """The request of a body, or why the body is invalid. A missing ``request_id`` is added.

    Unlike in a record, unknown fields are refused: a client that misspells ``filters`` would get unfiltered results.
    """
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return "the body is no JSON"
    if not isinstance(value, dict):
        return 'the body has to be a JSON object such as {"query": "…"}'
    fields = RankingRequested.model_fields.keys()
    if unknown := value.keys() - fields - {to_camel(name) for name in fields}:
        known = ", ".join(name for name in fields if name != "event_id")
        return f"there is no field {min(unknown)[:_SHOWN]!r}; there are {known}"
    if isinstance(value.get("limit"), bool):
        return "limit: it has to be a number"
    return _request(value)


def read_query_string(text: bytes) -> RankingRequested | str:
    """The request of a query string, or why the string is invalid.

    ``q`` is required. ``limit``, ``since``, ``until`` and ``request_id`` are optional. ``tier``, ``domain`` and ``tag``
    may be repeated.
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
        # The same JSON rules as for a record.
        return RankingRequested.model_validate_json(json.dumps(value))
    except ValidationError as error:
        return refusal(error).detail
    except (ValueError, RecursionError) as error:
        return f"the request can't be read: {error}"[:500]


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


_STATUS: Mapping[RefusalReason, int] = {
    "invalid": 400,
    "busy": 503,
    "unavailable": 503,
    "timeout": 503,
    "failed": 500,
}
_SOON_SECONDS = 5.0
"""When to try again if the refusal does not say it."""
_JSON = b"application/json"


class QueryRoute:
    """An ASGI application for one path."""

    def __init__(self, queries: Queries | None, settings: QuerySettings, token: str) -> None:
        """Without queries the route answers 404; without a token only this machine may ask."""
        self._queries = queries
        self._settings = settings
        self._token = token
        self._stopping = False
        self._underway: set[asyncio.Task[RankingCompleted | Refusal]] = set()
        self._reading = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        peer = scope["client"][0] if scope.get("client") else None
        refused = refuse(peer, scope["headers"], self._token)
        if refused is not None:
            extra = [(b"www-authenticate", b"Bearer")] if refused.status == 401 else []
            await _say(send, refused.status, "forbidden", refused.detail, extra)
        elif self._queries is None:
            detail = "this application answers no queries: it neither runs rank_results nor owns an embedded index"
            await _say(send, 404, "not_here", detail)
        elif self._stopping:
            await _refuse(send, Refusal("unavailable", "the application is stopping", _SOON_SECONDS))
        elif scope["method"] not in ("GET", "POST"):
            await _say(send, 405, "invalid", "ask with GET or POST", [(b"allow", b"GET, POST")])
        else:
            request = await self._request(scope, receive, send)
            if request is not None:
                await self._answer(self._queries, request, receive, send)

    async def drain(self, seconds: float) -> None:
        """Finishes the queries in flight within the time limit, and refuses new ones."""
        self._stopping = True
        if self._underway:
            _, late = await asyncio.wait(self._underway, timeout=seconds)
            for task in late:
                task.cancel()

    async def _request(self, scope: Any, receive: Any, send: Any) -> RankingRequested | None:
        """The request; None if it was refused."""
        if scope["method"] == "GET":
            request = read_query_string(scope["query_string"])
        else:
            kind = b"".join(value for name, value in scope["headers"] if name == b"content-type")
            if kind.split(b";")[0].strip().lower() != _JSON:
                await _say(send, 415, "invalid", "the body has to be JSON: Content-Type: application/json")
                return None
            body = await self._body(scope, receive)
            if isinstance(body, Refusal):
                await _refuse(send, body)
                return None
            if body is None:
                detail = f"the body is larger than {self._settings.max_bytes} bytes (query.max_bytes)"
                await _say(send, 413, "invalid", detail, [(b"connection", b"close")])
                return None
            request = read_body(body)
        if isinstance(request, str):
            await _say(send, 400, "invalid", request)
            return None
        return request

    async def _body(self, scope: Any, receive: Any) -> bytes | Refusal | None:
        """The body; None if it is too large; a refusal if too many are read at once, or on a timeout."""
        limits = self._settings
        length = b"".join(value for name, value in scope["headers"] if name == b"content-length")
        if length.isdigit() and int(length) > limits.max_bytes:
            return None
        if self._reading >= limits.parallel:
            return Refusal("busy", f"{limits.parallel} queries are being read already; ask again later", 1.0)
        self._reading += 1
        try:
            async with asyncio.timeout(limits.seconds):
                return await _whole_body(receive, limits.max_bytes)
        except TimeoutError:
            return Refusal("timeout", f"the body did not come within {limits.seconds:g} seconds", 1.0)
        finally:
            self._reading -= 1

    async def _answer(self, queries: Queries, request: RankingRequested, receive: Any, send: Any) -> None:
        answering = asyncio.create_task(queries.answer(request))
        self._underway.add(answering)
        gone = asyncio.create_task(_hung_up(receive))
        try:
            await asyncio.wait({answering, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                return
            if answering.cancelled():
                await _refuse(send, Refusal("unavailable", "the application is stopping", _SOON_SECONDS))
                return
            answer = answering.result()
            if isinstance(answer, Refusal):
                await _refuse(send, answer)
            else:
                await _send(send, 200, answer.to_json())
        finally:
            self._underway.discard(answering)
            answering.cancel()
            gone.cancel()
            await asyncio.gather(answering, gone, return_exceptions=True)


async def _whole_body(receive: Any, most: int) -> bytes | None:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return bytes(body)
        body += message.get("body", b"")
        if len(body) > most:
            return None
        if not message.get("more_body"):
            return bytes(body)


async def _hung_up(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _refuse(send: Any, refusal: Refusal) -> None:
    status = _STATUS[refusal.reason]
    wait = refusal.after_seconds if refusal.after_seconds is not None else _SOON_SECONDS
    extra = [(b"retry-after", str(max(1, math.ceil(wait))).encode())] if status == 503 else []
    await _say(send, status, refusal.reason, refusal.detail, extra)


async def _say(
    send: Any, status: int, reason: str, detail: str, extra: list[tuple[bytes, bytes]] | None = None
) -> None:
    body = json.dumps({"reason": reason, "detail": detail}, ensure_ascii=False).encode("utf-8", "replace")
    await _send(send, status, body, extra)


async def _send(send: Any, status: int, body: bytes, extra: list[tuple[bytes, bytes]] | None = None) -> None:
    headers = [
        (b"content-type", _JSON),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        *(extra or []),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
