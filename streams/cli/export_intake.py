"""What the exports share: their options, the events of a topic, refusals, and the file that they write."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from aiokafka import TopicPartition

from schemas.event import Event
from streams.cli.output import Refusals, tell
from streams.cli.progress import ProgressLine
from streams.cli.tail import is_start
from streams.kafka.clients import make_reader, opened
from streams.kafka.log_reader import assign_paused, records_between, spans_from
from streams.kafka.settings import KafkaSettings
from streams.publish.event_lines import LineEvent
from streams.topology import Topic
from streams.topology.codec import decode, timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """What is exported, and where to; ``start`` is ``earliest``, ``latest`` or an offset."""

    start: str = "earliest"
    most: int | None = None
    output: Path | None = None
    newest: bool = False
    source: Path | None = None

    @property
    def quiet(self) -> bool:
        """Whether progress would appear among the rows."""
        return self.output is None and sys.stdout.isatty()


def refused_start(options: ExportOptions) -> int:
    """Reports an impossible ``--from``; returns the exit status, 0 if it is possible."""
    if is_start(options.start):
        return 0
    return tell("export", f"--from takes earliest, latest or an offset, not {options.start!r}", 2)


class Intake:
    """Takes the events of a topic, and reports and counts what is not one."""

    def __init__(self, most: int | None) -> None:
        """Takes the value of ``--max``."""
        self._most = most
        self._read = 0
        self.refusals = Refusals("export")

    def event(self, found: LineEvent) -> Event | None:
        """The event; None for anything else, which is reported."""
        self._read += 1
        if isinstance(found.event, Event):
            return found.event
        self.refusals.add(f"{found.place}: {found.problem}")
        return None

    @property
    def full(self) -> bool:
        """Whether ``--max`` is reached."""
        return self._read == self._most


async def topic_events(
    topic: Topic, kafka: KafkaSettings, partitions: list[TopicPartition], options: ExportOptions
) -> AsyncGenerator[LineEvent, None]:
    """The committed records of a topic from the options' start to the current end, with the progress."""
    async with opened(make_reader(kafka)) as reader:
        assign_paused(reader, partitions)
        spans = await spans_from(reader, partitions, options.start)
        left = {partition: end - start for partition, (start, end) in spans.items()}
        total = sum(left.values())
        # The ends are those of committed records, so only a silent cluster delays them.
        patience = kafka.transaction_timeout_seconds
        with ProgressLine(
            "export", "exporting", total, at=lambda: total - sum(left.values()), quiet=options.quiet
        ) as advance:
            async with contextlib.aclosing(records_between(reader, spans, patience_seconds=patience)) as records:
                async for record in records:
                    event = decode(topic, record.value, record.headers, timestamp(record.timestamp))
                    yield LineEvent(f"{record.partition}/{record.offset}", event)
                    partition = TopicPartition(record.topic, record.partition)
                    left[partition] = spans[partition][1] - record.offset - 1
                    advance()


class FileError(Exception):
    """A file can't be read or written; the text says which and why."""


@contextlib.contextmanager
def written(output: Path | None) -> Iterator[BinaryIO]:
    """A file, an existing device or pipe, or standard output where None; an exception removes the unfinished file.

    Raises:
        FileError: The output cannot be written.
        BrokenPipeError: The reader of standard output has gone.
    """
    try:
        if output is None:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        elif output.exists() and not output.is_file():
            with output.open("wb") as target:
                yield target
        else:
            yield from _replaced(output.resolve())
    except BrokenPipeError:
        raise
    except OSError as error:
        raise FileError(f"{output or 'standard output'}: {error.strerror or error}") from None


def _replaced(output: Path) -> Iterator[BinaryIO]:
    part = output.with_name(f".{output.name[:200]}.{os.getpid()}.part")
    try:
        with part.open("xb") as target:
            yield target
            target.flush()
            os.fsync(target.fileno())
        part.replace(output)
    finally:
        part.unlink(missing_ok=True)
