"""The figures of the flow for the live screen: rate, lag and dead letters of each handler, read a few seconds ago.

The rate is that of committed offsets between two looks, so it needs no worker's address; transaction markers occupy
offsets too and are a part of it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping

from aiokafka.errors import KafkaError

from streams.console.store import Store
from streams.kafka.groups import read_dead_letters, read_lags
from streams.kafka.settings import KafkaSettings
from streams.runtime.clock import Clock
from streams.topology import HANDLERS
from streams.views.flow import WINDOW_SECONDS, HandlerFlow, History, Key, lag_of

_LOOK_SECONDS = 3.0


class Flow:
    """Reads the figures at intervals while a screen shows them: one look asks the cluster some thirty questions."""

    def __init__(self, kafka: KafkaSettings, store: Store, clock: Clock) -> None:
        self._kafka = kafka
        self._store = store
        self._clock = clock
        self._committed = History()
        self._wanted = asyncio.Event()
        self.handlers: Mapping[str, HandlerFlow] = {}
        self.problem = ""

    def want(self) -> None:
        """Says that a screen shows the figures; the next ones are read soon."""
        self._wanted.set()

    async def run(self) -> None:
        """Reads until it is cancelled; an error is shown, and the next look tries again."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            try:
                await self.look()
                self.problem = ""
            except (KafkaError, OSError) as error:
                self.problem = str(error) or type(error).__name__
            await asyncio.sleep(_LOOK_SECONDS)

    async def look(self) -> None:
        lags = await read_lags(self._kafka, HANDLERS, self._clock)
        offsets = {its.handler: its.records for its in await read_dead_letters(self._kafka, HANDLERS, self._clock)}
        dead = self._store.dead_letters()
        committed = Counter[Key]()
        for lag in lags:
            committed[(lag.handler,)] += sum(partition.committed or 0 for partition in lag.partitions)
        now = self._clock.monotonic()
        if now - self._committed.looked_at > WINDOW_SECONDS:  # no screen was open
            self._committed = History()
        self._committed.add(now, committed)
        seconds, flows = self._committed.seconds, {}
        for handler in HANDLERS:
            records, late, members = lag_of(handler.name, lags)
            flows[handler.name] = HandlerFlow(
                handler=handler.name,
                rate_per_second=max(0.0, self._committed.change((handler.name,))) / seconds if seconds else None,
                lag_records=records,
                lag_seconds=late,
                members=members,
                slo_seconds=handler.slo_seconds,
                # Offsets have markers among them, and the store has letters that were purged since.
                dead=min(dead.get(handler.name, 0), offsets.get(handler.name, 0)),
            )
        self.handlers = flows
