"""The console's web application: its screens, and what holds for every request and every answer.

A screen is in a module of this package and has a template. Navigation, keys and the help derive from ``SCREENS``.

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
from functools import partial
from pathlib import Path
from typing import Any

from aiokafka.errors import KafkaError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from streams.console import batch, cost, dead_letters, judgments, lists, live, objects, page, replays, review, what_if
from streams.console.context import Context, Screen
from streams.console.follow import Feed, Flow, Follower
from streams.console.guard import COOKIE, Guard, form_too_large
from streams.console.objects import Records
from streams.console.store import Store
from streams.http.server import HttpServer
from streams.kafka.clients import TlsFileError, connection
from streams.query.engine import Queries
from streams.runtime.clock import SystemClock
from streams.settings.model import HttpSettings, Settings, SettingsError

SCREENS: tuple[Screen, ...] = (
    live.SCREEN, page.SCREEN, batch.SCREEN, *judgments.SCREENS, dead_letters.SCREEN, replays.SCREEN,
    what_if.SCREEN, review.SCREEN, cost.SCREEN,
)  # fmt: skip
_MAX_FORM = 4000
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
            *objects.routes(context),
            *lists.routes(context),
            Route("/state", partial(_state, context)),
            Route("/sign-in", partial(_sign_in, context), methods=["GET", "POST"]),
            Route("/sign-out", _sign_out, methods=["POST"]),
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


async def _state(context: Context, request: Request) -> Response:
    return context.render(request, "state.html")


async def _sign_in(context: Context, request: Request) -> Response:
    refused = None
    if request.method == "POST":
        if (too_large := form_too_large(request, _MAX_FORM)) is not None:
            return too_large
        async with request.form() as form:
            response = RedirectResponse(_own_path(str(form.get("next", "/"))), 303)
            given = str(form.get("token", ""))
        if (refused := context.guard.sign_in(request, response, given)) is None:
            return response
    following = _own_path(request.query_params.get("next", "/"))
    closed = context.guard.reading_needs_token
    status = refused.status if refused else 200
    page = context.render(request, "sign_in.html", status, refused=refused, following=following, closed=closed)
    page.headers.update(refused.headers if refused else {})
    return page


async def _sign_out(_: Request) -> Response:
    response = RedirectResponse("/", 303)
    response.delete_cookie(COOKIE)
    return response


def _own_path(text: str) -> str:
    r"""A path of this server; ``/`` for anything else, such as the address of another site.

    >>> _own_path("/page?url=x"), _own_path("//evil.example"), _own_path("https://evil.example"), _own_path("/\\evil")
    ('/page?url=x', '/', '/', '/')
    """
    good = text.startswith("/") and not text.startswith(("//", "/\\")) and text.isprintable()
    return text if good else "/"
