"""What a run does without Kafka; tests/kafka/test_backfill.py tests it with Kafka."""

from typing import Any

import pytest
from aiokafka.errors import KafkaError, ProducerFenced
from aiokafka.structs import OffsetAndMetadata

from streams.kafka.transactions import RecordWriter
from streams.publish.run_log import RunLog, RunTakenError
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
        await log.commit([], Position(), Position(entries=1))
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]
    with pytest.raises(KafkaError):
        await log.open()
    await log.close()


async def test_an_open_run_has_its_position_or_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Any] = [None, OffsetAndMetadata(3, Position(entries=3).to_text()), ProducerFenced()]

    async def read(*_: object) -> Any:
        if isinstance(found[0], Exception):
            raise found.pop(0)
        return found.pop(0)

    monkeypatch.setattr(RecordWriter, "start_and_read_offset", read)
    log = RunLog(load_settings(kafka={"bootstrap_servers": "127.0.0.1:1"}), PAGES_CRAWLED, "r")
    assert await log.open() is None
    assert await log.open() == Position(entries=3)
    with pytest.raises(RunTakenError):
        await log.open()
