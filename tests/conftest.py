"""Fixtures that every test may ask for: one Kafka a run, and names of its own for each test."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import sys
import uuid
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from streams.kafka import opened
from tests.kafka_server import kafka_server


@pytest.fixture(scope="session")
def kafka() -> Iterator[str]:
    """Bootstrap servers of a real Kafka. Topics are not created by themselves; see ``topic_prefix``."""
    with kafka_server() as bootstrap_servers:
        yield bootstrap_servers


@pytest.fixture
def topic_prefix(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A prefix that no other test uses, such as ``t3f9a1c07b2d.``, for topics, groups and transactional ids.

    The test creates the topics that it uses; commands create none, for each of them would create all. The topics are
    deleted after the test, because the broker keeps a file open for each partition.
    """
    monkeypatch.setenv("ASSAY_KAFKA__CREATE_TOPICS", "false")
    prefix = f"t{uuid.uuid4().hex[:11]}."
    servers = request.getfixturevalue("kafka") if "kafka" in request.fixturenames else None
    yield prefix
    if servers is not None:
        # In a thread, for the test's own event loop may still be there.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, _delete_topics(servers, prefix)).result()


@pytest.fixture(autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Journal, fetch cache and index of each test are new: neither those of the checkout nor those of another test."""
    folder = tmp_path_factory.getbasetemp() / "state" / uuid.uuid4().hex
    monkeypatch.setenv("ASSAY_LLM__CACHE_PATH", str(folder / "llm.sqlite"))
    monkeypatch.setenv("ASSAY_FETCH__CACHE_PATH", str(folder / "fetch.sqlite"))
    monkeypatch.setenv("ASSAY_INDEX__PATH", str(folder / "index"))


def pytest_configure() -> None:
    """A shell starts what runs in the background deaf to Ctrl-C, and all of its children would be so too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """What a first try left open, as tasks do that end in the middle of a connect, is not the second one's fault."""
    if getattr(item, "execution_count", 1) > 1:
        sys.last_value = sys.last_traceback = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()


async def _delete_topics(servers: str, prefix: str) -> None:
    """A broker that does not answer any more is the next test's matter."""
    admin = AIOKafkaAdminClient(bootstrap_servers=servers, client_id="assay-tests")
    with contextlib.suppress(KafkaError, OSError):
        async with asyncio.timeout(20), opened(admin):
            if mine := [topic for topic in await admin.list_topics() if topic.startswith(prefix)]:
                await admin.delete_topics(mine)
