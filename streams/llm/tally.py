"""Counts calls of models by day and model, and adds the counts to the journal every few seconds.

A process that is killed loses the counts of the last seconds; costs and answers are kept before a caller gets them.
"""

from __future__ import annotations

import asyncio
from datetime import UTC

import structlog

from streams.clock import Clock
from streams.llm.journal import AnswerJournal, DayCalls, JournalError

log = structlog.get_logger(__name__)

_WRITE_SECONDS = 2.0
"""Between two writes: a write for each cached answer would take longer than the answer."""


class CallTally:
    """The counts of this process that are not in the journal yet."""

    def __init__(self, journal: AnswerJournal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock
        self._counts: dict[tuple[str, str], DayCalls] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._writing: set[asyncio.Task[None]] = set()

    def add(self, model: str, *, requested: int = 0, cached: int = 0, refused: int = 0, usd: float = 0.0) -> None:
        """Adds to the counts of a model on the present day (UTC)."""
        day = self._clock.now().astimezone(UTC).date().isoformat()
        more = DayCalls(day, model, requested, cached, refused, usd)
        before = self._counts.get((day, model))
        self._counts[day, model] = more if before is None else before.plus(more)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_WRITE_SECONDS, self._begin_to_write)

    async def aclose(self) -> None:
        """Writes the rest."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        await asyncio.gather(*self._writing)
        await self._write()

    def _begin_to_write(self) -> None:
        self._timer = None
        writing = asyncio.create_task(self._write(), name="call counts")
        self._writing.add(writing)
        writing.add_done_callback(self._writing.discard)

    async def _write(self) -> None:
        counts, self._counts = list(self._counts.values()), {}
        if not counts:
            return
        try:
            await self._journal.count(counts)
        except JournalError as error:
            # Answers and costs have their own errors; counts are for people, so no answer waits for them.
            log.warning(
                "the counts of model calls are lost", calls=sum(its.requested for its in counts), error=str(error)
            )
