"""The screen ``live``: the topology with its figures, and the decisions as dots that appear as they are committed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from streams.console.charts import topology_layout
from streams.console.context import Context, Screen
from streams.console.entries import TONES, Entry
from streams.console.words import link_of
from streams.topology import HANDLERS, TOPICS, topic_named

MOST_DOTS = 10_000
_ROWS = 40
"""Decisions in the table, which is the text form of the dots."""
_BEAT_SECONDS = 10.0
_RANGES = {"15m": 900, "1h": 3600, "24h": 86_400, "7d": 604_800, "all": 0}
_GATHER_SECONDS = 0.1
"""Decisions within this time are sent together."""
DECIDED = tuple(topic.name for topic in TOPICS if any(topic in handler.emits for handler in HANDLERS))


def routes(context: Context) -> list[Route]:
    """The screen, its fragments and its events."""
    live = _Live(context)
    return [
        Route("/", live.page),
        Route("/live/flow", live.flow),
        Route("/live/dots", live.dots),
        Route("/live/events", live.events),
    ]


SCREEN = Screen("Live", "/", "l", "what flows now", routes)


class _Live:
    def __init__(self, context: Context) -> None:
        self._context = context

    async def page(self, request: Request) -> Response:
        span, topic = _chosen(request)
        context = self._context
        context.flow.want()
        return context.render(
            request,
            "live.html",
            span=span,
            spans=list(_RANGES),
            topic=topic,
            topics=DECIDED,
            flow=context.flow,
            handlers=HANDLERS,
            layout=topology_layout(),
            entries=context.store.newest(_ROWS, topic=topic),
            most=MOST_DOTS,
        )

    async def flow(self, request: Request) -> Response:
        context = self._context
        context.flow.want()
        layout = topology_layout()
        return context.render(request, "live_flow.html", flow=context.flow, handlers=HANDLERS, layout=layout)

    async def dots(self, request: Request) -> Response:
        """The dots as columns, which are a third of the size of objects and faster to read."""
        span, topic = _chosen(request)
        since = int(self._context.clock.now().timestamp() * 1000) - _RANGES[span] * 1000 if _RANGES[span] else 0
        dots = self._context.store.dots(since, MOST_DOTS, topic=topic)
        topics = sorted({dot[0] for dot in dots})
        number = {name: index for index, name in enumerate(topics)}
        return JSONResponse(
            {
                "topics": topics,
                "tones": TONES,
                "topic": [number[dot[0]] for dot in dots],
                "partition": [dot[1] for dot in dots],
                "offset": [dot[2] for dot in dots],
                "at": [dot[3] for dot in dots],
                "score": [None if dot[4] is None else round(dot[4], 1) for dot in dots],
                "tone": [TONES.index(dot[5]) for dot in dots],
                "seconds": _RANGES[span],
            }
        )

    async def events(self, request: Request) -> Response:
        """New decisions as server-sent events, as they are committed; the browser asks again at its end."""
        _, topic = _chosen(request)
        return StreamingResponse(
            self._stream(topic), media_type="text/event-stream", headers={"x-accel-buffering": "no"}
        )

    async def _stream(self, topic: str) -> AsyncIterator[str]:
        yield "retry: 2000\n\n"
        async for entries in self._context.feed.subscribe(_BEAT_SECONDS):
            chosen = [entry for entry in entries if not topic or entry.position.topic == topic]
            yield f"event: decisions\ndata: {as_json(chosen)}\n\n" if chosen else ": open\n\n"
            await asyncio.sleep(_GATHER_SECONDS)


def as_json(entries: Sequence[Entry]) -> str:
    """New decisions for the script: a dot, and a row of the table."""
    return json.dumps(
        [
            {
                "path": entry.path,
                "link": link_of(entry),
                "topic": entry.position.topic,
                "at": entry.at,
                "score": entry.score,
                "tone": entry.tone,
                "handler": entry.handler,
                "subject": entry.subject,
                "verdict": entry.verdict,
            }
            for entry in entries
        ]
    )


def _chosen(request: Request) -> tuple[str, str]:
    """The span and the topic of the address; what is unknown counts as not given."""
    span, topic = request.query_params.get("span", ""), request.query_params.get("topic", "")
    return span if span in _RANGES else "24h", topic if topic_named(topic) else ""
