"""A run's entries on their way to Kafka: one transaction under way, and what is read meanwhile waits for the next.

Entries go in one by one, records and positions become visible in whole transactions. How many one holds follows from
how long the one before it took, so a slow source is passed on at once and a fast one in large, bounded pieces.
"""

from __future__ import annotations

import asyncio

from streams.backfill.position import Position
from streams.backfill.run_log import RunLog
from streams.codec import OutputRecord
from streams.settings import PipelineSettings


class RunSending:
    """Commits the entries of a run that is open.

    Attributes:
        committed: The position that Kafka has.
        failure: Why nothing more can be sent; None while all is well.
    """

    def __init__(self, log: RunLog, committed: Position, entries: int, settings: PipelineSettings) -> None:
        """Takes up a run.

        Args:
            log: Where the run is kept; open.
            committed: The position that it has.
            entries: Entries of the run up to there.
            settings: How large a transaction may be.
        """
        self.committed = committed
        self.failure: BaseException | None = None
        self._log = log
        self._settings = settings
        self._count = entries
        self._read = committed
        self._waiting: list[OutputRecord] = []
        self._bytes = 0
        self._some = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._ended = False
        self._task = asyncio.create_task(self._work(), name="backfill")

    async def passed(self, record: OutputRecord | None, position: Position) -> None:
        """Takes an entry; waits while enough others do.

        Args:
            record: What is to be sent; None for an entry that was refused or holds nothing.
            position: The position after the entry.

        Raises:
            RunTakenError, KafkaError, TimeoutError: See ``RunLog.commit``; nothing more can be sent.
        """
        await self._room.wait()
        if self.failure is not None:
            raise self.failure
        self._count += 1
        self._read = position
        if record is not None:
            self._waiting.append(record)
            self._bytes += record.size
        if len(self._waiting) >= self._settings.commit_records or self._bytes >= self._settings.commit_bytes:
            self._room.clear()
        self._some.set()

    async def stop(self) -> None:
        """Commits what was taken, and closes. What went wrong stands in ``failure``."""
        self._ended = True
        self._some.set()
        await self._task
        await self._log.close()

    async def _work(self) -> None:
        try:
            while not self._ended or self._read != self.committed:
                await self._some.wait()
                self._some.clear()
                await self._commit()
        except Exception as error:
            self.failure = error
        finally:
            self._room.set()

    async def _commit(self) -> None:
        records, position, count = self._waiting, self._read, self._count
        if position == self.committed:
            return
        self._waiting, self._bytes = [], 0
        self._room.set()
        await self._log.commit(records, self.committed, position, count)
        self.committed = position
