"""The state of the flow for the live screen: rate, lag and dead letters of each handler, read a few seconds ago.

The rate is that of committed offsets between two looks, so it needs no worker's address; transaction markers occupy
offsets too and are a part of it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

import structlog
from aiokafka.errors import KafkaError

from streams.console.store import Store
from streams.kafka.lag import GroupLag, read_dead_letters, read_lags
from streams.kafka.settings import KafkaSettings
from streams.runtime.clock import Clock
from streams.topology import HANDLERS

log = structlog.get_logger(__name__)

LOOK_SECONDS = 3.0
_WINDOW_SECONDS = 30.0
"""The time that rates are taken over."""


@dataclass(frozen=True, slots=True)
class HandlerFlow:
    """The figures of a handler; None if unknown.

    Attributes:
        rate: Inputs a second.
        lag: Offsets behind, on its topic and its retry topics.
        lag_seconds: Age of the oldest input that waits.
        members: Subscriptions in its group; 0 if no worker runs it.
        dead: Dead letters on its topic, of those that the store has.
    """

    rate: float | None
    lag: int
    lag_seconds: float
    members: int
    dead: int


class Flow:
    """Reads the figures at intervals while a screen shows them: one look asks the cluster some thirty questions."""

    def __init__(self, kafka: KafkaSettings, store: Store, clock: Clock) -> None:
        """Opens nothing."""
        self._kafka = kafka
        self._store = store
        self._clock = clock
        self._looks: deque[tuple[float, Mapping[str, int]]] = deque()
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
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Reads the figures once. Raises KafkaError."""
        lags = await read_lags(self._kafka, HANDLERS, self._clock)
        offsets = {its.handler: its.records for its in await read_dead_letters(self._kafka, HANDLERS, self._clock)}
        # Offsets have markers among them, and the store has letters that were purged since.
        dead = {handler: min(count, offsets.get(handler, 0)) for handler, count in self._store.dead_letters().items()}
        done: dict[str, int] = {}
        for lag in lags:
            done[lag.handler] = done.get(lag.handler, 0) + sum(its.committed or 0 for its in lag.partitions)
        now = self._clock.monotonic()
        while self._looks and now - self._looks[0][0] > _WINDOW_SECONDS:
            self._looks.popleft()
        self._looks.append((now, done))
        self.handlers = {
            handler.name: self._flow(handler.name, [lag for lag in lags if lag.handler == handler.name], dead)
            for handler in HANDLERS
        }

    def _flow(self, handler: str, lags: list[GroupLag], dead: Mapping[str, int]) -> HandlerFlow:
        (began, first), (now, last) = self._looks[0], self._looks[-1]
        seconds = now - began
        rate = max(0, last.get(handler, 0) - first.get(handler, 0)) / seconds if seconds > 0 else None
        return HandlerFlow(
            rate,
            sum(lag.records for lag in lags),
            max((max(0.0, lag.seconds - lag.delay_seconds) for lag in lags), default=0.0),
            max((lag.members for lag in lags), default=0),
            dead.get(handler, 0),
        )
