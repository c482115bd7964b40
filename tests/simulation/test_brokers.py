"""The simulated broker follows Kafka's rules for producers, transactions and readers."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from aiokafka.protocol.commit import OffsetFetchRequest_v3

from tests.simulation import codes
from tests.simulation.broker import Brokers, Failure
from tests.simulation.groups import Groups
from tests.simulation.log import Log, batch_of
from tests.simulation.transactions import Transactions
from tests.simulation.world import World


def values(log: Log) -> list[bytes]:
    """What a committed reader gets."""
    return [record.value for record in log.committed()]


def test_a_reader_gets_no_open_and_no_aborted_record() -> None:
    log = Log()
    log.append(batch_of([(b"k", b"plain")]))
    log.append(batch_of([(b"k", b"of 7")], pid=7, epoch=0, sequence=0))
    log.append(batch_of([(b"k", b"after")]))
    assert (log.stable, log.end, values(log)) == (1, 3, [b"plain"])
    log.end_transaction(7, 0, committed=False)
    assert (log.stable, values(log)) == (4, [b"plain", b"after"])
    assert log.read(0, committed=True, most_batches=9)[1] == [(7, 1)]


def test_a_repeated_batch_is_confirmed_and_not_written_again() -> None:
    log, batch = Log(), batch_of([(b"k", b"v")], pid=7, epoch=0, sequence=0)
    assert log.append(batch) == log.append(batch) == (0, 0)
    assert log.append(batch_of([(b"k", b"v")], pid=7, epoch=0, sequence=2)) == (
        codes.OUT_OF_ORDER_SEQUENCE_NUMBER, -1,
    )  # fmt: skip


def coordinator(world: World) -> tuple[Transactions, list[object]]:
    """Transactions whose markers are noted."""
    marks = list[object]()
    return Transactions(world, random.Random(0), lambda *mark: marks.append(mark)), marks


def test_a_new_producer_fences_the_old_one_and_aborts(world: World) -> None:
    transactions, marks = coordinator(world)
    _, pid, epoch = transactions.init("t", 9)
    assert transactions.add("t", pid, epoch, [("topic", 0)]) == 0
    assert transactions.init("t", 9)[0] == codes.CONCURRENT_TRANSACTIONS
    world.run_until_complete(_second())
    code, again, newer = transactions.init("t", 9)
    assert (code, again, newer) == (0, pid, 2)
    assert transactions.end("t", pid, epoch, committed=True) == codes.INVALID_PRODUCER_EPOCH
    assert marks == [(("topic", 0), pid, 1, False)]


def test_a_late_end_ends_the_next_transaction(world: World) -> None:
    transactions, marks = coordinator(world)
    _, pid, epoch = transactions.init("t", 9)
    for _ in range(2):
        transactions.add("t", pid, epoch, [], group="g")
        assert transactions.end("t", pid, epoch, committed=True) == 0
        world.run_until_complete(_second())
        assert transactions.end("t", pid, epoch, committed=True) == 0
        assert transactions.end("t", pid, epoch, committed=False) == codes.INVALID_TXN_STATE
    assert len(marks) == 2


def test_a_transaction_that_takes_too_long_is_aborted(world: World) -> None:
    transactions, marks = coordinator(world)
    _, pid, epoch = transactions.init("t", 0.5)
    transactions.add("t", pid, epoch, [("topic", 0)])
    world.run_until_complete(_second())
    assert marks == [(("topic", 0), pid, 1, False)]
    assert transactions.verify("t", pid, epoch, ("topic", 0)) == codes.INVALID_PRODUCER_EPOCH


def test_offsets_of_a_transaction_count_when_it_is_committed(world: World) -> None:
    group = Groups(world, random.Random(0))
    group.commit_in_transaction("g", 7, 0, {("topic", 0): 5})
    assert group.of("g").offsets == {}
    group.end_transaction("g", 7, 0, committed=False)
    group.commit_in_transaction("g", 7, 0, {("topic", 0): 6})
    group.end_transaction("g", 7, 0, committed=True)
    assert group.of("g").offsets == {("topic", 0): 6}


def test_the_join_of_a_removed_member_is_answered(world: World) -> None:
    """As Kafka answers it, so that its client joins again under a new name."""
    groups = Groups(world, random.Random(0))
    name = groups.join("g", "", 5, 8, [("range", b"")])[4]  # type: ignore[index] # it gets its name at once
    joined = groups.join("g", name, 5, 8, [("range", b"")])
    assert isinstance(joined, asyncio.Future)
    groups.leave("g", name)
    assert joined.result()[0] == codes.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("handled", [True, False])
def test_a_batch_whose_replicas_are_late_may_be_written(world: World, handled: bool) -> None:
    brokers = Brokers(world, random.Random(0), {"t": 1})
    brokers.failing["Produce"] = Failure(codes.REQUEST_TIMED_OUT, handled)
    batch = batch_of([(b"k", b"v")])
    assert brokers._append(("t", 0), batch, None, 0)[:2] == (codes.REQUEST_TIMED_OUT, -1)
    assert values(brokers.logs["t", 0]) == [b"v"] * handled


def test_a_broker_that_starts_knows_no_topics_leaders_or_brokers(world: World) -> None:
    brokers = Brokers(world, random.Random(0), {"t": 1, "u": 1})
    _, _, _, _, described = brokers._failing_metadata(None, codes.UNKNOWN_TOPIC_OR_PARTITION)
    assert [topic[:2] for topic in described] == [(codes.UNKNOWN_TOPIC_OR_PARTITION, "t"), (0, "u")]
    _, _, _, _, described = brokers._failing_metadata(["u"], codes.LEADER_NOT_AVAILABLE)
    assert described[0][3][0][:3] == (codes.LEADER_NOT_AVAILABLE, 0, -1)
    assert brokers._failing_metadata(None, codes.BROKER_NOT_AVAILABLE)[1] == []


def test_a_broker_that_is_cut_off_answers_reads_as_before(world: World) -> None:
    """It takes the group for its own until it is back; then it answers an error and no partition, as Kafka does."""
    brokers = Brokers(world, random.Random(0), {"t": 1}, nodes=2)
    own = brokers._coordinator("g")
    asked = OffsetFetchRequest_v3("g", [("t", [0])])

    def told(node: int) -> tuple[Any, ...]:
        return tuple(brokers._on_offset_fetch(asked, node))

    brokers.groups.of("g").offsets = {("t", 0): 5}
    brokers.cut_off(9092 + own)
    brokers.groups.of("g").offsets, brokers.groups.of("g").loaded = {("t", 0): 7}, None
    assert brokers._coordinator("g") == 1 - own
    assert [told(node) for node in (own, 1 - own)] == [(0, [("t", [(0, at, "", 0)])], 0) for at in (5, 7)]
    assert brokers._misplaced("Heartbeat", "g", own) == 0
    assert brokers._misplaced("TxnOffsetCommit", "g", own) == codes.GROUP_COORDINATOR_NOT_AVAILABLE
    brokers.take_back()
    assert told(own) == (0, [], codes.NOT_COORDINATOR_FOR_GROUP)


async def _second() -> None:
    await asyncio.sleep(1)
