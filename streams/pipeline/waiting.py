"""Finds out what the groups of a process wait for, and reports each change once.

A group may wait for a cluster that is away or refuses the client, for a topic, or for a right. The cluster is asked for
its topics and groups at the start, and while a group is not open, gets no answer, or fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import KW_ONLY, dataclass, field

import structlog

from streams.kafka.settings import KafkaSettings
from streams.kafka.trouble import describe_error, find_causes
from streams.pipeline.group import ConsumerGroup
from streams.runtime.clock import Clock

log = structlog.get_logger("assay")

_ANSWER_SECONDS = 4.0
"""The longest time of an answer."""
_REBALANCE_SECONDS = 5.0
"""A group that has no open partitions for so long is reported; a usual rebalance takes less."""

FindCauses = Callable[[KafkaSettings, Collection[str], Collection[str]], Awaitable[list[str]]]


@dataclass(eq=False, repr=False)
class Waiting:
    """What the groups wait for, as of the last look; measures their lag as well.

    Attributes:
        writes: The topics that the groups write, before the prefix.
        find: As ``find_causes``.
        causes: In words; empty while nothing is waited for.
    """

    groups: Sequence[ConsumerGroup]
    kafka: KafkaSettings
    clock: Clock
    _: KW_ONLY
    writes: Collection[str] = ()
    find: FindCauses = find_causes
    causes: tuple[str, ...] = field(default=(), init=False)
    _complete: bool = field(default=False, init=False)
    """Whether the cluster has shown all topics and groups."""

    async def look(self) -> None:
        """Measures the lag of the groups, and finds out what they wait for."""
        answers = await asyncio.gather(*map(self._answers, self.groups))
        silent = [group for group, answer in zip(self.groups, answers, strict=True) if not answer]
        failing = [
            f"{group.subscription.group}, {trouble[0]}: {describe_error(trouble[1], self.kafka)}"
            for group in self.groups
            if (trouble := group.trouble) is not None
        ]
        causes: list[str] = []
        if silent or failing or not self._complete:
            read = [group.subscription for group in self.groups]
            topics = {self.kafka.topic_prefix + topic for topic in (*(its.topic for its in read), *self.writes)}
            causes = await self.find(self.kafka, topics, [self.kafka.topic_prefix + its.group for its in read])
            self._complete = not causes
        self._report(tuple(dict.fromkeys(causes or failing or map(_silence, filter(_is_late, silent)))))

    async def _answers(self, group: ConsumerGroup) -> bool:
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                return await group.measure_lag()
        except TimeoutError:
            return False

    def _report(self, causes: tuple[str, ...]) -> None:
        if causes and causes != self.causes:
            log.warning("waiting", reason="; ".join(causes))
        elif self.causes and not causes:
            log.info("no longer waiting", reason="; ".join(self.causes))
        self.causes = causes


def _is_late(group: ConsumerGroup) -> bool:
    return group.opened or group.unjoined_seconds > _REBALANCE_SECONDS


def _silence(group: ConsumerGroup) -> str:
    lacks = "Kafka does not report the ends of its partitions" if group.opened else "its partitions are not open yet"
    return f"{group.subscription.group}: {lacks}"
