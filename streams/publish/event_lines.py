"""Reads events from lines: bare events, lines of ``assay tail --json`` and lines of ``assay try``.

One line is held at a time, and a line that is longer than any topic takes is never held.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from schemas.event import Event
from schemas.outcome import Dead, DeadReason, Drop, DropReason
from streams.publish.entries import Refused
from streams.publish.lines import Line, too_long
from streams.publish.sources import read
from streams.topology import Topic
from streams.topology.codec import decode

_OF_TRY = b'{"outcome":'
_OF_TAIL = b'{"topic":'  # The beginnings of the lines that these commands write. Other lines are not parsed here.


class LineEvent(NamedTuple):
    """An event of a line."""

    place: str
    # The event; Dead with the reason if it cannot be read; Drop for a line of ``assay try`` without an event of the
    # topic.
    event: Event | Dead | Drop
    value: bytes = b""  # the JSON that was read; the line for Drop
    identity: str = ""  # the event's id, or its place on the topic; "" if the line has neither

    @property
    def content_identity(self) -> str:
        """The identity, or a digest of the value, which does not depend on the order of its keys."""
        if self.identity:
            return self.identity
        document = json.loads(self.value)
        return sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()

    @property
    def problem(self) -> str:
        """Why the line has no event of the topic; "" if it has one."""
        if isinstance(self.event, Dead):
            return f"{self.event.reason}: {self.event.detail}"
        return "the line of `assay try` has no event of this topic" if isinstance(self.event, Drop) else ""


def events_of(line: Line, topic: Topic) -> Iterator[LineEvent]:
    if line.content is None:
        yield LineEvent(line.place, too_long())
        return
    content = line.content.rstrip(b"\r\n")
    values = values_in(content, topic)
    for value, identity in values:
        yield LineEvent(line.place, decode(topic, value, (), None), value, identity)
    if not values:
        yield LineEvent(line.place, Drop(DropReason.NOTHING_TO_DO), content)


def read_pages(path: Path, topic: Topic, passed: Counter[str] | None = None) -> Iterator[LineEvent]:
    """The events of whatever ``assay publish`` takes for a topic; see ``read``. Raises SourceError."""
    for entry in read(path, topic, passed=passed):
        record = entry.record(topic)
        if isinstance(record, Refused):
            yield LineEvent(entry.place, Dead(DeadReason.INVALID, record.reason))
        elif record is not None:
            yield LineEvent(entry.place, decode(topic, record.value, record.headers, None))


def values_in(line: bytes, topic: Topic | None = None) -> list[tuple[bytes, str]]:
    """The JSON of the events in a line, each with its id or its place on a topic, or "".

    The line itself is the event unless ``assay tail --json`` or ``assay try`` has written it. Events of ``assay try``
    on other topics are left out, unless the topic is None.
    """
    if line.startswith((_OF_TRY, _OF_TAIL)):
        try:
            document = json.loads(line)
            if {"outcome", "reason", "events"} <= document.keys() <= {"outcome", "reason", "detail", "events"}:
                wanted = [event for event in document["events"] if topic is None or event["topic"] == topic.name]
                return [(json.dumps(event["value"]).encode(), "") for event in wanted]
            if {"topic", "offset", "value"} <= document.keys():
                place = f"{document['topic']}/{document.get('partition')}/{document['offset']}"
                identity = (document.get("headers") or {}).get("ce_id")
                return [(json.dumps(document["value"]).encode(), str(identity or place))]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass
    return [(line, "")]
