"""Reads records, and shows one decision by its position, or one object by its id; texts are not in the store."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from aiokafka import ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError, KafkaTimeoutError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from handlers.html.links import canonical_url
from schemas.dead import DeadLetter, dead_letter_topic
from schemas.event import Event
from schemas.llm import LlmCall
from schemas.outcome import Dead
from streams.console.entries import Entry, Position, time_of
from streams.console.words import link_of
from streams.kafka.lookups import read_newest_first, record_reader
from streams.kafka.settings import KafkaSettings
from streams.llm.journal import JournalError
from streams.llm.reports import stored_reply
from streams.topology import HANDLERS, PAGES_CRAWLED, TOPICS, Topic, handler_named, topic_named
from streams.topology.codec import decode, timestamp
from streams.views.words import SubjectKind, reasons_of, verdict_of

if TYPE_CHECKING:
    from streams.console.context import Context

_SEARCH_SECONDS = 8.0  # a page that was crawled once would otherwise be searched in the whole partition


@dataclass(frozen=True, slots=True)
class Read:
    """A record with its event, or why it has none."""

    position: Position
    at: datetime
    headers: dict[str, str]
    event: Event | Dead


class Records:
    """The records of a cluster. Every method opens a reader and raises KafkaError if the cluster can't be read."""

    def __init__(self, kafka: KafkaSettings) -> None:
        self._kafka = kafka

    async def at(self, position: Position) -> ConsumerRecord | None:
        """The raw record at a position; None if retention has deleted it."""
        return next(iter((await self._raw([position])).values()), None)

    async def events(self, positions: Collection[Position]) -> dict[Position, Read]:
        """The events at positions; those that retention has deleted, and dead letters, are missing."""
        records = (await self._raw(positions)).items()
        topics = {topic.name: topic for topic in TOPICS}
        return {at: self._read(topics[at.topic], record) for at, record in records if at.topic in topics}

    async def newest(self, topic: Topic, keys: Collection[bytes], most: int) -> list[Read]:
        """The newest records with one of the keys, as far back as a few seconds of reading reach.

        Raises KafkaError, also if nothing was found in that time: there may be one further back.
        """
        found: list[Read] = []
        try:
            async with (
                asyncio.timeout(_SEARCH_SECONDS),
                aclosing(read_newest_first(self._kafka, {topic.name: keys}, None)) as steps,
            ):
                async for records in steps:
                    found += [self._read(topic, record) for record in records[: most - len(found)]]
                    if len(found) >= most:
                        break
        except TimeoutError:
            if not found:
                raise KafkaTimeoutError(f"no record of this key was found in {_SEARCH_SECONDS:g} s") from None
        return found

    async def crawled(self, url: str, most: int) -> list[Read]:
        """The newest crawled records of a page, under both spellings of its address, as ``newest`` finds them."""
        keys = {spelling.encode() for spelling in (url, canonical_url(url)) if spelling}
        return await self.newest(PAGES_CRAWLED, keys, most)

    async def _raw(self, positions: Collection[Position]) -> dict[Position, ConsumerRecord]:
        prefix = self._kafka.topic_prefix
        places = {(TopicPartition(prefix + its.topic, its.partition), its.offset): its for its in positions}
        async with record_reader(self._kafka, [partition for partition, _ in places]) as reader:
            return {places[place]: record for place, record in (await reader.several(places)).items()}

    def _read(self, topic: Topic, record: ConsumerRecord) -> Read:
        name = record.topic.removeprefix(self._kafka.topic_prefix)
        headers = {key: value.decode("utf-8", "replace") for key, value in record.headers if value is not None}
        event = decode(topic, record.value, record.headers, timestamp(record.timestamp), record.key)
        return Read(Position(name, record.partition, record.offset), time_of(record.timestamp), headers, event)


_E = TypeVar("_E", bound=Event)

Events = Sequence[tuple[Entry, Event | Dead]]
Show = Callable[["Context", Request, str, list[Entry]], Awaitable[Response]]
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
