"""Whether nothing is left to do, seen at moments at which groups feed each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import cast

from aiokafka import TopicPartition
from aiokafka.errors import KafkaConnectionError

from streams.pipeline.drain import DrainDetector
from streams.pipeline.group import ConsumerGroup
from tests.streams.doubles import VirtualClock

ONE, OTHER = TopicPartition("one", 0), TopicPartition("other", 0)


@dataclass
class Held:
    at: int = 0

    def position(self) -> int:
        return self.at


@dataclass
class Consumer:
    """What a group's consumer knows of its topic, which has one partition, and of the group's offsets."""

    topic: str
    topics: Topics
    known: bool = True
    offset: int | None = None

    def subscription(self) -> set[str]:
        return {self.topic}

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return {0} if self.known and topic == self.topic else None

    async def committed(self, place: TopicPartition) -> int | None:
        assert place.topic == self.topic
        return self.offset

    async def beginning_offsets(self, places: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(places, 3)

    async def end_offsets(self, places: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return {place: self.topics.readable[place] for place in places}


@dataclass
class Group:
    """What is looked at of a group, with one partition; it writes to another one's while it is looked at."""

    topics: Topics
    place: TopicPartition
    feeds: TopicPartition | None = None
    rebalancing: bool = False
    elsewhere: bool = False
    partition: Held = field(default_factory=Held)

    def __post_init__(self) -> None:
        self.consumer = Consumer(self.place.topic, self.topics)
        self.subscription = self.consumer

    @property
    def partitions(self) -> dict[TopicPartition, Held]:
        return {} if self.elsewhere else {self.place: self.partition}

    @property
    def settled(self) -> bool:
        return True

    async def caught_up(self) -> bool:
        if self.feeds is not None:
            self.topics.written[self.feeds] += 1
            self.feeds = None
        self.partition.at = self.topics.readable[self.place]
        return True


class Topics:
    def __init__(self) -> None:
        self.written = Counter({ONE: 0, OTHER: 0})
        self.readable = Counter({ONE: 0, OTHER: 0})
        self.silent = False
        self.looks = self.readable_at_look = self.stranger_until_look = 0

    async def ends(self, places: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        if self.silent:
            raise KafkaConnectionError
        self.looks += 1
        if self.looks == self.readable_at_look:
            self.readable.update(self.written)
        if self.looks < self.stranger_until_look:
            self.written[ONE] += 1
            self.readable[ONE] += 1
        return {place: self.written[place] for place in places}


def quiescence(topics: Topics, clock: VirtualClock, *groups: Group) -> DrainDetector:
    return DrainDetector(cast("list[ConsumerGroup]", list(groups)), topics.ends, clock)


async def test_groups_that_are_idle_at_the_ends_are_done() -> None:
    topics = Topics()
    assert await quiescence(topics, VirtualClock(), Group(topics, ONE), Group(topics, OTHER)).reached()
    assert not await quiescence(topics, VirtualClock(), Group(topics, ONE, rebalancing=True)).reached()


async def test_a_group_that_is_fed_after_it_was_looked_at_is_not_done() -> None:
    topics = Topics()
    look = quiescence(topics, VirtualClock(), Group(topics, ONE), Group(topics, OTHER, feeds=ONE))
    assert not await look.reached()
    topics.readable[ONE] = 1
    assert await look.reached()


async def test_what_other_members_hold_is_done_when_it_is_committed() -> None:
    topics, clock = Topics(), VirtualClock()
    standby = Group(topics, ONE, elsewhere=True)
    look = quiescence(topics, clock, standby)
    topics.written[ONE] = topics.readable[ONE] = 5
    standby.consumer.offset = 4
    assert not await look.reached()
    # Others may take as long as they need.
    assert look.held_up == (0.0, "")
    standby.consumer.offset = 5
    assert await look.reached()
    # Without a committed offset, all records are before the start, or wait.
    standby.consumer.offset = None
    assert not await look.reached()
    topics.written[ONE] = topics.readable[ONE] = 3
    assert await look.reached()


async def test_transaction_on_a_foreign_partition_is_timed_too() -> None:
    topics, clock = Topics(), VirtualClock()
    standby = Group(topics, ONE, elsewhere=True)
    standby.consumer.offset = topics.readable[ONE] = 4
    topics.written[ONE] = 5
    look = quiescence(topics, clock, standby)
    assert not await look.reached()
    await clock.sleep(5)
    assert not await look.reached()
    assert look.held_up == (5.0, "a transaction is open on one")


async def test_each_reason_to_wait_is_reported_once() -> None:
    topics, told = Topics(), list[str]()
    topics.written[ONE], topics.readable_at_look = 1, 40
    await quiescence(topics, VirtualClock(), Group(topics, ONE)).wait(told.append)
    assert told == ["a transaction is open on one"]


async def test_constant_foreign_writes_are_reported() -> None:
    topics, told = Topics(), list[str]()
    topics.stranger_until_look = 40
    await quiescence(topics, VirtualClock(), Group(topics, ONE)).wait(told.append)
    assert told == ["producers still write to one"]


async def test_group_without_its_topic_is_reported() -> None:
    topics, clock, told = Topics(), VirtualClock(), list[str]()
    group = Group(topics, ONE, elsewhere=True)
    group.consumer.known = False

    def tell(reason: str) -> None:
        told.append(reason)
        group.consumer.known, group.elsewhere = True, False

    await quiescence(topics, clock, group).wait(tell)
    assert told == ["the cluster does not report the partitions of one"]


async def test_unreadable_written_records_are_waited_for_and_timed() -> None:
    topics, clock = Topics(), VirtualClock()
    look = quiescence(topics, clock, Group(topics, ONE))
    topics.written[ONE] = 2
    assert not await look.reached()
    await clock.sleep(5)
    # The time is that between looks: a look that takes long does not make the transaction older.
    assert look.held_up[0] == 0.0
    assert not await look.reached()
    assert look.held_up == (5.0, "a transaction is open on one")
    # One of two has ended, so the other one is timed anew.
    topics.readable[ONE] = 1
    assert not await look.reached()
    assert look.held_up == (0.0, "a transaction is open on one")
    topics.readable[ONE] = 2
    assert await look.reached()
    assert look.held_up == (0.0, "")


async def test_other_work_does_not_reset_a_transactions_age() -> None:
    topics, clock = Topics(), VirtualClock()
    group = Group(topics, ONE)
    topics.written[ONE] = 2
    look = quiescence(topics, clock, group)
    assert not await look.reached()
    for _ in range(2):
        await clock.sleep(5)
        topics.silent = True
        assert not await look.reached()
        topics.silent, group.rebalancing = False, True
        assert not await look.reached()
        group.rebalancing = False
        assert not await look.reached()
    assert look.held_up == (10.0, "a transaction is open on one")
