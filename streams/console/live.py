"""The screen ``live``: whether all is well, the figures of each handler, and decisions as dots, as they come."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from streams.console.context import Context, Screen
from streams.console.entries import Entry
from streams.console.health import signs
from streams.topology import HANDLERS, TOPICS, topic_named

_MOST_DOTS = 10_000
_ROWS = 40
"""Decisions in the table, which is the text form of the dots."""
_BEAT_SECONDS = 10.0
_RANGES = {"15m": 900, "1h": 3600, "24h": 86_400, "7d": 604_800, "all": 0}
_DOT = ("topic", "partition", "offset", "at", "score", "tone")
_GATHER_SECONDS = 0.1
"""Decisions within this time are sent together."""
_DECIDED = tuple(topic.name for topic in TOPICS if any(topic in handler.emits for handler in HANDLERS))


def routes(context: Context) -> list[Route]:
    live = _Live(context)
    return [
        Route("/", live.page),
        Route("/live/health", partial(live.part, "live_health.html")),
        Route("/live/flow", partial(live.part, "live_flow.html")),
        Route("/live/dots", live.dots),
        Route("/live/events", live.events),
    ]


SCREEN = Screen("Live", "/", "l", "what flows now, and whether it is well", routes)


class _Live:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._streams: set[_Events] = set()

    async def page(self, request: Request) -> Response:
        span, topic = _chosen(request)
        return self._render(
            request,
            "live.html",
            span=span,
            spans=list(_RANGES),
            topic=topic,
            topics=_DECIDED,
            entries=self._context.store.newest(_ROWS, topic=topic),
            most=_MOST_DOTS,
        )

    async def part(self, template: str, request: Request) -> Response:
        return self._render(request, template)

    def _render(self, request: Request, template: str, **values: Any) -> Response:
        flow, now = self._context.flow, int(self._context.clock.now().timestamp() * 1000)
        flow.want()
        found = signs(self._context.store, flow.handlers, now)
        return self._context.render(request, template, flow=flow, handlers=HANDLERS, signs=found, **values)

    async def dots(self, request: Request) -> Response:
        """The dots as columns, which are smaller than objects and faster to read."""
        span, topic = _chosen(request)
        since = int(self._context.clock.now().timestamp() * 1000) - _RANGES[span] * 1000 if _RANGES[span] else 0
        columns = [*zip(*self._context.store.dots(since, _MOST_DOTS, topic=topic), strict=True)] or [()] * len(_DOT)
        return JSONResponse(dict(zip(_DOT, columns, strict=True)) | {"seconds": _RANGES[span]})

    async def events(self, request: Request) -> Response:
        """New decisions as server-sent events, as they are committed; the browser asks again at its end."""
        _, topic = _chosen(request)
        if len(self._streams) >= self._context.settings.http.connections // 2:
            # A stream has no deadline, so it would never leave its place to other clients.
            return PlainTextResponse("All places for event streams are taken.", 503, {"retry-after": "5"})
        return _Events(self._stream(topic), self._streams)

    async def _stream(self, topic: str) -> AsyncIterator[str]:
        yield "retry: 2000\n\n"
        subscription = self._context.feed.subscribe(_BEAT_SECONDS)
        await anext(subscription)
        # What was committed between the page and this subscription is on neither; the script leaves out known rows.
        newest = self._context.store.newest(_ROWS, topic=topic)
        yield self._event(newest[::-1])
        async for entries in subscription:
            chosen = [entry for entry in entries if not topic or entry.position.topic == topic]
            yield self._event(chosen) if chosen else ": open\n\n"
            await asyncio.sleep(_GATHER_SECONDS)

    def _event(self, entries: Sequence[Entry]) -> str:
        """New decisions for the script: their dots, and the last of them as rows of the table."""
        row = self._context.environment.get_template("row.html").module.row  # type: ignore[attr-defined]
        dots = [asdict(its.position) | {"at": its.at, "score": its.score, "tone": its.tone} for its in entries]
        rows = [row(entry) for entry in entries[-_ROWS:]]
        return f"event: decisions\ndata: {json.dumps({'dots': dots, 'rows': rows})}\n\n"


class _Events(StreamingResponse):
    """A stream that is in ``streams`` while it is open."""

    def __init__(self, content: AsyncIterator[str], streams: set[_Events]) -> None:
        super().__init__(content, media_type="text/event-stream", headers={"x-accel-buffering": "no"})
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._streams.add(self)
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._streams.remove(self)


def _chosen(request: Request) -> tuple[str, str]:
    """The span and the topic of the address; what is unknown counts as not given."""
    span, topic = request.query_params.get("span", ""), request.query_params.get("topic", "")
    return span if span in _RANGES else "24h", topic if topic_named(topic) else ""
