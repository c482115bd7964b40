"""What a run does without Kafka; tests/kafka/test_backfill.py tests it with Kafka."""

import pytest
from aiokafka.errors import KafkaError

from streams.publish.sending import RunLog
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
