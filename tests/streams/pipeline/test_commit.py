"""The order of calls of both commit stages, on clients that record their calls.

A broker shows a wrong order only in a crash at that moment. The rounds of ``make test-faults`` do that; these tests
state the order itself.
"""

import asyncio
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError, MessageSizeTooLargeError
from aiokafka.structs import OffsetAndMetadata

from streams.codec import OutputRecord
from streams.kafka import transactions
from streams.kafka.transactions import send_all, stop_producer
from streams.pipeline.commit import (
    AtLeastOnce,
    CommitDoubtError,
    CommitStage,
    ExactlyOnce,
    OutputRefusedError,
)

PARTITION = TopicPartition("t.in", 3)
ONE, TWO = (OutputRecord(f"{name}.v1", name.encode(), b"value", (("h", b"1"),)) for name in ("one", "two"))
BROKEN = KafkaError("not now")


@dataclass
class Client:
    """A producer and a consumer that record their calls; a step named in ``fails`` raises, one in ``hangs`` hangs."""

    calls: list[Any] = field(default_factory=list)
    fails: dict[str, BaseException] = field(default_factory=dict)
    hangs: str = ""
    ids: list[str | None] = field(default_factory=list)
    confirmations: list[asyncio.Task[None]] = field(default_factory=list)
    _client: Any = field(default_factory=lambda: SimpleNamespace(_sync_task=None, _conns={}))
    """What is cut off where a stop fails."""

    @property
    def steps(self) -> list[str]:
        """The names of the calls."""
        return [call[0] if isinstance(call, tuple) else call for call in self.calls]

    async def _step(self, name: str, *given: Any) -> None:
        if name == self.hangs:
            await asyncio.Event().wait()
        if name in self.fails:
            raise self.fails[name]
        self.calls.append((name, *given) if given else name)

    async def start(self) -> None:
        await self._step("start")

    async def stop(self) -> None:
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

    async def committed(self, partition: TopicPartition) -> int:
        await self._step("committed", partition)
        return 17

    async def commit(self, offsets: dict[TopicPartition, int]) -> None:
        await self._step("commit", offsets)


def stage_of(kind: type[CommitStage], client: Client, deadline: float = 5.0) -> CommitStage:
    def producers(transactional_id: str | None) -> Any:
        client.ids.append(transactional_id)
        return client

    consumer: Any = client
    if kind is ExactlyOnce:
        return ExactlyOnce(PARTITION, "t.assay.toy", "t.", consumer, producers, deadline)
    return AtLeastOnce(PARTITION, "t.", consumer, producers, deadline)


async def opened(kind: type[CommitStage], client: Client, deadline: float = 5.0) -> CommitStage:
    stage = stage_of(kind, client, deadline)
    await stage.open()
    client.calls.clear()
    return stage


both = pytest.mark.parametrize("kind", [ExactlyOnce, AtLeastOnce])
SENDS = ["send t.one.v1", "send t.two.v1", "confirmed t.one.v1", "confirmed t.two.v1"]


async def test_exactly_once_fences_before_it_reads_the_offset() -> None:
    client = Client()
    assert await stage_of(ExactlyOnce, client).open() == 17
    fence = ["start", "begin", ("offsets", {PARTITION: (0, "")}, "t.assay.toy"), "abort"]
    assert client.calls == [*fence, ("committed", PARTITION)]
    assert client.ids == ["t.assay.toy.t.in.3"]


async def test_exactly_once_commits_confirmed_outputs_with_the_offset() -> None:
    client = Client()
    stage = await opened(ExactlyOnce, client)
    await stage.commit([ONE, TWO], 42)
    assert client.calls == ["begin", *SENDS, ("offsets", {PARTITION: (42, "")}, "t.assay.toy"), "commit"]
    assert client.sent == {"value": b"value", "key": b"two", "partition": None, "headers": [("h", b"1")]}


async def test_at_least_once_reads_the_offset_without_a_transaction() -> None:
    client = Client()
    assert await stage_of(AtLeastOnce, client).open() == 17
    assert client.calls == ["start", ("committed", PARTITION)]
    assert client.ids == [None]


async def test_at_least_once_commits_after_all_outputs_are_confirmed() -> None:
    client = Client()
    stage = await opened(AtLeastOnce, client)
    await stage.commit([ONE, TWO], 42)
    assert client.calls == [*SENDS, ("commit", {PARTITION: 42})]


@both
async def test_an_offset_without_outputs_is_committed_too(kind: type[CommitStage]) -> None:
    client = Client()
    stage = await opened(kind, client)
    await stage.commit([], 42)
    transaction: list[Any] = ["begin", ("offsets", {PARTITION: (42, "")}, "t.assay.toy"), "commit"]
    assert client.calls == (transaction if kind is ExactlyOnce else [("commit", {PARTITION: 42})])


@both
@pytest.mark.parametrize("step", ["send t.one.v1", "send t.two.v1", "confirmed t.one.v1", "confirmed t.two.v1"])
@pytest.mark.parametrize(
    ("error", "doubt"),
    [(KafkaError("refused"), CommitDoubtError), (MessageSizeTooLargeError("too large"), OutputRefusedError)],
)
async def test_a_refused_output_commits_neither_offset_nor_transaction(
    kind: type[CommitStage], step: str, error: KafkaError, doubt: type[CommitDoubtError]
) -> None:
    client = Client()
    stage = await opened(kind, client)
    client.fails[step] = error
    with pytest.raises(CommitDoubtError, match=r"refused|too large") as raised:
        await stage.commit([ONE, TWO], 42)
    assert type(raised.value) is doubt
    assert not {"offsets", "commit"} & set(client.steps)
    # Each confirmation is retrieved or cancelled: asyncio would warn about the others, and a warning fails the test.
    await asyncio.gather(*client.confirmations, return_exceptions=True)


@pytest.mark.parametrize("error", [BROKEN, OSError("no route"), AssertionError("no broker"), KeyError("no partition")])
@pytest.mark.parametrize(
    ("kind", "step"),
    [(ExactlyOnce, "begin"), (ExactlyOnce, "offsets"), (ExactlyOnce, "commit"), (AtLeastOnce, "commit")],
)
async def test_any_error_of_a_step_leaves_the_commit_in_doubt(
    kind: type[CommitStage], step: str, error: Exception
) -> None:
    client = Client()
    stage = await opened(kind, client)
    client.fails[step] = error
    with pytest.raises(CommitDoubtError, match=type(error).__name__):
        await stage.commit([ONE], 42)
    assert step not in client.steps


@pytest.mark.parametrize(
    ("kind", "step"),
    [
        *((ExactlyOnce, step) for step in ("begin", "send t.one.v1", "confirmed t.one.v1", "offsets", "commit")),
        *((AtLeastOnce, step) for step in ("send t.one.v1", "confirmed t.one.v1", "commit")),
    ],
)
async def test_a_step_that_hangs_ends_in_doubt_at_the_deadline(kind: type[CommitStage], step: str) -> None:
    client = Client()
    stage = await opened(kind, client, deadline=0.05)
    client.hangs = step
    with pytest.raises(CommitDoubtError, match="TimeoutError"):
        await stage.commit([ONE], 42)
    assert "commit" not in client.steps


@both
@pytest.mark.parametrize("step", ["start", "committed"])
async def test_an_opening_that_hangs_ends_at_the_deadline(
    kind: type[CommitStage], step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.kafka.clients._END_SECONDS", 0.01)
    client = Client(hangs=step)
    with pytest.raises(TimeoutError):
        await stage_of(kind, client, deadline=0.05).open()


@pytest.mark.parametrize("step", ["begin", "offsets", "abort"])
async def test_the_fence_ends_at_the_deadline_and_no_offset_is_read(step: str) -> None:
    client = Client(hangs=step)
    with pytest.raises(TimeoutError):
        await stage_of(ExactlyOnce, client, deadline=0.05).open()
    assert ("committed", PARTITION) not in client.calls


@both
async def test_stage_that_is_not_open_sends_nothing(
    kind: type[CommitStage],
) -> None:
    client = Client()
    stage = stage_of(kind, client)
    with pytest.raises(CommitDoubtError, match="not started"):
        await stage.commit([ONE], 42)
    await stage.open()
    await stage.close()
    assert client.calls[-1] == "stop"
    client.calls.clear()
    with pytest.raises(CommitDoubtError, match="not started"):
        await stage.commit([ONE], 42)
    await stage.close()
    assert client.calls == []
    await stage.open()
    client.calls.clear()
    task = asyncio.ensure_future(asyncio.sleep(0))
    client._sender = SimpleNamespace(_sender_task=task)  # type: ignore[attr-defined] # as aiokafka's has it
    await stage.commit([], 42)
    await task
    client.calls.clear()
    with pytest.raises(CommitDoubtError, match="the producer's sender has stopped"):
        await stage.commit([ONE], 43)
    assert client.calls == []


@both
@pytest.mark.parametrize("error", [BROKEN, OSError("gone"), AssertionError("never started")])
async def test_close_does_not_raise(kind: type[CommitStage], error: Exception) -> None:
    client = Client()
    stage = await opened(kind, client)
    client.fails["stop"] = error
    await stage.close()


@both
async def test_a_close_that_hangs_ends_at_the_deadline(kind: type[CommitStage]) -> None:
    client = Client()
    stage = await opened(kind, client, deadline=0.05)
    client.hangs = "stop"
    async with asyncio.timeout(5):
        await stage.close()
    with pytest.raises(CommitDoubtError, match="not started"):
        await stage.commit([ONE], 42)


@both
async def test_a_producer_is_replaced_after_so_many_records(
    kind: type[CommitStage], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "RECORDS_OF_A_PRODUCER", 1)
    needs_renewal = [stage_of(kind, Client()).needs_renewal]
    monkeypatch.setattr(transactions, "RECORDS_OF_A_PRODUCER", 3)
    stage = await opened(kind, Client())
    for outputs in ([ONE, TWO], [ONE]):
        await stage.commit(outputs, 42)
        needs_renewal.append(stage.needs_renewal)
    await stage.close()
    await stage.open()
    assert [*needs_renewal, stage.needs_renewal] == [False, False, True, False]


def unretrieved(*futures: Any) -> bool:
    """Whether one of the futures has an error that asyncio would complain about."""
    return any(future._log_traceback for future in futures)


async def test_send_all_retrieves_the_errors_of_every_confirmation() -> None:
    """One is pending and gets cancelled, one has failed, one was cancelled before."""
    loop = asyncio.get_running_loop()
    futures = [loop.create_future() for _ in range(3)]
    futures[1].set_exception(BROKEN)
    futures[2].cancel()

    class Sender:
        def __init__(self) -> None:
            self.left = list(futures)

        async def send(self, *_: Any, **__: Any) -> asyncio.Future[None]:
            if not self.left:
                raise KafkaError("the fourth is refused")
            return self.left.pop(0)

    sender: Any = Sender()
    with pytest.raises(KafkaError, match="fourth"):
        await send_all(sender, "t.", [ONE] * 4)
    assert [future.cancelled() for future in futures] == [True, False, True]
    assert not unretrieved(*futures)


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
