"""``/query`` of the application: a query over HTTP, its results as JSON.

``POST`` takes the JSON of a ``ranking.requested.v1`` event, ``GET`` a query string; both answer with that of
``ranking.completed.v1``. Who may ask is in ``streams.query.gate``. Bodies, time and queries at once are bounded, and
somebody who hangs up is no longer worked for.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from typing import Any

from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted
from streams.query.engine import Queries, Refusal
from streams.query.gate import refuse
from streams.query.requests import read_body, read_query_string
from streams.query_settings import QuerySettings
from streams.telemetry.queries import RefusalReason

_STATUS: Mapping[RefusalReason, int] = {
    "invalid": 400,
    "busy": 503,
    "unavailable": 503,
    "timeout": 503,
    "failed": 500,
}
_SOON_SECONDS = 5.0
"""When to ask again where what is down has no wish of its own."""
_JSON = b"application/json"


class QueryRoute:
    """An ASGI application for one path."""

    def __init__(self, queries: Queries | None, settings: QuerySettings, token: str) -> None:
        """Takes who answers and under which bounds.

        Args:
            queries: Answers; None where this application can't, which is then said.
            settings: The bounds.
            token: What has to be shown; "" where only this machine may ask.
        """
        self._queries = queries
        self._settings = settings
        self._token = token
        self._stopping = False
        self._underway: set[asyncio.Task[RankingCompleted | Refusal]] = set()
        self._reading = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request."""
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
        """Answers what is under way, for so long at most, and turns away what comes from now on."""
        self._stopping = True
        if self._underway:
            _, late = await asyncio.wait(self._underway, timeout=seconds)
            for task in late:
                task.cancel()

    async def _request(self, scope: Any, receive: Any, send: Any) -> RankingRequested | None:
        """The request; None where it was refused already."""
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
        """The body; None where it is too large, and a refusal where too many are read at once or it does not come."""
        limits = self._settings
        told = b"".join(value for name, value in scope["headers"] if name == b"content-length")
        if told.isdigit() and int(told) > limits.max_bytes:
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
    """Waits until the other side is gone."""
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
