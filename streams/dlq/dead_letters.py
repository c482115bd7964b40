"""Reads dead letters from their topics, selected by handler, reason, stage, key and time, with their redrives.

A dead letter that was sent again stays on its topic. A marker behind it in the same partition (``x-redriven-of``)
records that. The records are streamed, because they can be as large as pages. Dead letters of a replay are on topics of
its plan.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from typing import Any, Self

from aiokafka import ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaTimeoutError

from schemas.dead import REDRIVEN_OF, DeadLetter, dead_letter_topic, is_marker
from streams.dlq.selection import Selection
from streams.kafka.clients import make_admin, make_reader, opened
from streams.kafka.log_reader import assign_paused, await_open_transactions, records_between
from streams.settings.model import Settings
from streams.topology import HANDLERS
from streams.topology.names import replay_dead_letters


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
        self.partitions: list[tuple[str, TopicPartition]] = []
        """Handler and partition."""

    async def __aenter__(self) -> Self:
        """Finds the partitions and opens the readers: one for records, one that knows of uncommitted ones."""
        self.partitions = await self._find()
        async with AsyncExitStack() as opening:
            kafka = self._settings.kafka
            self._reader = await opening.enter_async_context(opened(make_reader(kafka)))
            self._whole = await opening.enter_async_context(opened(make_reader(kafka, uncommitted=True)))
            self._open = opening.pop_all()
        assign_paused(self._reader, [partition for _, partition in self.partitions])
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    async def settle(self, partition: TopicPartition) -> None:
        """Waits until all records that are written by now can be read: a redrive must read all markers.

        Raises:
            KafkaTimeoutError: A transaction stays open for longer than its timeout allows.
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
        """The selected ones of ``read``."""
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

    async def _find(self) -> list[tuple[str, TopicPartition]]:
        async with opened(make_admin(self._settings.kafka)) as admin:
            existing = set(await admin.list_topics())
            found = []
            for handler in HANDLERS:
                live = dead_letter_topic(handler.consumes.name, handler.group)
                name = replay_dead_letters(handler, self._plan) if self._plan else live
                topic = self._settings.kafka.topic_prefix + name
                if topic in existing and self._selection.wants(handler.name):
                    [described] = await admin.describe_topics([topic])
                    numbers = sorted(partition["partition"] for partition in described["partitions"])
                    found += [(handler.name, TopicPartition(topic, number)) for number in numbers]
            return found
