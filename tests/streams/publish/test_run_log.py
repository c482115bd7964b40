"""What a run does without Kafka; tests/kafka/test_backfill.py tests it with Kafka."""

from typing import Any

import pytest
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import KafkaError, NotCoordinatorForGroupError
from aiokafka.protocol.commit import OffsetFetchResponse_v3

from streams.kafka.transactions import RecordWriter
from streams.publish.run_log import RunLog
from streams.publish.walk import Position
from streams.settings.model import load_settings
from streams.topology import PAGES_CRAWLED


async def test_unreachable_kafka_is_retried_with_growing_pauses() -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    settings = load_settings(kafka={"bootstrap_servers": "127.0.0.1:1"}, pipeline={"stalled_seconds": 100.0})
    log = RunLog(settings, PAGES_CRAWLED, "r", sleep)
    with pytest.raises(KafkaError):
        await log.commit([], Position(), Position(entries=1), 1)
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]
    with pytest.raises(KafkaError):
        await log.open()
    await log.close()


def test_group_and_transactional_id_name_prefix_run_and_topic() -> None:
    settings = load_settings(kafka={"bootstrap_servers": "127.0.0.1:1", "topic_prefix": "shop."})
    log = RunLog(settings, PAGES_CRAWLED, "november")
    assert log.group == "shop.assay.publish.november"
    assert log.transactional_id == "shop.assay.publish.november.shop.pages.crawled.v1"


async def test_position_is_read_after_a_write_at_the_same_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that Kafka knows must not begin again because a broker that no longer coordinates was asked."""
    brokers = [1, 2]

    async def start(_: object) -> None:
        pass

    async def write(*_: object) -> int:
        return brokers.pop(0)

    async def send(self: object, node_id: int, *_: object, **__: object) -> Any:
        known = [(log._place.topic, [(0, 3, Position(entries=3).to_text(), 0)])] if node_id == 2 else []
        return OffsetFetchResponse_v3(0, known, 0 if known else NotCoordinatorForGroupError.errno)

    monkeypatch.setattr(RecordWriter, "start", start)
    monkeypatch.setattr(RecordWriter, "await_coordinator", write)
    monkeypatch.setattr(AIOKafkaClient, "bootstrap", start)
    monkeypatch.setattr(AIOKafkaClient, "send", send)
    log = RunLog(load_settings(kafka={"bootstrap_servers": "127.0.0.1:1"}), PAGES_CRAWLED, "r", lambda _: start(0))
    assert await log.open() == Position(entries=3)
    assert brokers == []
    brokers += [1] * 40
    with pytest.raises(NotCoordinatorForGroupError):
        await log.open()
    assert brokers == []
