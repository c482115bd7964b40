"""The console's web application: its screens, and what holds for every request and every answer.

A screen is one module of this package and a template of the same name. It exports ``SCREEN``; navigation, keys and the
help derive from ``_MODULES``.

- Every client of the port can read. An action is a POST route whose endpoint is wrapped in
  ``context.guard.acting(endpoint)``, which checks the token and the origin; templates show it if ``may_act``.
- Texts of strangers are shown with the filter ``visible``. Nothing is marked as safe HTML by hand.
- The content security policy forbids inline scripts and styles. ``static/console.js`` offers behaviour by attributes:
  ``data-poll`` loads a fragment again, ``data-live`` sends a form at each change and shows the answer, ``data-key``
  gives a link or a button a key, ``data-confirm`` asks before a form is sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiokafka.errors import KafkaError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from streams.console import (
    batch,
    claim,
    cost,
    dead_letters,
    decision,
    lists,
    live,
    page,
    query,
    relevance,
    replays,
    review,
    what_if,
)
from streams.console.context import Context, Screen
from streams.console.flow import Flow
from streams.console.follow import Feed, Follower
from streams.console.guard import Guard
from streams.console.records import Records
from streams.console.store import Store
from streams.http.server import HttpServer
from streams.kafka.clients import TlsFileError, connection
from streams.query.engine import Queries
from streams.runtime.clock import SystemClock
from streams.settings.model import HttpSettings, Settings, SettingsError

_MODULES = (live, page, batch, claim, relevance, query, dead_letters, replays, what_if, review, cost)
SCREENS: tuple[Screen, ...] = tuple(module.SCREEN for module in _MODULES)
_STATIC = Path(__file__).parent / "static"


def make_context(settings: Settings, queries: Queries | None = None) -> Context:
    """The parts of a console of these settings, which must name a Kafka cluster. Opens no connection.

    Raises:
        SettingsError: Reading needs a token, and the settings have no token.
        TlsFileError: A file of the settings can't be used.
    """
    connection(settings.kafka)
    token, reading_needs_token = settings.http.token.get_secret_value(), settings.console.reading_needs_token
    if reading_needs_token and not token:
        raise SettingsError("console.reading_needs_token needs a token: set ASSAY_HTTP__TOKEN")
    store, feed, clock = Store(settings.console.decisions), Feed(), SystemClock()
    return Context(
        settings=settings,
        store=store,
        feed=feed,
        records=Records(settings.kafka),
        follower=Follower(settings.kafka, store, feed),
        flow=Flow(settings.kafka, store, clock),
        guard=Guard(token, settings.http.allowed_hosts, reading_needs_token=reading_needs_token),
        clock=clock,
        queries=queries,
        screens=SCREENS,
    )


def make_app(context: Context) -> Any:
    """The ASGI application of a console."""

    async def not_found(request: Request, _: Exception) -> Response:
        return context.missing(request, "No such screen", f"There is nothing at {request.url.path}.")

    async def unreadable(request: Request, error: Exception) -> Response:
        what = f"Kafka can't be read: {error}"
        return context.render(request, "missing.html", 503, title="Not readable now", what=what)

    async def healthz(_: Request) -> Response:
        return PlainTextResponse("ok")

    app = Starlette(
        routes=[
            *(route for screen in context.screens for route in screen.routes(context)),
            *decision.routes(context),
            *lists.routes(context),
            Route("/healthz", healthz),
            Mount("/static", StaticFiles(directory=_STATIC)),
        ],
        exception_handlers={404: not_found, KafkaError: unreadable, TlsFileError: unreadable},
    )
    return context.guard.wrap(app)


@asynccontextmanager
async def served(context: Context, http: HttpSettings) -> AsyncIterator[str]:
    """Serves a console while the block runs; gives its address, such as ``http://127.0.0.1:8090``.

    The context is closed at the end. Raises PortTakenError.
    """
    tasks = [asyncio.create_task(work, name="console") for work in (context.follower.run(), context.flow.run())]
    try:
        async with HttpServer(make_app(context), http, "ASSAY_CONSOLE__PORT") as server:
            try:
                yield f"http://{server.address}"
            finally:
                context.feed.close()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await context.resources.aclose()
        context.store.close()
