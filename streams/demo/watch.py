"""Reads all committed records of an installation into a tally."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from aiokafka import ConsumerRecord, TopicPartition

from schemas.dead import DeadLetter, dead_letter_topic
from schemas.event import Provenance
from schemas.outcome import Dead
from streams.demo.tally import Tally, Trace
from streams.kafka.log_reader import follow
from streams.pipeline.drain import high_watermarks
from streams.settings.model import Settings
from streams.topology import HANDLERS, TOPICS
from streams.topology.codec import decode, timestamp


class Watch:
    """Follows every topic, ``read_committed``, from its beginning."""

    def __init__(self, settings: Settings, tally: Tally) -> None:
        """Takes the installation and the tally."""
        prefix = settings.kafka.topic_prefix
        self._kafka = settings.kafka
        self._tally = tally
        self._topics = {prefix + topic.name: topic for topic in TOPICS}
        self._dead = {prefix + dead_letter_topic(handler.consumes.name, handler.group) for handler in HANDLERS}
        self._positions: dict[TopicPartition, int] = {}
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begins to read. Raises KafkaError."""
        lists = follow(self._kafka, {*self._topics, *self._dead}, "earliest", positions=self._positions)
        await anext(lists)
        self._task = asyncio.create_task(self._follow(lists), name="demo watch")

    async def stop(self) -> None:
        """Stops reading."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def catch_up(self) -> None:
        """Waits until all records that are written by now are read; open transactions must end first.

        Raises:
            Exception: The reading failed.
        """
        # The readable end could miss a commit that was confirmed a moment ago.
        ends = await high_watermarks(self._kafka, [*self._positions])
        behind = True
        while behind:
            await asyncio.sleep(0.05)
            if self._task is not None and self._task.done():
                self._task.result()
            behind = any(self._positions[at] < end for at, end in ends.items())

    async def _follow(self, lists: AsyncGenerator[list[ConsumerRecord], None]) -> None:
        async with aclosing(lists):
            async for records in lists:
                for record in records:
                    self._see(record)

    def _see(self, record: ConsumerRecord) -> None:
        if record.topic in self._dead:
            self._tally.see_dead(DeadLetter.of(record.headers))
            return
        topic = self._topics[record.topic]
        event = decode(topic, record.value, record.headers, timestamp(record.timestamp), record.key)
        if isinstance(event, Dead):
            # An unreadable record is an input too.
            self._tally.account.see(topic, _trace(record))
        else:
            self._tally.see(event, _trace(record))


def _trace(record: ConsumerRecord) -> Trace:
    here = f"{record.topic}/{record.partition}/{record.offset}"
    texts = {name: value.decode("utf-8", "replace") for name, value in record.headers if value is not None}
    writer = texts.get("ce_source", "").removeprefix("assay/")
    return Trace(Provenance.of(record.headers, here).identity, texts.get("ce_causationid", ""), writer)
