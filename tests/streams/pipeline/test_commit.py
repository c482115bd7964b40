"""The order of calls of a committer in both delivery modes, on clients that record their calls; and commits in doubt.

A broker shows a wrong order only in a crash at that moment. The rounds of ``make test-faults`` do that; these tests
state the order itself.
"""

import asyncio
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.client import ConnectionGroup, CoordinationType
from aiokafka.errors import (
    GroupLoadInProgressError,
    IllegalOperation,
    KafkaConnectionError,
    KafkaError,
    MessageSizeTooLargeError,
    NotCoordinatorForGroupError,
)
from aiokafka.protocol.commit import OffsetFetchRequest, OffsetFetchResponse_v3
from aiokafka.structs import OffsetAndMetadata
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from streams.kafka import transactions
from streams.kafka.transactions import RecordWriter, stop_producer, transactional_id
from streams.pipeline.commit import CommitResult, Committer
from streams.pipeline.metrics import PipelineMetrics
from streams.telemetry.metrics import Metrics
from streams.topology.codec import OutputRecord
from tests.streams.doubles import BEGAN, VirtualClock

PARTITION = TopicPartition("t.in", 3)
ONE, TWO = (OutputRecord(f"{name}.v1", name.encode(), b"value", (("h", b"1"),)) for name in ("one", "two"))
BROKEN = KafkaError("not now")
SENDER = SimpleNamespace(_coordinators={CoordinationType.GROUP: 1})
"""Runs, and has written to the coordinator at broker 1."""


@dataclass
class Client:
    """A producer and a consumer that record their calls; a step in ``fails`` raises, one in ``hangs`` hangs, once."""

    calls: list[Any] = field(default_factory=list)
    fails: dict[str, BaseException] = field(default_factory=dict)
    hangs: str = ""
    offset: int | None = 17  # what the group has committed
    answers: list[OffsetFetchResponse_v3] = field(default_factory=list)
    """The next answers of the broker that has written an offset; after them the offset."""
    ids: list[str | None] = field(default_factory=list)
    confirmations: list[asyncio.Task[None]] = field(default_factory=list)
    _client: Any = field(default_factory=lambda: SimpleNamespace(_sync_task=None, _conns={}))
    """What is cut off where a stop fails."""
    _sender: Any = field(default_factory=lambda: SENDER)

    @property
    def client(self) -> Any:
        """The producer's network, with a connection to broker 1."""
        return SimpleNamespace(_conns={(1, ConnectionGroup.COORDINATION): SimpleNamespace(send=self._answer)})

    async def _answer(self, request: OffsetFetchRequest) -> OffsetFetchResponse_v3:
        [(topic, [number])] = request._partitions
        await self._step("committed", TopicPartition(topic, number))
        if self.answers:
            return self.answers.pop(0)
        return OffsetFetchResponse_v3(0, [(topic, [(number, -1 if self.offset is None else self.offset, "", 0)])], 0)

    @property
    def steps(self) -> list[str]:
        """The names of the calls."""
        return [call[0] if isinstance(call, tuple) else call for call in self.calls]

    async def _step(self, name: str, *given: Any) -> None:
        if name == self.hangs:
            self.hangs = ""
            await asyncio.Event().wait()
        if name in self.fails:
            raise self.fails.pop(name)
        self.calls.append((name, *given) if given else name)

    async def start(self) -> None:
        await self._step("start")

    async def stop(self) -> None:
        self._sender = SENDER
        await self._step("stop")

    async def begin_transaction(self) -> None:
        await self._step("begin")

    async def send(self, topic: str, **record: Any) -> asyncio.Task[None]:
        await self._step(f"send {topic}")
        self.sent = record
        confirmation = asyncio.ensure_future(
            self._confirm(f"confirmed {topic}", turns=5 * (1 + len(self.confirmations)))
        )
        self.confirmations.append(confirmation)
        return confirmation

    async def _confirm(self, name: str, turns: int) -> None:
        """The broker confirms some turns of the loop later, each record after the one before it."""
        for _ in range(turns):
            await asyncio.sleep(0)
        await self._step(name)

    async def send_offsets_to_transaction(self, offsets: dict[TopicPartition, OffsetAndMetadata], group: str) -> None:
        await self._step("offsets", {place: (at.offset, at.metadata) for place, at in offsets.items()}, group)

    async def commit_transaction(self) -> None:
        await self._step("commit")

    async def abort_transaction(self) -> None:
        await self._step("abort")

    async def committed(self, partition: TopicPartition) -> int | None:
        await self._step("committed", partition)
        return self.offset

    async def beginning_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 3)

    async def commit(self, offsets: dict[TopicPartition, int]) -> None:
        await self._step("commit", offsets)


FENCE: list[Any] = ["start", "begin", ("offsets", {PARTITION: (0, "")}, "t.assay.toy"), "abort"]
SENDS = ["send t.one.v1", "send t.two.v1", "confirmed t.one.v1", "confirmed t.two.v1"]
SET: Any = ("offsets", {PARTITION: (42, "")}, "t.assay.toy")
both = pytest.mark.parametrize("exactly_once", [True, False], ids=["exactly once", "at least once"])


class Bench:
    """A committer over a client, with a clock and metrics."""

    def __init__(self, client: Client, exactly_once: bool = True, deadline: float = 5.0) -> None:
        self.client, self.clock, self.registry = client, VirtualClock(), CollectorRegistry()
        self.may_commit = [True]
        own_id = transactional_id("t.assay.toy", PARTITION) if exactly_once else None

        def producer() -> Any:
            client.ids.append(own_id)
            return client

        async def is_ours() -> bool:
            return self.may_commit.pop(0) if len(self.may_commit) > 1 else self.may_commit[0]

        consumer: Any = client
        self.committer = Committer(
            PARTITION,
            consumer,
            RecordWriter(producer, deadline),
            self.clock,
            PipelineMetrics(Metrics(self.registry), "toy"),
            group="t.assay.toy",
            topic_prefix="t.",
            transactional=exactly_once,
            is_ours=is_ours,
        )
        self.reopen = ["stop", *(FENCE if exactly_once else ["start"]), ("committed", PARTITION)]
        """The calls that resolve a commit in doubt."""

    async def opened(self) -> "Bench":
        await self.committer.open()
        self.client.calls.clear()
        return self

    async def commit(self, *outputs: OutputRecord, to: int = 42) -> CommitResult:
        return await self.committer.commit(outputs, to)

    def count(self, result: str) -> Any:
        labels = {"handler": "toy", "result": result, "lane": "live"}
        assert not self.registry.get_sample_value("assay_transaction_seconds_sum", {"handler": "toy"}), "no time passes"
        return self.registry.get_sample_value("assay_transactions_total", labels) or 0


# --- the order of calls ----------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("outputs", [(ONE, TWO), ()], ids=["outputs", "none"])
async def test_outputs_are_confirmed_before_the_offset_is_committed(
    exactly_once: bool, outputs: tuple[OutputRecord, ...]
) -> None:
    bench = await Bench(client := Client(), exactly_once).opened()
    assert await bench.commit(*outputs) == CommitResult(42)
    sends = SENDS if outputs else []
    assert client.calls == (["begin", *sends, SET, "commit"] if exactly_once else [*sends, ("commit", {PARTITION: 42})])
    assert (bench.count("committed"), bench.count("in_doubt")) == (1, 0)
    if outputs:
        assert client.sent == {"value": b"value", "key": b"two", "partition": None, "headers": [("h", b"1")]}


async def test_a_group_without_an_offset_begins_at_the_first_record() -> None:
    assert await Bench(Client(offset=None)).committer.open() == 3


async def test_work_that_was_ended_elsewhere_is_not_opened() -> None:
    """A replay asks after each fence whether its plan is still there: the process that drops a plan fences it after."""
    bench = Bench(client := Client())
    bench.may_commit = [False, True]
    assert await bench.committer.open() == 17
    assert client.calls == [*FENCE, ("committed", PARTITION), *bench.reopen]


@pytest.mark.parametrize("error", [KafkaConnectionError, NotCoordinatorForGroupError])
async def test_an_offset_is_read_from_the_coordinator_that_has_written(error: type[KafkaError]) -> None:
    """A coordinator that starts between the write and the read may not have all offsets: it has another connection."""
    bench = Bench(client := Client(fails={"committed": error()}))
    with capture_logs() as told:
        assert await bench.committer.open() == 17
    assert client.calls == [*FENCE, *FENCE[1:], ("committed", PARTITION)]
    assert [(line["event"], line["error"]) for line in told] == [
        ("the offset is read again after another write", f"{error.__name__}()")
    ]


@pytest.mark.parametrize(
    ("partitions", "code"),
    [([], NotCoordinatorForGroupError.errno), ([(3, -1, "", GroupLoadInProgressError.errno)], 0)],
    ids=["group", "partition"],
)
async def test_an_answer_with_an_error_is_no_offset(partitions: list[Any], code: int) -> None:
    """A broker that does not coordinate the group must not set it back to its first record."""
    answer = OffsetFetchResponse_v3(0, [("t.in", partitions)] if partitions else [], code)
    bench = Bench(client := Client(answers=[answer]))
    assert await bench.committer.open() == 17
    read = ("committed", PARTITION)
    assert client.calls == [*FENCE, read, *FENCE[1:], read]


# --- errors ----------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("step", SENDS)
@pytest.mark.parametrize(
    ("error", "refused"), [(KafkaError("refused"), ""), (MessageSizeTooLargeError("too large"), "too large")]
)
async def test_a_refused_output_commits_neither_offset_nor_transaction(
    exactly_once: bool, step: str, error: KafkaError, refused: str
) -> None:
    bench = await Bench(client := Client(), exactly_once).opened()
    client.fails[step] = error
    result = await bench.commit(ONE, TWO)
    assert result.group_offset == 17
    assert refused in result.refusal
    assert bool(result.refusal) is bool(refused)
    assert client.calls[-len(bench.reopen) :] == bench.reopen
    assert SET not in client.calls
    assert "commit" not in client.steps
    # Each confirmation is retrieved or cancelled: asyncio would warn about the others, and a warning fails the test.
    await asyncio.gather(*client.confirmations, return_exceptions=True)


@pytest.mark.parametrize(
    "error",
    [BROKEN, OSError("no route"), AssertionError("no broker"), KeyError("no partition"), IllegalOperation("fenced")],
)
@pytest.mark.parametrize(
    ("exactly_once", "step"),
    [(True, "begin"), (True, "send t.one.v1"), (True, "offsets"), (True, "commit"), (False, "commit")],
)
async def test_any_error_of_a_step_leaves_the_commit_in_doubt(exactly_once: bool, step: str, error: Exception) -> None:
    bench = await Bench(client := Client(), exactly_once).opened()
    client.fails[step] = error
    assert await bench.commit(ONE) == CommitResult(17)
    assert "commit" not in client.steps
    assert (bench.count("committed"), bench.count("in_doubt")) == (0, 1)


@pytest.mark.parametrize(
    ("exactly_once", "step"),
    [
        *((True, step) for step in ("begin", "send t.one.v1", "confirmed t.one.v1", "offsets", "commit")),
        *((False, step) for step in ("send t.one.v1", "confirmed t.one.v1", "commit")),
    ],
)
async def test_a_step_that_hangs_ends_in_doubt_at_the_deadline(exactly_once: bool, step: str) -> None:
    bench = await Bench(client := Client(), exactly_once, deadline=0.05).opened()
    client.hangs = step
    assert await bench.commit(ONE) == CommitResult(17)
    assert "commit" not in client.steps


@both
async def test_committer_that_is_not_open_sends_nothing(exactly_once: bool) -> None:
    bench = Bench(client := Client(), exactly_once)
    assert await bench.commit(ONE) == CommitResult(17)
    assert client.calls == bench.reopen[1:]
    await bench.committer.close()
    assert client.calls[-1] == "stop"
    client.calls.clear()
    assert await bench.commit(ONE) == CommitResult(17)
    assert client.calls == bench.reopen[1:]
    await (task := asyncio.ensure_future(asyncio.sleep(0)))
    client._sender = SimpleNamespace(_sender_task=task)
    client.calls.clear()
    assert await bench.commit(ONE) == CommitResult(17)
    assert client.calls == bench.reopen


@both
async def test_a_close_that_hangs_ends_at_the_deadline(exactly_once: bool) -> None:
    bench = await Bench(client := Client(), exactly_once, deadline=0.05).opened()
    client.hangs = "stop"
    async with asyncio.timeout(5):
        await bench.committer.close()
    assert await bench.commit(ONE) == CommitResult(17), "it was not open"


# --- doubts ----------------------------------------------------------------------------------------------------------


async def test_a_doubt_is_resolved_by_the_offset_of_the_group() -> None:
    bench = await Bench(client := Client()).opened()
    client.fails["commit"], client.offset = BROKEN, 42
    with capture_logs() as logs:
        assert await bench.commit() == CommitResult(42), "it was committed"
    assert [line["error"] for line in logs if line["event"] == "commit in doubt"] == [f"KafkaError: {BROKEN}"]
    moments = [bench.committer.failing_since]
    client.fails["commit"] = BROKEN
    assert await bench.commit(to=50) == CommitResult(42)
    assert [*moments, bench.committer.failing_since] == [None, BEGAN]
    assert bench.count("in_doubt") == 2


async def test_repeated_commit_failures_back_off() -> None:
    bench = await Bench(client := Client()).opened()
    for _ in range(4):
        client.fails["commit"] = BROKEN
        assert await bench.commit() == CommitResult(17)
    assert bench.clock.pauses == [0.2, 0.5, 1.0]
    moments = [bench.committer.failing_since]
    assert await bench.commit() == CommitResult(42)
    assert [*moments, bench.committer.failing_since] == [BEGAN, None]


@both
async def test_producer_is_replaced_after_its_record_limit(exactly_once: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "RECORDS_OF_A_PRODUCER", 3)
    bench = await Bench(client := Client(), exactly_once).opened()
    assert await bench.commit(ONE, TWO) == CommitResult(42)
    assert "stop" not in client.steps
    client.offset = 99  # another process has moved it meanwhile
    assert await bench.commit(ONE) == CommitResult(99)
    assert client.calls[-len(bench.reopen) :] == bench.reopen
    client.calls.clear()
    assert await bench.commit(ONE, TWO) == CommitResult(42)
    assert "stop" not in client.steps


def unretrieved(*futures: Any) -> bool:
    """Whether one of the futures has an error that asyncio would complain about."""
    return any(future._log_traceback for future in futures)


async def test_stop_producer_retrieves_errors_that_a_fence_leaves() -> None:
    loop = asyncio.get_running_loop()
    failed, waiting, cancelled, drained, pending = (loop.create_future() for _ in range(5))
    for future in (failed, drained, pending):
        future.set_exception(BROKEN)
    cancelled.cancel()
    client: Any = Client()
    client._txn_manager = SimpleNamespace(_transaction_waiter=failed)
    client._message_accumulator = SimpleNamespace(
        _batches={
            PARTITION: [SimpleNamespace(_drain_waiter=each) for each in (waiting, cancelled, drained)],
            "other": [object()],
        },
        _pending_batches=[SimpleNamespace(_drain_waiter=pending)],
    )
    await stop_producer(client, 1)
    assert client.calls == ["stop"]
    assert not unretrieved(failed, drained, pending)
    assert not waiting.done()
