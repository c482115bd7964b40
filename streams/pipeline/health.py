"""Liveness and readiness of the process. Liveness fails only if a restart would help.

The process is alive if

- no bug has ended a runner or a partition, and the Kafka clients' own tasks run;
- for no longer than the stall limit a record has been in work, commits have failed, a partition has got none of the
  records in its log, or partitions are not assigned or not open;
- intake polls, and the event loop runs. If a handler blocks the loop, ``runtime.process.watchdog`` ends the process.

A process that is not alive at several checks in a row (``wedged``) ends, and is not alive from then on, also while it
drains.

It is ready if every group has its partitions and they are open, and nothing is waited for (``causes``). An outage of a
provider or of the web affects neither.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import count

import structlog

from streams.kafka.settings import KafkaSettings
from streams.kafka.trouble import describe_error, find_causes
from streams.pipeline.group import ConsumerGroup
from streams.runtime.clock import Clock
from streams.settings.model import Settings
from streams.telemetry.metrics import Metrics

log = structlog.get_logger("assay")
_ANSWER_SECONDS = 4.0  # the longest time of an answer
_REBALANCE_SECONDS = 5.0  # a group that has no open partitions for so long is reported; a usual rebalance takes less

FindCauses = Callable[[KafkaSettings, Collection[str], Collection[str]], Awaitable[list[str]]]
_TICK_SECONDS = 0.5
_TICKS_PER_LOOK = 8  # ticks between two looks at the cluster, which are requests to the brokers
_WEDGED_AFTER = 10  # checks in a row, between which a blocked event loop may recover


@dataclass(frozen=True, slots=True)
class HealthReport:
    """The answer to a probe; without problems the process is well."""

    problems: tuple[str, ...]

    @property
    def well(self) -> bool:
        return not self.problems


@dataclass(eq=False, repr=False)
class Health:
    """Watches the groups and the event loop of a process, and finds out what the groups wait for."""

    groups: Sequence[ConsumerGroup]
    settings: Settings
    clock: Clock
    metrics: Metrics
    _: KW_ONLY
    writes: Collection[str] = ()  # the topics that the groups write, before the prefix
    find: FindCauses = find_causes
    causes: tuple[str, ...] = field(default=(), init=False)
    """What the groups wait for, as of the last look, in words; empty while nothing is waited for."""
    _complete: bool = field(default=False, init=False)  # whether the cluster has shown all topics and groups
    _loop_lag: float = field(default=0.0, init=False)
    _failed_checks: int = field(default=0, init=False)
    _last: HealthReport | None = field(default=None, init=False)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list, init=False)

    async def start(self) -> None:
        """Starts to watch, unless it does; needs the running event loop."""
        if not self._tasks:
            self._tasks = [asyncio.create_task(self._watch(), name="health")]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def alive(self) -> HealthReport:
        """Whether the process works, or a restart would help."""
        if self._last is not None:
            return self._last
        problems, most = [], self.settings.pipeline.stalled_seconds
        for group in self.groups:
            name = group.subscription.group
            if (failed := group.failed) is not None:
                problems.append(f"{name}: stopped by {type(failed).__name__}: {failed}")
            if group.oldest_seconds > most:
                problems.append(f"{name}: a record has been in work for {group.oldest_seconds:.0f} s")
            if group.unpolled_seconds > most:
                problems.append(f"{name}: no poll for {group.unpolled_seconds:.0f} s")
            starved_seconds, place = group.starved
            if starved_seconds > most:
                problems.append(f"{name}: {place} has got no record for {starved_seconds:.0f} s, although records wait")
            if group.unjoined_seconds > most:
                seconds = f"{group.unjoined_seconds:.0f} s"
                problems.append(f"{name}: no partitions were assigned for {seconds}, or they do not open")
            if (dead := group.client_failed) is not None:
                problems.append(f"{name}: the Kafka client stopped: {dead}")
        if self._loop_lag > self.settings.kafka.session_timeout_seconds:
            problems.append(f"the event loop was blocked for {self._loop_lag:.1f} s")
        return HealthReport(tuple(problems))

    def wedged(self) -> bool:
        """Checks once more whether the process is alive, and returns whether it has to end."""
        report = self.alive()
        self._failed_checks = 0 if report.well else self._failed_checks + 1
        if self._failed_checks >= _WEDGED_AFTER:
            self._last = report
        return self._last is not None

    def ready(self) -> HealthReport:
        """Whether every group has its partitions open, and waits for nothing."""
        closed = (f"{g.subscription.group}: partitions not open yet" for g in self.groups if not g.opened)
        return HealthReport(self.causes or tuple(closed))

    def waiting(self, patience_seconds: float) -> HealthReport:
        """Whether no group with work has waited longer for a dependency that is down; a restart would not help."""
        problems = []
        for group in self.groups:
            seconds, cause = group.kept_waiting
            if seconds > patience_seconds:
                problems.append(f"{group.handler.name} has waited {seconds:.0f} s for a service that is down ({cause})")
        return HealthReport(tuple(dict.fromkeys(problems)))

    async def _watch(self) -> None:
        for turn in count(1):
            before = self.clock.monotonic()
            await self.clock.sleep(_TICK_SECONDS)
            self._loop_lag = max(0.0, self.clock.monotonic() - before - _TICK_SECONDS)
            self.metrics.loop_lag_seconds.set(self._loop_lag)
            for group in self.groups:
                group.tick()
            if turn % _TICKS_PER_LOOK == 0 and all(task.done() for task in self._tasks[1:]):
                # In a task of its own, because a cluster that is away answers late.
                self._tasks[1:] = [asyncio.create_task(self.look(), name="look")]

    async def look(self) -> None:
        """Measures the lag of the groups, and finds out what they wait for."""
        kafka, read = self.settings.kafka, [group.subscription for group in self.groups]
        answers = await asyncio.gather(*map(_answers, self.groups))
        silent = [group for group, answer in zip(self.groups, answers, strict=True) if not answer]
        failing = [
            f"{group.subscription.group}, {trouble[0]}: {describe_error(trouble[1], kafka)}"
            for group in self.groups
            if (trouble := group.trouble) is not None
        ]
        causes: list[str] = []
        if silent or failing or not self._complete:
            topics = {kafka.topic_prefix + topic for topic in (*(source.topic for source in read), *self.writes)}
            causes = await self.find(kafka, topics, [kafka.topic_prefix + source.group for source in read])
            self._complete = not causes
        self._report(tuple(dict.fromkeys(causes or failing or map(_silence, filter(_is_late, silent)))))

    def _report(self, causes: tuple[str, ...]) -> None:
        if causes and causes != self.causes:
            log.warning("waiting", reason="; ".join(causes))
        elif self.causes and not causes:
            log.info("no longer waiting", reason="; ".join(self.causes))
        self.causes = causes


async def _answers(group: ConsumerGroup) -> bool:
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            return await group.measure_lag()
    except TimeoutError:
        return False


def _is_late(group: ConsumerGroup) -> bool:
    return group.opened or group.unjoined_seconds > _REBALANCE_SECONDS


def _silence(group: ConsumerGroup) -> str:
    lacks = "Kafka does not report the ends of its partitions" if group.opened else "its partitions are not open yet"
    return f"{group.subscription.group}: {lacks}"
