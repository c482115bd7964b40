"""The local broker with a real process: it answers, keeps its data, restarts, and leaves no process behind."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from streams.local_kafka.broker import LocalKafka, free_port
from streams.local_kafka.install import KAFKA_VERSION, cache_folder
from streams.topology import DEAD_LETTER_BYTES
from tests.kafka.installation import CRAWLED, DEAD, Installation, configure, installed, page
from tests.processes import running
from tests.samples import environment

pytestmark = [pytest.mark.timeout(180)]


async def test_the_largest_dead_letter_fits(assay: Installation) -> None:
    largest = os.urandom(DEAD_LETTER_BYTES - 1024)
    await assay.feed([(b"k", largest)], DEAD, transactional=True)
    assert [record.value for record in await assay.read(DEAD)] == [largest]


@pytest.mark.slow
async def test_a_killed_broker_comes_back_where_it_was(topic_prefix: str) -> None:
    async with LocalKafka() as kafka:
        address, first, folder = kafka.bootstrap_servers, kafka.pid, kafka.data_dir
        assay = await installed(address, topic_prefix)
        await configure(assay.settings, topic_prefix + CRAWLED, {"flush.messages": "1"})
        await assay.feed([page(1)], transactional=True)
        kafka.kill()
        assert first is not None
        assert not running({first})
        assert not kafka.running
        await asyncio.to_thread(kafka.restart)
        assert kafka.bootstrap_servers == address
        assert kafka.pid not in (None, first)
        assert [record.value for record in await assay.read(CRAWLED)] == [page(1)[1]]
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
