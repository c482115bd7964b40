"""Transactions that fill while another one is written, on a fake log that the test releases."""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import pytest
from aiokafka.errors import KafkaError

from streams.publish.sending import RunLog, RunSending
from streams.publish.walk import Position
from streams.settings.model import PipelineSettings
from streams.topology.codec import OutputRecord

LIMITS = PipelineSettings(commit_records=3, commit_bytes=1024)


class Log:
    """Records the commits; each one waits until the test releases it."""

    def __init__(self, free: bool = True) -> None:
        self.commits: list[tuple[list[bytes | None], int]] = []
        self.closed = 0
        self.go = asyncio.Event()
        self.failure: Exception | None = None
        if free:
            self.go.set()

    async def commit(self, records: Sequence[OutputRecord], before: Position, after: Position) -> None:
        await self.go.wait()
        if self.failure is not None:
            raise self.failure
        assert before.entries == (self.commits[-1][1] if self.commits else 0)
        self.commits.append(([record.value for record in records], after.entries))

    async def close(self) -> None:
        self.closed += 1


def sending(log: Log) -> RunSending:
    return RunSending(cast("RunLog", log), Position(), LIMITS)


def record(number: int, size: int = 1) -> OutputRecord:
    return OutputRecord("t", None, b"%d" % number * size, ())


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_records_during_a_transaction_join_the_next_one() -> None:
    log = Log(free=False)
    its = sending(log)
    await its.passed(record(1), Position(entries=1))
    await settled()
    await its.passed(None, Position(entries=2))
    await its.passed(record(3), Position(entries=3))
    await settled()
    assert log.commits == []
    log.go.set()
    await its.stop()
    assert log.commits == [([b"1"], 1), ([b"3"], 3)]
    assert (its.committed.entries, its.failure, log.closed) == (3, None, 1)


@pytest.mark.parametrize("size", [1, 400])
async def test_queue_is_bounded_by_the_transaction_size(size: int) -> None:
    log = Log(free=False)
    its = sending(log)
    taken = 0

    async def feed() -> None:
        nonlocal taken
        for number in range(1, 10):
            await its.passed(record(number, size), Position(entries=number))
            taken = number
            await asyncio.sleep(0)

    feeding = asyncio.create_task(feed())
    await settled()
    assert taken == 4  # one under way, three that fill the next
    log.go.set()
    await feeding
    await its.stop()
    assert its.committed.entries == 9
    assert all(len(values) <= 3 for values, _ in log.commits)
    assert [value for values, _ in log.commits for value in values] == [b"%d" % n * size for n in range(1, 10)]


async def test_refused_entries_move_the_position_too() -> None:
    log = Log()
    its = sending(log)
    await its.passed(None, Position(entries=1, refused=1))
    await its.stop()
    assert log.commits == [([], 1)]


async def test_failure_reaches_waiting_and_later_calls() -> None:
    log = Log(free=False)
    log.failure = KafkaError("gone")
    its = sending(log)

    async def feed() -> Any:
        for number in range(1, 10):
            await its.passed(record(number), Position(entries=number))
            await asyncio.sleep(0)

    feeding = asyncio.create_task(feed())
    await settled()
    assert not feeding.done()
    log.go.set()
    with pytest.raises(KafkaError, match="gone"):
        await feeding
    await its.stop()
    assert (its.committed.entries, its.failure, log.closed) == (0, log.failure, 1)


async def test_nothing_follows_a_cancelled_transaction() -> None:
    """A later position without the cancelled records would lose them."""
    log = Log(free=False)
    run = sending(log)
    await run.passed(record(1), Position(entries=1))
    await settled()
    await run.passed(record(2), Position(entries=2))
    [transaction] = [task for task in asyncio.all_tasks() if task.get_name() == "backfill"]
    transaction.cancel()
    log.go.set()
    await run.stop()
    assert (log.commits, run.committed.entries) == ([], 0)
