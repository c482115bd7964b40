"""The screen ``live``: whether all is well, the figures of each handler, and decisions as dots, as they come."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from streams.console.context import Context, Screen
from streams.console.entries import Entry, Tone
from streams.console.store import Store
from streams.runtime.amounts import figure, in_rate, in_time
from streams.topology import HANDLERS, TOPICS, topic_named
from streams.views.flow import HandlerFlow

_MOST_DOTS = 10_000
_ROWS = 40  # decisions in the table, which is the text form of the dots
_BEAT_SECONDS = 10.0
_RANGES = {"15m": 900, "1h": 3600, "24h": 86_400, "7d": 604_800, "all": 0}
_DOT = ("topic", "partition", "offset", "at", "score", "tone")
_GATHER_SECONDS = 0.1  # decisions within this time are sent together
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


_MINUTES, _HOUR = 5, 60
_SLOWER, _MORE = 0.5, 0.1
"""The share of the rate before below which it is slow, and the rise of the refused share that is a sign."""


class Sign(NamedTuple):
    """A figure, what it was before or where it is from, and how good it is."""

    name: str
    value: str
    told: str
    tone: Tone


def signs(store: Store, flows: Mapping[str, HandlerFlow], now: int) -> list[Sign]:
    begin, before = now - _MINUTES * 60_000, "{} in the hour before".format
    recent, earlier = store.counts(begin, now + 60_000), store.counts(begin - _HOUR * 60_000, begin)
    rate, usual = recent.decisions / (60 * _MINUTES), earlier.decisions / (60 * _HOUR)
    of_rate: Tone = "low" if rate < _SLOWER * usual else "good" if rate else "none"
    is_more = recent.dead / _MINUTES > earlier.dead / _HOUR
    of_dead: Tone = "good" if not recent.dead else "poor" if is_more else "low"
    refused, usually = (its.refused / its.pages if its.pages else None for its in (recent, earlier))
    rises = refused is not None and usually is not None and refused > usually + _MORE
    of_refused: Tone = "none" if refused is None else "low" if rises else "good"
    return [
        Sign("decisions a second", in_rate(rate), before(in_rate(usual)), of_rate),
        _oldest(flows),
        Sign("new dead letters", figure(recent.dead), before(figure(earlier.dead)), of_dead),
        Sign("pages without content", _percent(refused), before(_percent(usually)), of_refused),
    ]


def _oldest(flows: Mapping[str, HandlerFlow]) -> Sign:
    waiting = [(its.lag_seconds or 0.0, its) for its in flows.values() if its.lag_records]
    if not waiting:
        return Sign("oldest waiting", in_time(0) if flows else "-", "nothing waits", "good" if flows else "none")
    seconds, its = max(waiting, key=lambda pair: pair[0])
    is_late = any(age > flow.slo_seconds for age, flow in waiting)
    told = f"at {its.handler}{'' if its.members else ', which no worker runs'}"
    return Sign("oldest waiting", in_time(seconds), told, "poor" if is_late else "good")


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"
