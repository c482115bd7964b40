"""Sending live records, and the transactions and the log of a run."""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, KafkaTimeoutError, TopicAuthorizationFailedError

from streams.publish.sending import LiveLog, RunLog, Sending
from streams.publish.walk import Position
from streams.settings.model import PipelineSettings, load_settings
from streams.topology import PAGES_CRAWLED
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


def sending(log: Log) -> Sending:
    return Sending(cast("RunLog", log), Position(), LIMITS)


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


async def test_unreachable_kafka_is_retried_with_growing_pauses() -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    settings = load_settings(kafka={"bootstrap_servers": "127.0.0.1:1"}, pipeline={"stalled_seconds": 100.0})
    log = RunLog(settings, PAGES_CRAWLED, "r", sleep)
    with pytest.raises(KafkaError):
        await log.commit([], Position(), Position(entries=1))
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]
    with pytest.raises(KafkaError):
        await log.open()
    await log.close()


class Producer(AIOKafkaProducer):  # type: ignore[misc] # aiokafka is not typed
    """A producer, never connected, whose cluster answers as the test wants."""

    def __init__(self) -> None:
        super().__init__(bootstrap_servers="127.0.0.1:9")
        self.sent: list[tuple[str, asyncio.Future[object]]] = []
        self.stopped = False

    async def send(self, topic: str, **_: Any) -> asyncio.Future[object]:
        self.sent.append((topic, asyncio.get_running_loop().create_future()))
        return self.sent[-1][1]

    async def stop(self) -> None:
        self.stopped = self._closed = True

    def answer(self, number: int, error: Exception | None = None) -> None:
        if error is None:
            self.sent[number][1].set_result(None)
        else:
            self.sent[number][1].set_exception(error)


RECORD = OutputRecord("pages.crawled.v1", b"k", b"v", ())


async def test_live_records_are_acknowledged() -> None:
    producer = Producer()
    log = LiveLog(producer, "blue.", 1.0)
    sending = asyncio.ensure_future(log.commit([RECORD] * 3, Position(), Position()))
    for number in range(3):
        await asyncio.sleep(0.6)  # all three together take longer than the patience
        producer.answer(number)
    await sending
    assert {topic for topic, _ in producer.sent} == {"blue.pages.crawled.v1"}
    await log.close()
    assert producer.stopped


async def test_a_silent_cluster_is_given_up() -> None:
    log = LiveLog(Producer(), "", 0.02)
    with pytest.raises(KafkaTimeoutError, match="nothing was acknowledged"):
        await log.commit([RECORD], Position(), Position())
    await log.close()


async def test_a_refusal_ends_the_sending() -> None:
    producer = Producer()
    log = LiveLog(producer, "", 0.2)
    sending = asyncio.ensure_future(log.commit([RECORD] * 2, Position(), Position()))
    await settled()
    producer.answer(0, TopicAuthorizationFailedError("no"))
    with pytest.raises(KafkaError, match="no"):
        await sending
    await log.close()
