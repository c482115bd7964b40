"""Facts about aiokafka that the pipeline depends on. An upgrade that changes one of these facts fails here.

Several are traps rather than promises: the product works around them, and if a trap is gone, its guard can be removed.
"""

import asyncio
import inspect
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.client import AIOKafkaClient, ConnectionGroup, CoordinationType
from aiokafka.consumer.fetcher import Fetcher
from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.consumer.subscription_state import SubscriptionState
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.errors import (
    IllegalStateError,
    KafkaConnectionError,
    KafkaError,
    NotCoordinatorForGroupError,
    ProducerFenced,
)
from aiokafka.protocol.commit import OffsetFetchRequest, OffsetFetchResponse_v3
from aiokafka.record.default_records import DefaultRecordBatch
from aiokafka.structs import OffsetAndMetadata

from streams.kafka.clients import opened
from tests.kafka.batches import CODECS, batch

on_kafka = pytest.mark.kafka


@asynccontextmanager
async def topic(bootstrap: str, prefix: str) -> AsyncIterator[str]:
    async with opened(AIOKafkaAdminClient(bootstrap_servers=bootstrap)) as admin:
        name = f"{prefix}facts"
        await admin.create_topics([NewTopic(name, 1, 1)])
        yield name


@asynccontextmanager
async def producer(bootstrap: str, transactional_id: str | None = None) -> AsyncIterator[AIOKafkaProducer]:
    made = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=transactional_id)
    async with opened(made):
        yield made


@asynccontextmanager
async def consumer(bootstrap: str, group: str, topic: str, listener: Any = None) -> AsyncIterator[AIOKafkaConsumer]:
    made = AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        heartbeat_interval_ms=200,
    )
    made.subscribe([topic], listener=listener)
    async with opened(made):
        yield made


class Listener(ConsumerRebalanceListener):  # type: ignore[misc] # aiokafka is not typed
    """Records its calls, and pauses the assigned partitions."""

    def __init__(self, pause: bool = False, revoke_seconds: float = 0.0) -> None:
        self.consumer: AIOKafkaConsumer | None = None
        self.pause = pause
        self.revoke_seconds = revoke_seconds
        self.revoking = asyncio.Event()
        self.told: list[str] = []

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self.told.append("assigned")
        if self.pause and self.consumer is not None:
            self.consumer.pause(*assigned)

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        if not list(revoked):
            return
        self.revoking.set()
        await asyncio.sleep(self.revoke_seconds)
        self.told.append("revoked")


# --- producers and transactions ------------------------------------------------------------------------------------


@on_kafka
async def test_new_producer_of_an_id_fences_the_old_one(kafka: str, topic_prefix: str) -> None:
    """The private attribute that shows the sender's end exists."""
    async with topic(kafka, topic_prefix) as name, producer(kafka, f"{topic_prefix}a") as old:
        assert not old._sender._sender_task.done()
        await old.begin_transaction()
        await (await old.send(name, b"by the zombie"))
        async with producer(kafka, f"{topic_prefix}a") as new, new.transaction():
            await (await new.send(name, b"by the owner"))
        with pytest.raises(ProducerFenced):
            await old.commit_transaction()
        assert old._sender._sender_task.done()
        async with consumer(kafka, f"{topic_prefix}group", name) as reader:
            polled = await reader.getmany(timeout_ms=5000)
            assert [record.value for records in polled.values() for record in records] == [b"by the owner"]


# --- consumers and groups ------------------------------------------------------------------------------------------


def test_default_assignment_strategy_is_one_assignor() -> None:
    """With two, a member joins once for each of them with a growing list."""
    parameters = inspect.signature(AIOKafkaConsumer.__init__).parameters
    assert parameters["partition_assignment_strategy"].default == (RoundRobinPartitionAssignor,)


@on_kafka
async def test_a_pause_in_the_callback_is_in_time(kafka: str, topic_prefix: str) -> None:
    """So nothing is delivered before the partition is fenced and set to its committed offset."""
    listener = Listener(pause=True)
    async with topic(kafka, topic_prefix) as name:
        async with producer(kafka) as sender:
            await sender.send_and_wait(name, b"early")
        made = AIOKafkaConsumer(bootstrap_servers=kafka, group_id=f"{topic_prefix}group", auto_offset_reset="earliest")
        listener.consumer = made
        made.subscribe([name], listener=listener)
        await made.start()
        try:
            assert await made.getmany(timeout_ms=1000) == {}
            assert listener.told == ["assigned"]
            made.resume(TopicPartition(name, 0))
            assert await made.getmany(timeout_ms=5000) != {}
        finally:
            await made.stop()


@on_kafka
async def test_a_stop_waits_for_a_rebalance_that_is_going_on(kafka: str, topic_prefix: str) -> None:
    """So what a revoked partition still commits is committed before the connections close.

    It may even join again and be assigned partitions: who has stopped must take none.
    """
    listener = Listener(revoke_seconds=1.0)
    group = f"{topic_prefix}group"
    async with topic(kafka, topic_prefix) as name:
        async with consumer(kafka, group, name, listener=listener):
            second = AIOKafkaConsumer(name, bootstrap_servers=kafka, group_id=group)
            joining = asyncio.create_task(second.start())
            await asyncio.wait_for(listener.revoking.wait(), 30)
            assert listener.told == ["assigned"]
        told = listener.told[:2]
        await joining
        await second.stop()
        assert told == ["assigned", "revoked"]


@on_kafka
async def test_position_after_seek_is_known_for_assigned_partitions(kafka: str, topic_prefix: str) -> None:
    async with topic(kafka, topic_prefix) as name, consumer(kafka, f"{topic_prefix}group", name) as reader:
        reader.seek(TopicPartition(name, 0), 5)
        coroutine = reader.position(TopicPartition(name, 0))
        with pytest.raises(StopIteration) as ended:
            coroutine.send(None)
        assert ended.value.value == 5
        stranger = TopicPartition(name, 9)
        for call in (reader.pause, reader.resume, lambda partition: reader.seek(partition, 0)):
            with pytest.raises(IllegalStateError):
                call(stranger)
        with pytest.raises(IllegalStateError):
            await reader.position(stranger)
    assert issubclass(IllegalStateError, KafkaError)


@on_kafka
async def test_producer_knows_the_coordinator_and_its_connection(kafka: str, topic_prefix: str) -> None:
    """So an offset is read from the broker that has written, over the same connection."""
    group = f"{topic_prefix}group"
    async with topic(kafka, topic_prefix) as name, producer(kafka, f"{topic_prefix}a") as sender:
        async with sender.transaction():
            await sender.send_offsets_to_transaction({TopicPartition(name, 0): OffsetAndMetadata(7, "")}, group)
        node = sender._sender._coordinators[CoordinationType.GROUP]
        connection = sender.client._conns[node, ConnectionGroup.COORDINATION]
        assert (await connection.send(OffsetFetchRequest(group, [(name, [0])]))).error_code == 0
        connection.close()
        with pytest.raises(KafkaConnectionError):
            await connection.send(OffsetFetchRequest(group, [(name, [0])]))


async def test_an_error_without_partitions_is_taken_for_no_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    """So ``raise_offset_errors`` raises it. Kafka answers so at a broker that does not coordinate the group."""

    async def send(*_: object, **__: object) -> OffsetFetchResponse_v3:
        return OffsetFetchResponse_v3(0, [], NotCoordinatorForGroupError.errno)

    monkeypatch.setattr(AIOKafkaClient, "send", send)
    admin = AIOKafkaAdminClient()
    assert await admin.list_consumer_group_offsets("g", 1, [TopicPartition("t", 0)]) == {}
    member = GroupCoordinator(admin._client, SubscriptionState(), group_id="g")
    member.coordinator_id = 1
    assert await member._do_fetch_commit_offsets([TopicPartition("t", 0)]) == {}


# --- batches of records, which streams.kafka.aiokafka_fixes reads ---------------------------------------------------


@pytest.mark.parametrize("codec", CODECS)
def test_the_parser_calls_a_codec_by_the_name_in_its_module(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So what is unpacked can be limited there."""

    def unpack(packed: Any) -> Any:
        raise InterruptedError(bytes(packed))

    monkeypatch.setattr(sys.modules[DefaultRecordBatch.__module__], f"{codec}_decode", unpack)
    with pytest.raises(InterruptedError, match="packed"):
        iter(DefaultRecordBatch(batch((None, b"value", []), codec=codec, pack=lambda _: b"packed")))


def test_fetcher_module_name_creates_partition_records() -> None:
    assert "PartitionRecords" in Fetcher._proc_fetch_request.__code__.co_names
