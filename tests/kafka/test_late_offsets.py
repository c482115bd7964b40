"""Requests of a transaction that reach the broker late, or again, when the next transaction of their id is open."""

from functools import partial
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.client import ConnectionGroup, CoordinationType
from aiokafka.errors import KafkaError
from aiokafka.protocol.transaction import EndTxnRequest, TxnOffsetCommitRequest
from aiokafka.structs import OffsetAndMetadata

from streams.kafka.aiokafka_fixes.producers import SingleEndProducer
from streams.kafka.clients import producer_options
from tests.kafka.installation import CRAWLED, Installation

INVALID_PRODUCER_EPOCH = 47


class Late:
    """A producer of a group's offsets, of which one request arrives late or twice."""

    def __init__(self, assay: Installation) -> None:
        self.group = f"{assay.prefix}group"
        self.place = TopicPartition(assay.prefix + CRAWLED, 0)
        self._options = producer_options(assay.settings.kafka, f"{assay.prefix}late", "late")

    async def start(self) -> AIOKafkaProducer:
        """A new producer of the id."""
        producer = SingleEndProducer(**self._options)
        await producer.start()
        return producer

    async def offset(self, producer: AIOKafkaProducer, offset: int) -> None:
        """Begins a transaction with an offset."""
        await producer.begin_transaction()
        await producer.send_offsets_to_transaction({self.place: OffsetAndMetadata(offset, "")}, self.group)

    def request(self, producer: AIOKafkaProducer, offset: int) -> TxnOffsetCommitRequest:
        """The request that such an offset is."""
        manager = producer._txn_manager
        topics = [(self.place.topic, [(self.place.partition, offset, "")])]
        return TxnOffsetCommitRequest(
            manager.transactional_id, self.group, manager.producer_id, manager.producer_epoch, topics
        )

    async def arrives(self, producer: AIOKafkaProducer, request: TxnOffsetCommitRequest) -> list[Any]:
        """Has the broker get the request now; the answer."""
        node = producer._sender._coordinators[CoordinationType.GROUP]
        answer = await producer.client.send(node, request, group=ConnectionGroup.COORDINATION)
        return [code for _, partitions in answer.errors for _, code in partitions]


async def test_late_offsets_set_the_group_back(assay: Installation) -> None:
    """A fact about brokers: therefore a producer does not send the offsets of a transaction again."""
    late = Late(assay)
    producer = await late.start()
    await late.offset(producer, 2)
    request = late.request(producer, 2)
    await producer.commit_transaction()
    await late.offset(producer, 18)
    assert await late.arrives(producer, request) == [0]
    await producer.commit_transaction()
    await producer.stop()
    assert (await assay.committed("group"))[0] == 2


async def test_late_offsets_of_a_replaced_producer_are_refused(assay: Installation) -> None:
    late = Late(assay)
    old = await late.start()
    await late.offset(old, 2)
    request = late.request(old, 2)
    producer = await late.start()
    await late.offset(producer, 18)
    assert await late.arrives(producer, request) == [INVALID_PRODUCER_EPOCH]
    await producer.commit_transaction()
    for each in (old, producer):
        await each.stop()
    assert (await assay.committed("group"))[0] == 18


async def test_late_commit_of_a_replaced_producer_is_refused(assay: Installation) -> None:
    """The outcome of its commit is unknown, so a new producer follows, whose epoch the late commit does not have."""
    late = Late(assay)
    old = await late.start()
    send, held = old.client.send, []

    async def without_ends(node: int, request: Any, **options: Any) -> Any:
        if isinstance(request, EndTxnRequest):
            held.append(partial(send, node, request, **options))
            raise KafkaError("no answer")
        return await send(node, request, **options)

    old.client.send = without_ends
    await old.begin_transaction()
    await old.send_and_wait(late.place.topic, b"committed", partition=0)
    with pytest.raises(KafkaError, match="no confirmation of the end of the transaction"):
        await old.commit_transaction()
    producer = await late.start()
    await producer.begin_transaction()
    await producer.send_and_wait(late.place.topic, b"aborted", partition=0)
    [arrives] = held
    assert (await arrives()).error_code == INVALID_PRODUCER_EPOCH
    await producer.abort_transaction()
    for each in (old, producer):
        await each.stop()
    assert await assay.read(CRAWLED) == []
