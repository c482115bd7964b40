"""One decision by its position, the search for a subject, and the sign-in: what is no screen of the navigation."""

from __future__ import annotations

from typing import Any

from aiokafka.errors import KafkaError
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from schemas.dead import DeadLetter, dead_letter_topic
from schemas.event import Event
from schemas.outcome import Dead
from streams.console.context import Context
from streams.console.entries import Position
from streams.console.guard import COOKIE, form_too_large
from streams.console.words import link_of, page_path
from streams.topology import HANDLERS, TOPICS, handler_named, topic_named
from streams.topology.codec import decode, timestamp
from streams.views.subjects import WEB
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
    its = _Beside(context)
    return [
        Route("/decision/{topic}/{partition:int}/{offset:int}", its.decision),
        Route("/decision/{topic}/{partition:int}/{offset:int}/line", its.line),
        Route("/find", its.find),
        Route("/state", its.state),
        Route("/sign-in", its.sign_in, methods=["GET", "POST"]),
        Route("/sign-out", its.sign_out, methods=["POST"]),
    ]


class _Beside:
    def __init__(self, context: Context) -> None:
        self._context = context

    async def decision(self, request: Request) -> Response:
        its = request.path_params
        position = Position(its["topic"], its["partition"], its["offset"])
        if position.topic not in _TOPICS:
            return self._context.missing(request, "No such decision", f"{position.topic} is no topic of Assay.")
        entry = self._context.store.at(position)
        record, problem = None, ""
        try:
            record = await self._context.records.at(position)
        except KafkaError as error:
            if entry is None:
                raise
            problem = f"Kafka can't be read: {error}"
        if record is None and entry is None:
            gone = f"{position.topic} has no record at this position any more."
            return self._context.missing(request, "No such decision", gone)
        values: dict[str, Any] = {"position": position, "entry": entry, "problem": problem, "record": None}
        if record is not None:
            topic = topic_named(position.topic)
            event: Event | DeadLetter | Dead = (
                DeadLetter.of(record.headers)
                if topic is None
                else decode(topic, record.value, record.headers, timestamp(record.timestamp))
            )
            headers = [(name, (value or b"").decode("utf-8", "replace")) for name, value in record.headers]
            source = dict(headers).get("ce_source", "").removeprefix("assay/")
            handler = handler_named(source or getattr(event, "handler", ""))
            version = getattr(event, "config_version", None)
            values |= {
                "record": record,
                "config_version": version,
                "verdict": verdict_of(event),
                "reasons": reasons_of(event),
                "wire": event.to_wire()
                if isinstance(event, Event) and record.value and len(record.value) < _SHORT
                else None,
                "start": (record.value or b"")[:_SHOWN_BYTES].decode("utf-8", "replace"),
                "size": len(record.value or b""),
                "headers": headers,
                "other_rules": self._context.other_rules(handler, version),
            }
        return self._context.render(request, "decision.html", link=link_of(entry) if entry else "", **values)

    async def line(self, request: Request) -> Response:
        """The decision as one line of text, for a dot that is pointed at."""
        its = request.path_params
        entry = self._context.store.at(Position(its["topic"], its["partition"], its["offset"]))
        return PlainTextResponse(f"{entry.subject[:120]}: {entry.verdict}" if entry else "", 200 if entry else 404)

    async def state(self, request: Request) -> Response:
        """Whether the console follows the topics."""
        return self._context.render(request, "state.html")

    async def find(self, request: Request) -> Response:
        """The screen of an address or an id."""
        wanted = request.query_params.get("q", "").strip()
        if wanted.startswith(WEB):
            return RedirectResponse(page_path(wanted), 303)
        entries = self._context.store.of_subject(wanted)
        targets = {link_of(entry) for entry in entries}
        if len(targets) == 1:
            return RedirectResponse(targets.pop(), 303)
        return self._context.render(request, "find.html", 200 if entries else 404, wanted=wanted, entries=entries)

    async def sign_in(self, request: Request) -> Response:
        """Sets the cookie that allows actions."""
        wrong = False
        if request.method == "POST":
            if (refused := form_too_large(request, _MAX_FORM)) is not None:
                return refused
            async with request.form() as form:
                response = RedirectResponse(_own_path(str(form.get("next", "/"))), 303)
                given = str(form.get("token", ""))
            if self._context.guard.sign_in(response, given, secure=request.url.scheme == "https"):
                return response
            wrong = True
        closed = self._context.guard.reading_needs_token
        following = _own_path(request.query_params.get("next", "/"))
        return self._context.render(
            request, "sign_in.html", 401 if wrong else 200, wrong=wrong, following=following, closed=closed
        )

    async def sign_out(self, request: Request) -> Response:
        """Removes the cookie."""
        del request
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
