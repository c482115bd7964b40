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
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted
from streams.http.gate import Gate
from streams.query.engine import Queries, Refusal
from streams.settings.model import QuerySettings
from streams.telemetry.labels import RefusalReason
from streams.topology.codec import refusal

_ONCE = {"q": "query", "limit": "limit", "request_id": "request_id"}
_FILTERS_ONCE = {"since": "date_from", "until": "date_to"}
_FILTERS_MANY = {"tier": "tiers", "domain": "domains", "tag": "tags"}
_MOST_PARAMETERS = 100
_SHOWN = 50  # characters of an unknown name in an answer


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
    filters: dict[str, Any] = {}
    for name, item in pairs:
        if name in _FILTERS_MANY:
            filters.setdefault(_FILTERS_MANY[name], []).append(item)
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


_STATUS: Mapping[RefusalReason, int] = {"invalid": 400, "busy": 503, "unavailable": 503, "timeout": 503, "failed": 500}
_SOON_SECONDS = 5.0  # when to try again if the refusal does not say it
_STOPPING = Refusal("unavailable", "the application is stopping", _SOON_SECONDS)
_JSON = "application/json"
_HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


class QueryRoute:
    def __init__(self, queries: Queries | None, settings: QuerySettings, token: str) -> None:
        """Without queries the route answers 404; without a token only this machine may ask."""
        self._queries = queries
        self._settings = settings
        self._gate = Gate(token)
        self._stopping = False
        self._underway: set[asyncio.Task[RankingCompleted | Refusal]] = set()
        self._reading = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if (response := await self._response(Request(scope, receive))) is not None:
            await response(scope, receive, send)

    async def drain(self, seconds: float) -> None:
        """Finishes the queries in flight within the time limit, and refuses new ones."""
        self._stopping = True
        if self._underway:
            _, late = await asyncio.wait(self._underway, timeout=seconds)
            for task in late:
                task.cancel()

    async def _response(self, request: Request) -> Response | None:
        """The answer; None if the client has gone."""
        peer = request.client.host if request.client else None
        refused = self._gate.refuse(peer, request.headers.raw)
        if refused is not None:
            return _problem(refused.status, "forbidden", refused.detail, refused.headers)
        if self._queries is None:
            detail = "this application answers no queries: it neither runs rank_results nor owns an embedded index"
            return _problem(404, "not_here", detail)
        if self._stopping:
            return _refusal(_STOPPING)
        if request.method not in ("GET", "POST"):
            return _problem(405, "invalid", "ask with GET or POST", {"allow": "GET, POST"})
        posted = request.method == "POST"
        asked = await self._posted(request) if posted else read_query_string(request.scope["query_string"])
        if isinstance(asked, Response):
            return asked
        if isinstance(asked, str):
            return _problem(400, "invalid", asked)
        return await self._answer(self._queries, asked, request.receive)

    async def _posted(self, request: Request) -> RankingRequested | str | Response:
        """The request of the body, or why the body is invalid, or an answer with a status of its own."""
        limits = self._settings
        if "".join(request.headers.getlist("content-type")).split(";")[0].strip().lower() != _JSON:
            return _problem(415, "invalid", "the body has to be JSON: Content-Type: application/json")
        detail = f"the body is larger than {limits.max_bytes} bytes (query.max_bytes)"
        too_large = _problem(413, "invalid", detail, {"connection": "close"})
        length = request.headers.get("content-length", "")
        if length.isdigit() and int(length) > limits.max_bytes:
            return too_large
        if self._reading >= limits.parallel:
            return _refusal(Refusal("busy", f"{limits.parallel} queries are being read already; ask again later", 1.0))
        self._reading += 1
        body = bytearray()
        try:
            async with asyncio.timeout(limits.seconds):
                async for chunk in request.stream():
                    body += chunk
                    if len(body) > limits.max_bytes:
                        return too_large
        except TimeoutError:
            return _refusal(Refusal("timeout", f"the body did not come within {limits.seconds:g} seconds", 1.0))
        except ClientDisconnect:
            return "the body is not complete"
        finally:
            self._reading -= 1
        return read_body(bytes(body))

    async def _answer(self, queries: Queries, asked: RankingRequested, receive: Any) -> Response | None:
        answering = asyncio.create_task(queries.answer(asked))
        self._underway.add(answering)
        gone = asyncio.create_task(_hung_up(receive))
        try:
            await asyncio.wait({answering, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                return None
            answer = _STOPPING if answering.cancelled() else answering.result()
            return _refusal(answer) if isinstance(answer, Refusal) else Response(answer.to_json(), 200, _HEADERS, _JSON)
        finally:
            self._underway.discard(answering)
            answering.cancel()
            gone.cancel()
            await asyncio.gather(answering, gone, return_exceptions=True)


async def _hung_up(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _refusal(refusal: Refusal) -> Response:
    status = _STATUS[refusal.reason]
    wait = refusal.after_seconds if refusal.after_seconds is not None else _SOON_SECONDS
    extra = {"retry-after": str(max(1, math.ceil(wait)))} if status == 503 else {}
    return _problem(status, refusal.reason, refusal.detail, extra)


def _problem(status: int, reason: str, detail: str, extra: Mapping[str, str] | None = None) -> Response:
    body = json.dumps({"reason": reason, "detail": detail}, ensure_ascii=False).encode("utf-8", "replace")
    return Response(body, status, {**_HEADERS, **(extra or {})}, _JSON)
