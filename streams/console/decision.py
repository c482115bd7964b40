"""One decision by its position, and the sign-in: what is no screen of the navigation."""

from __future__ import annotations

from functools import partial
from typing import Any

from aiokafka import ConsumerRecord
from aiokafka.errors import KafkaError
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from schemas.dead import DeadLetter, dead_letter_topic
from schemas.event import Event
from schemas.outcome import Dead
from streams.console.context import Context
from streams.console.entries import Position
from streams.console.guard import COOKIE, form_too_large
from streams.console.objects import position_of
from streams.console.words import link_of
from streams.topology import HANDLERS, TOPICS, handler_named, topic_named
from streams.topology.codec import decode, timestamp
from streams.views.words import reasons_of, verdict_of

_SHOWN_BYTES = 4096
_SHORT = 200_000
"""Bytes of an event that is shown as a whole."""
_MAX_FORM = 4000
_TOPICS = frozenset(topic.name for topic in TOPICS) | {
    dead_letter_topic(its.consumes.name, its.group) for its in HANDLERS
}
"""The topics whose records are shown: the cluster may have topics of other applications."""


def routes(context: Context) -> list[Route]:
    """The routes beside those of the screens."""
    return [
        Route("/decision/{topic}/{partition:int}/{offset:int}", partial(_decision, context)),
        Route("/state", partial(_state, context)),
        Route("/sign-in", partial(_sign_in, context), methods=["GET", "POST"]),
        Route("/sign-out", _sign_out, methods=["POST"]),
    ]


async def _decision(context: Context, request: Request) -> Response:
    position = position_of(request)
    if position.topic not in _TOPICS:
        return context.missing(request, "No such decision", f"{position.topic} is no topic of Assay.")
    entry = context.store.at(position)
    record, problem = None, ""
    try:
        record = await context.records.at(position)
    except KafkaError as error:
        if entry is None:
            raise
        problem = f"Kafka can't be read: {error}"
    if record is None and entry is None:
        gone = f"{position.topic} has no record at this position any more."
        return context.missing(request, "No such decision", gone)
    shown = _shown(context, position, record) if record is not None else {"record": None}
    shown |= {"position": position, "entry": entry, "problem": problem, "link": link_of(entry) if entry else ""}
    return context.render(request, "decision.html", **shown)


def _shown(context: Context, position: Position, record: ConsumerRecord) -> dict[str, Any]:
    topic, value = topic_named(position.topic), record.value or b""
    event: Event | DeadLetter | Dead = DeadLetter.of(record.headers)
    if topic is not None:
        event = decode(topic, record.value, record.headers, timestamp(record.timestamp), record.key)
    headers = [(name, (text or b"").decode("utf-8", "replace")) for name, text in record.headers]
    source = dict(headers).get("ce_source", "").removeprefix("assay/")
    version = getattr(event, "config_version", None)
    return {
        "record": record,
        "config_version": version,
        "verdict": verdict_of(event),
        "reasons": reasons_of(event),
        "wire": event.to_wire() if isinstance(event, Event) and 0 < len(value) < _SHORT else None,
        "start": value[:_SHOWN_BYTES].decode("utf-8", "replace"),
        "size": len(value),
        "headers": headers,
        "other_rules": context.other_rules(handler_named(source or getattr(event, "handler", "")), version),
    }


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
