"""The local broker with a real process: it answers, keeps its data, restarts, and leaves no process behind."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from streams.kafka.clients import opened
from streams.local_kafka.broker import LocalKafka, free_port
from streams.local_kafka.install import KAFKA_VERSION, cache_folder
from tests.processes import running
from tests.samples import environment

DEAD_LETTER_BYTES = 13 * 1024 * 1024
"""What a dead letter topic takes."""

pytestmark = [pytest.mark.timeout(180)]


async def create(bootstrap_servers: str, topic: str, **configs: str) -> None:
    async with opened(AIOKafkaAdminClient(bootstrap_servers=bootstrap_servers)) as admin:
        await admin.create_topics([NewTopic(topic, 1, 1, topic_configs=configs)])


async def write(bootstrap_servers: str, topic: str, *values: bytes) -> None:
    """One transaction."""
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap_servers, transactional_id=f"{topic}-writer", max_request_size=64 * 1024 * 1024
    )
    async with opened(producer), producer.transaction():
        await asyncio.gather(*[await producer.send(topic, value) for value in values])


async def read(bootstrap_servers: str, topic: str, count: int) -> list[bytes | None]:
    """As a separate group, whose offsets it commits."""
    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap_servers,
        group_id=f"{topic}-readers",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        isolation_level="read_committed",
    )
    async with opened(consumer):
        values = [(await consumer.getone()).value for _ in range(count)]
        await consumer.commit()
        assert await consumer.committed(TopicPartition(topic, 0)) is not None
        return values


async def test_the_largest_dead_letter_fits(kafka: str, topic_prefix: str) -> None:
    topic = f"{topic_prefix}pages.dlq"
    await create(kafka, topic, **{"max.message.bytes": str(DEAD_LETTER_BYTES)})
    largest = os.urandom(DEAD_LETTER_BYTES - 1024)
    await write(kafka, topic, largest)
    assert await read(kafka, topic, 1) == [largest]


@pytest.mark.slow
async def test_a_killed_broker_comes_back_where_it_was(topic_prefix: str) -> None:
    async with LocalKafka() as kafka:
        address, first, folder = kafka.bootstrap_servers, kafka.pid, kafka.data_dir
        await create(address, topic_prefix, **{"flush.messages": "1"})
        await write(address, topic_prefix, b"kept")
        kafka.kill()
        assert first is not None
        assert not running({first})
        assert not kafka.running
        await asyncio.to_thread(kafka.restart)
        assert kafka.bootstrap_servers == address
        assert kafka.pid not in (None, first)
        assert await read(address, topic_prefix, 1) == [b"kept"]
    assert not folder.exists()
    assert not kafka.running


@pytest.mark.slow
def test_detached_broker_answers_until_it_is_stopped(tmp_path: Path) -> None:
    """Each command is a process of its own: the broker outlives the one that starts it."""
    # The jars are those of the machine; the notes of its other brokers are in another folder.
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / f"kafka-{KAFKA_VERSION}").symlink_to(cache_folder() / f"kafka-{KAFKA_VERSION}")
    port = str(free_port())

    def broker(*options: str | Path) -> subprocess.CompletedProcess[str]:
        program = "from streams.cli.main import main; main()"
        command = [sys.executable, "-c", program, "broker", "--port", port, *map(str, options)]
        variables = environment(ASSAY_CACHE_DIR=str(tmp_path / "cache"))
        return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)

    started = broker("--detach", "--data", tmp_path / "data", "--json")
    try:
        assert started.returncode == 0, started.stderr
        said = json.loads(started.stdout)
        assert said["bootstrap_servers"] == f"127.0.0.1:{port}"
        again = broker("--detach")
        assert (again.returncode, "already answers" in again.stdout) == (0, True)
        assert broker("--detach", "--data", tmp_path / "other").returncode == 1
        beside = broker()
        assert (beside.returncode, f"assay broker --stop --port {port}" in beside.stderr) == (1, True)
    finally:
        stopped = broker("--stop")
    assert stopped.returncode == 0, stopped.stderr
    assert not running({said["kafka_pid"]})
    assert broker("--stop").returncode == 1
