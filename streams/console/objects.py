"""What the screens of objects share: one of them by its id, and its records."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from schemas.event import Event
from schemas.llm import LlmCall
from schemas.outcome import Dead
from streams.console.context import Context
from streams.console.entries import Entry, Position
from streams.llm.journal import JournalError
from streams.llm.reports import stored_reply
from streams.views.subjects import SubjectKind

_E = TypeVar("_E", bound=Event)

Events = Sequence[tuple[Entry, Event | Dead]]
Show = Callable[[Context, Request, str, list[Entry]], Awaitable[Response]]
"""Shows an object; gets its id and the decisions about it, the newest first, of which there is at least one."""


def object_route(context: Context, path: str, kind: SubjectKind, show: Show) -> Route:
    """The screen of one object, whose id is the rest of the path; 404 if no decision about it is kept."""

    async def shown(request: Request) -> Response:
        identity = request.path_params["id"]
        if entries := context.store.of_subject(identity, kind):
            return await show(context, request, identity, entries)
        return context.missing(request, f"No such {kind}", f"No decision about the {kind} {identity} is kept.")

    return Route(path + "/{id:path}", shown)


def position_of(request: Request) -> Position:
    """The position that the path of a request names."""
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
