"""One decision by its position; and what the screens of objects share: one of them by its id, and its records."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from aiokafka import ConsumerRecord
from aiokafka.errors import KafkaError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from schemas.dead import DeadLetter, dead_letter_topic
from schemas.event import Event
from schemas.llm import LlmCall
from schemas.outcome import Dead
from streams.console.context import Context
from streams.console.entries import Entry, Position
from streams.console.words import link_of
from streams.llm.journal import JournalError
from streams.llm.reports import stored_reply
from streams.topology import HANDLERS, TOPICS, handler_named, topic_named
from streams.topology.codec import decode, timestamp
from streams.views.subjects import SubjectKind
from streams.views.words import reasons_of, verdict_of

_E = TypeVar("_E", bound=Event)

Events = Sequence[tuple[Entry, Event | Dead]]
Show = Callable[[Context, Request, str, list[Entry]], Awaitable[Response]]
"""Shows an object; gets its id and the decisions about it, the newest first, of which there is at least one."""


_SHOWN_BYTES = 4096
_SHORT = 200_000  # bytes of an event that is shown as a whole
_TOPICS = frozenset(topic.name for topic in TOPICS) | {
    dead_letter_topic(handler.consumes.name, handler.group) for handler in HANDLERS
}
"""The topics whose records are shown: the cluster may have topics of other applications."""


def routes(context: Context) -> list[Route]:
    return [Route("/decision/{topic}/{partition:int}/{offset:int}", partial(_decision, context))]


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


def object_route(context: Context, path: str, kind: SubjectKind, show: Show) -> Route:
    """The screen of one object, whose id is the rest of the path; 404 if no decision about it is kept."""

    async def shown(request: Request) -> Response:
        identity = request.path_params["id"]
        if entries := context.store.of_subject(identity, kind):
            return await show(context, request, identity, entries)
        return context.missing(request, f"No such {kind}", f"No decision about the {kind} {identity} is kept.")

    return Route(path + "/{id:path}", shown)


def position_of(request: Request) -> Position:
    place = request.path_params
    return Position(place["topic"], place["partition"], place["offset"])


async def events_of(context: Context, entries: Sequence[Entry]) -> Events:
    """The events of decisions, in their order, without those that retention has deleted. Raises KafkaError."""
    reads = await context.records.events([entry.position for entry in entries])
    return [(entry, read.event) for entry in entries if (read := reads.get(entry.position)) is not None]


def first_of(events: Events, kind: type[_E]) -> _E | None:
    return next((event for _, event in events if isinstance(event, kind)), None)


async def reply_of(context: Context, call: LlmCall | None) -> str:
    """A judge's reply from the journal, or why it is not there; "" if no reply is stored."""
    if call is None or not call.call_id:
        return ""
    try:
        return (await stored_reply(context.settings.llm, call.call_id)).text
    except JournalError as error:
        return f"not available: {error}"
