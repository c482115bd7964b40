"""Reads events from lines: bare events, lines of ``assay tail --json`` and lines of ``assay try``.

One line is held at a time, and a line that is longer than any topic takes is never held.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO, NamedTuple

from schemas.event import Event
from schemas.outcome import Dead, DeadReason, Drop, DropReason
from streams.cli.progress import ProgressLine
from streams.publish.sources import lines_of
from streams.topology import TOPIC_BYTES, Topic
from streams.topology.codec import decode

STANDARD_INPUT = Path("-")
_OF_TRY = b'{"outcome":'
_OF_TAIL = b'{"topic":'
"""The beginnings of the lines that these commands write. Other lines are not parsed here."""


class LineEvent(NamedTuple):
    """An event of a line.

    Attributes:
        place: The file and the line number.
        event: The event; Dead with the reason if it cannot be read; Drop for a line of ``assay try`` without an event
            of the topic.
        value: The JSON that was read.
        identity: The event's id, or its place on the topic; "" if the line has neither.
    """

    place: str
    event: Event | Dead | Drop
    value: bytes = b""
    identity: str = ""

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


@contextmanager
def open_lines(command: str, file: Path | None, *, quiet: bool = False) -> Iterator[Iterator[bytes | Dead]]:
    """The lines of a file, with the command's progress unless ``quiet``; None and ``-`` are standard input.

    Raises:
        OSError: The file cannot be read.
    """
    if file is None or file == STANDARD_INPUT:
        yield read_lines(sys.stdin.buffer)
        return
    with file.open("rb") as source:
        size = file.stat().st_size if file.is_file() else 0
        with ProgressLine(
            command, f"reading {file.name}", size, unit="lines", at=source.tell if size else None, quiet=quiet
        ) as advance:
            yield _counted(read_lines(source), advance)


def _counted(lines: Iterator[bytes | Dead], advance: ProgressLine) -> Iterator[bytes | Dead]:
    for line in lines:
        yield line
        advance()


def read_lines(source: IO[bytes]) -> Iterator[bytes | Dead]:
    """The lines without their ends; Dead for a line that is longer than any topic takes."""
    for line in lines_of(source, TOPIC_BYTES):
        if isinstance(line, int):
            yield Dead(DeadReason.TOO_LARGE, f"the line is longer than {TOPIC_BYTES} bytes")
        else:
            yield line.rstrip(b"\r\n")


def read_events(name: str, lines: Iterable[bytes | Dead], topic: Topic) -> Iterator[LineEvent]:
    """The events of a topic in the lines of a file; blank lines are skipped."""
    for number, line in enumerate(lines, 1):
        place = f"{name}:{number}"
        if isinstance(line, Dead):
            yield LineEvent(place, line)
        elif line.strip():
            values = values_in(line, topic)
            for value, identity in values:
                yield LineEvent(place, decode(topic, value, (), None), value, identity)
            if not values:
                yield LineEvent(place, Drop(DropReason.NOTHING_TO_DO))


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
