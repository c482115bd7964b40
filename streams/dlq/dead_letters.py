"""Reads dead letters from their topics, selected by handler, reason, stage, key and time, with their redrives.

A dead letter that was sent again stays on its topic. A marker behind it in the same partition (``x-redriven-of``)
records that. The records are streamed, because they can be as large as pages. Dead letters of a replay are on topics of
its plan.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing
from dataclasses import asdict, dataclass
from operator import itemgetter
from typing import Any, Self

from aiokafka import ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaTimeoutError

from schemas.dead import REDRIVEN_OF, DeadLetter, dead_letter_topic, is_marker
from streams.dlq.selection import Selection
from streams.kafka.clients import make_reader, opened
from streams.kafka.log_reader import assign_paused, await_open_transactions, existing_partitions, records_between
from streams.settings.model import Settings
from streams.topology import HANDLERS, Handler
from streams.topology.topics import replay_dead_letters


@dataclass(frozen=True, slots=True)
class DeadLetterRecord:
    """A dead letter, and the run that sent it again, or None."""

    handler: str
    record: ConsumerRecord
    note: DeadLetter
    redriven_by: str | None

    @property
    def id(self) -> str:
        """``handler/partition/offset``, by which ``assay dlq show`` finds it."""
        return f"{self.handler}/{self.record.partition}/{self.record.offset}"

    @property
    def size(self) -> int:
        return len(self.record.key or b"") + len(self.record.value or b"")


class DeadLetterReader:
    """The existing dead letter topics of the selected handlers, open for reading: ``async with``."""

    def __init__(self, settings: Settings, selection: Selection, plan: str = "") -> None:
        """Opens nothing yet; ``plan`` names a replay, and "" means live traffic."""
        self._settings = settings
        self._selection = selection
        self._plan = plan
        self._reader: Any = None
        self._whole: Any = None
        self._open = AsyncExitStack()
        self.partitions: list[tuple[str, TopicPartition]] = []  # handler and partition

    async def __aenter__(self) -> Self:
        """Finds the partitions and opens the readers: one for records, one that knows of uncommitted ones."""
        kafka = self._settings.kafka
        handlers = {
            kafka.topic_prefix + self._topic_of(handler): handler.name
            for handler in HANDLERS
            if self._selection.wants(handler.name)
        }
        self.partitions = [(handlers[at.topic], at) for at in await existing_partitions(kafka, handlers)]
        async with AsyncExitStack() as opening:
            self._reader = await opening.enter_async_context(opened(make_reader(kafka)))
            self._whole = await opening.enter_async_context(opened(make_reader(kafka, uncommitted=True)))
            self._open = opening.pop_all()
        assign_paused(self._reader, [partition for _, partition in self.partitions])
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    def _topic_of(self, handler: Handler) -> str:
        if self._plan:
            return replay_dead_letters(handler, self._plan)
        return dead_letter_topic(handler.consumes.name, handler.group)

    async def settle(self, partition: TopicPartition) -> None:
        """Waits until all records that are written by now can be read: a redrive must read all markers.

        Raises KafkaTimeoutError if a transaction stays open for longer than its timeout allows.
        """
        try:
            async with asyncio.timeout(2 * self._settings.kafka.transaction_timeout_seconds):
                await await_open_transactions(self._reader, self._whole, [partition])
        except TimeoutError:
            raise KafkaTimeoutError(f"a transaction on {partition.topic} stays open; try again later") from None

    async def start_of_last(self, partition: TopicPartition, most: int) -> int:
        """The offset of the last ``most`` offsets of a partition, or of its first record."""
        first = (await self._reader.beginning_offsets([partition]))[partition]
        end = (await self._reader.end_offsets([partition]))[partition]
        return max(int(first), int(end) - most)

    async def _redriven(self, partition: TopicPartition, start: int) -> dict[int, str]:
        """The runs of the dead letters of a partition, from an offset on, that were sent again, by offset."""
        runs: dict[int, str] = {}
        async for record in self._records(partition, start):
            if not is_marker(record.headers):
                continue
            texts = {name: (value or b"").decode("utf-8", "replace") for name, value in record.headers}
            if (offset := texts.get(REDRIVEN_OF, "")).isdecimal():
                runs[int(offset)] = texts.get("x-run", "")
        return runs

    async def read(
        self, handler: str, partition: TopicPartition, start: int = 0
    ) -> AsyncGenerator[DeadLetterRecord, None]:
        """The dead letters of a partition, from an offset to the current end, without the markers."""
        runs = await self._redriven(partition, start)
        async for record in self._records(partition, start):
            if not is_marker(record.headers):
                yield DeadLetterRecord(handler, record, DeadLetter.of(record.headers), runs.get(record.offset))

    async def selected(
        self, handler: str, partition: TopicPartition, start: int = 0
    ) -> AsyncIterator[DeadLetterRecord]:
        async for letter in self.read(handler, partition, start):
            if self._selection.means(letter):
                yield letter

    async def letter_at(self, handler: str, partition: int, offset: int) -> DeadLetterRecord | None:
        """The dead letter at an offset; None if it was purged, or its retention is over."""
        for _, at in self.partitions:
            if at.partition == partition:
                async with aclosing(self.read(handler, at, offset)) as letters:
                    letter = await anext(letters, None)
                return letter if letter is not None and letter.record.offset == offset else None
        return None

    async def _records(self, partition: TopicPartition, start: int) -> AsyncIterator[ConsumerRecord]:
        first = (await self._reader.beginning_offsets([partition]))[partition]
        end = (await self._reader.end_offsets([partition]))[partition]
        async with aclosing(records_between(self._reader, {partition: (max(first, start), end)})) as records:
            async for record in records:
                yield record


@dataclass(slots=True)
class _Count:
    waiting: int = 0
    redriven: int = 0
    bytes: int = 0
    oldest: str = ""
    newest: str = ""


class LetterCounts:
    def __init__(self) -> None:
        self._counts: defaultdict[tuple[str, str], _Count] = defaultdict(_Count)

    def add(self, letter: DeadLetterRecord) -> None:
        count, died = self._counts[letter.handler, letter.note.reason], letter.note.died_at
        count.redriven += letter.redriven_by is not None
        count.waiting += letter.redriven_by is None
        count.bytes += letter.size
        count.oldest, count.newest = min(count.oldest or died, died), max(count.newest, died)

    @property
    def waiting(self) -> int:
        return sum(count.waiting for count in self._counts.values())

    def rows(self, *, everything: bool = False) -> list[dict[str, Any]]:
        """A row for each handler and reason; unless ``everything``, only those with waiting letters."""
        return [
            {"handler": handler, "reason": reason, **asdict(count)}
            for (handler, reason), count in sorted(self._counts.items(), key=itemgetter(0))
            if everything or count.waiting
        ]


def described(letter: DeadLetterRecord) -> dict[str, Any]:
    note = letter.note
    return {
        "id": letter.id,
        "reason": note.reason,
        "stage": note.stage,
        "error": note.error,
        "died_at": note.died_at,
        "from": f"{note.topic}/{note.partition}/{note.offset}",
        "root_id": note.root_id,
        "key": None if letter.record.key is None else letter.record.key.decode("utf-8", "replace"),
        "bytes": note.original_size or letter.size,
        "redriven_by": letter.redriven_by,
    }


def header_texts(letter: DeadLetterRecord) -> dict[str, str | None]:
    return {
        name: None if value is None else value.decode("utf-8", "backslashreplace")
        for name, value in letter.record.headers
    }


def shown_value(value: bytes, most: int) -> Any:
    """The beginning of a value: text where it is text, else base64."""
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": b64encode(value[:most]).decode()}
    return text[:most] + ("…" if len(text) > most else "")
