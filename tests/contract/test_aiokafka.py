"""Traps and private names of aiokafka that the product works around; if one is gone, its guard can be removed.

What the pipeline depends on besides is shown by ``tests/simulation``, which runs the real aiokafka.
"""

import sys
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import AIOKafkaClient
from aiokafka.consumer.fetcher import Fetcher
from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.consumer.subscription_state import SubscriptionState
from aiokafka.errors import NotCoordinatorForGroupError
from aiokafka.protocol.commit import OffsetFetchResponse_v3
from aiokafka.record.default_records import DefaultRecordBatch

from tests.kafka.batches import CODECS, batch


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
