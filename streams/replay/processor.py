"""What a replay does otherwise than live traffic: it selects records, limits rate and cost, and routes the results.

Records are selected before the pipeline's own processing, and the results go to the plan's topics. A record that is not
selected writes nothing and moves the plan's offset.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace

from aiokafka import ConsumerRecord
from typing_extensions import override

from schemas.dead import dead_letter_topic
from schemas.event import Run
from schemas.needs import Need
from schemas.outcome import Dead
from schemas.replies import ModelUnavailable, Reply
from streams.kafka.groups import GroupLag, read_lags
from streams.llm.accounting import CostAccount
from streams.pipeline.handler_runner import Services
from streams.pipeline.processor import Done, Pending, RecordProcessor
from streams.replay.selection import Selector
from streams.runtime.clock import Clock
from streams.settings.model import Settings
from streams.telemetry.metrics import Metrics
from streams.topology import Handler

_LOOK_SECONDS = 0.25  # the longest pause before the reason for it is checked again
_BURST_SECONDS = 0.1
"""The most that is caught up after a delay of the event loop; a longer pause must not cause a burst."""
LATE_SHARE = 0.5  # Share of a handler's ``slo_seconds``. If live records are older, a replay of the handler waits.


class ReplayPace:
    """Says when the next record may be started in this process."""

    def __init__(self, rate: float | None, clock: Clock) -> None:
        """Starts without partitions; ``rate`` is in records a second of all processes, None is unlimited."""
        self.waiting = False  # whether the replay waits because live traffic is late
        self.shut = False  # whether no more records may be started
        self._rate = rate
        self._clock = clock
        self._share = 0.0
        self._next = clock.monotonic()

    def assigned(self, held: int, of: int) -> None:
        """Sets this process's share of the rate: its partitions, of all partitions of the topic."""
        self._share = held / of if of > 0 else 0.0

    def seconds(self) -> float:
        """For how long no record may be started; 0 if one may be started now."""
        if self.waiting or self.shut:
            return _LOOK_SECONDS
        if self._rate is None:
            return 0.0
        if not self._share:
            return _LOOK_SECONDS
        return min(max(0.0, self._next - self._clock.monotonic()), _LOOK_SECONDS)

    def took(self) -> None:
        if self._rate is not None and self._share:
            earliest = self._clock.monotonic() - _BURST_SECONDS
            self._next = max(self._next, earliest) + 1.0 / (self._rate * self._share)


async def is_live_late(settings: Settings, handler: Handler, clock: Clock) -> bool:
    """Whether live records of a handler are older than ``LATE_SHARE`` of its service level. Raises KafkaError.

    A group without members does not count: the replay would wait for ever.
    """
    return any(is_late(lag, handler.slo_seconds) for lag in await read_lags(settings.kafka, [handler], clock))


def is_late(lag: GroupLag, slo_seconds: float) -> bool:
    return lag.members > 0 and not lag.delay_seconds and lag.seconds > LATE_SHARE * slo_seconds


@dataclass(slots=True)
class ReplayProgress:
    """How far a plan has come; counts of records are of this process."""

    handler: str = ""
    total: int = 0
    remaining: int = 0
    replayed: int = 0  # records handled
    passed_over: int = 0  # records that were not selected
    dead: int = 0  # records that became dead letters
    deleted: int = 0
    spent_usd: float = 0.0
    members: int = 0
    note: str = ""  # why the work waits; "" while it doesn't


@dataclass(eq=False, repr=False, kw_only=True)
class ReplayProcessor(RecordProcessor):
    """A ``RecordProcessor`` for a plan.

    Attributes:
        selects: Says which records are replayed.
        routes: The topic that is written for each topic of the handler; other results are withheld.
        pace: Counts every record that is started.
        progress: Counts the records.
    """

    run: Run
    selects: Selector = lambda _: True
    routes: Mapping[str, str]
    pace: ReplayPace
    metrics: Metrics
    progress: ReplayProgress

    def __post_init__(self) -> None:
        super().__post_init__()
        handler, records = self.runner.handler, self.metrics.replay_records_total
        self._letters = self.routes[dead_letter_topic(handler.consumes.name, handler.group)]
        self._done = records.labels(handler.name, "replayed")
        self._skipped = records.labels(handler.name, "passed_over")

    @override
    def begin(self, record: ConsumerRecord) -> Done | Pending:
        if not self.selects(record):
            self.progress.passed_over += 1
            self._skipped.inc()
            return Done.of()
        self.pace.took()
        result = super().begin(self._marked(record))
        return result if isinstance(result, Pending) else self._ended(result)

    @override
    async def complete(self, pending: Pending) -> Done:
        return self._ended(await super().complete(pending))

    @override
    def refuse(self, record: ConsumerRecord, refusal: Dead) -> Done:
        return self._routed(super().refuse(self._marked(record), refusal))

    def _ended(self, done: Done) -> Done:
        self.progress.replayed += 1
        self._done.inc()
        routed = self._routed(done)
        self.progress.dead += any(output.topic == self._letters for output in routed.outputs)
        return routed

    def _routed(self, done: Done) -> Done:
        kept = (output for output in done.outputs if output.topic in self.routes)
        return Done.of(*(output._replace(topic=self.routes[output.topic]) for output in kept))

    def _marked(self, record: ConsumerRecord) -> ConsumerRecord:
        """The record with this run in its headers, in place of the run that wrote it."""
        return replace(record, headers=tuple(self.run.marked(record.headers)))


@dataclass
class CostLimitedServices:
    """A ``Services`` whose model request does not return if the cost limit refuses it: ``PlanWork`` cancels it."""

    services: Services
    account: CostAccount | None
    asking: int = 0  # requests in flight

    @property
    def is_spent(self) -> bool:
        return self.account is not None and self.account.reached.is_set()

    async def answer(self, need: Need, run: Run | None) -> Reply:
        """The reply; waits for ever if the cost limit has refused it."""
        self.asking += 1
        try:
            reply = await self.services.answer(need, run)
        finally:
            self.asking -= 1
        if self.is_spent and isinstance(reply, ModelUnavailable):
            await asyncio.get_running_loop().create_future()
        return reply
