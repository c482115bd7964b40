"""Commits of one input partition, each to the point where it is certain what is committed.

A commit stage may leave a doubt: the broker answered too late, or not at all. Then the stage is closed and opened anew,
which settles the transaction one way or the other, and the group's committed offset is read and believed. Invariant:
after ``open`` and after ``commit`` nothing of ours is pending, and the offset returned is the group's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import structlog
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from streams.clock import Clock
from streams.codec import OutputRecord
from streams.pipeline.commit import CommitDoubtError, CommitStage, OutputRefusedError
from streams.pipeline.consumer import CountingConsumer
from streams.pipeline.observer import Observer

log = structlog.get_logger(__name__)

_PAUSES_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Between tries to open a stage, and between commits that fail; the last one repeats."""


@dataclass(frozen=True, slots=True)
class Settled:
    """How a commit ended: the group's offset now, and why an output was refused, if one was."""

    offset: int
    refused: str = ""


class CertainCommits:
    """A commit stage that is opened as often as it takes."""

    def __init__(
        self,
        partition: TopicPartition,
        consumer: CountingConsumer,
        stage: CommitStage,
        clock: Clock,
        observer: Observer,
    ) -> None:
        """Prepares; nothing is opened yet."""
        self._partition = partition
        self._consumer = consumer
        self._stage = stage
        self._clock = clock
        self._observer = observer
        self._failures = 0
        self._known: int | None = None
        self.failing_since: float | None = None
        """Since when commits fail; None where they don't."""

    async def open(self) -> int:
        """Opens the stage, as often as it takes. Returns the committed offset, else the first there is."""
        for attempt in count():
            try:
                committed = await self._stage.open()
                if committed is None:
                    beginning = await self._consumer.beginning_offsets([self._partition])
                    committed = int(beginning[self._partition])
            except (KafkaError, TimeoutError, OSError) as error:
                log.warning("partition not opened yet", partition=str(self._partition), error=str(error) or repr(error))
                await self._stage.close()
                await self._pause(attempt)
            else:
                self._known = committed
                return committed
        raise AssertionError("count() has no end")

    async def commit(self, outputs: Sequence[OutputRecord], next_offset: int) -> Settled:
        """One commit, and after a doubt the truth about it. A stage that is worn out is replaced."""
        began = self._clock.monotonic()
        try:
            await self._stage.commit(outputs, next_offset)
        except CommitDoubtError as doubt:
            self._observer.committed("in_doubt", self._clock.monotonic() - began)
            log.warning("commit in doubt", partition=str(self._partition), outputs=len(outputs), error=str(doubt))
            return await self._find_out(doubt)
        self._observer.committed("committed", self._clock.monotonic() - began)
        self.failing_since, self._failures, self._known = None, 0, next_offset
        if self._stage.worn:
            await self._stage.close()
            return Settled(await self.open())
        return Settled(next_offset)

    async def close(self) -> None:
        """Lets go; never raises."""
        await self._stage.close()

    async def _find_out(self, doubt: CommitDoubtError) -> Settled:
        if self.failing_since is None:
            self.failing_since = self._clock.monotonic()
        await self._stage.close()
        if self._failures:
            # The second failure in a row: what doesn't pass by itself must not keep the broker busy.
            await self._pause(self._failures - 1)
        self._failures += 1
        before = self._known
        committed = await self.open()
        if committed != before:
            # It was committed after all, or somebody else has moved the offset: what failed is not to be done again.
            self.failing_since, self._failures = None, 0
        return Settled(committed, refused=str(doubt) if isinstance(doubt, OutputRefusedError) else "")

    async def _pause(self, number: int) -> None:
        await self._clock.sleep(_PAUSES_SECONDS[min(number, len(_PAUSES_SECONDS) - 1)])
