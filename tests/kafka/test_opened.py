"""Clients that fail or are cancelled while they start or stop leave no connection and no task."""

import asyncio
import gc
import inspect
import weakref
from pathlib import Path
from types import CodeType
from typing import Any

import aiokafka.client
import pytest
from aiokafka.admin import NewTopic
from aiokafka.conn import AIOKafkaConnection
from aiokafka.errors import ProducerClosed

from streams.kafka.clients import make_admin, make_producer, opened
from streams.kafka.settings import KafkaSettings
from streams.kafka.transactions import stop_producer
from tests.proxy import Proxy


class Connections:
    """Counts the connections that aiokafka opens; a connection without references has closed itself."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.made: list[weakref.ref[AIOKafkaConnection]] = []
        self.by_way_of: int | None = None
        """The port of a proxy here that everything is connected through."""
        patch.setattr(aiokafka.client, "create_conn", self._connect)

    @property
    def open(self) -> int:
        """How many are open."""
        gc.collect()
        return sum(connection.connected() for made in self.made if (connection := made()) is not None)

    async def _connect(self, host: str, port: int, **options: Any) -> Any:
        # Made and remembered before it connects: a start that is cancelled in the middle is what this is about.
        made = AIOKafkaConnection(
            *((host, port) if self.by_way_of is None else ("127.0.0.1", self.by_way_of)), **options
        )
        self.made.append(weakref.ref(made))
        await made.connect()
        return made


def of_aiokafka() -> list[str]:
    """The tasks of clients that still run."""
    return [repr(task) for task in asyncio.all_tasks() if "aiokafka" in Path(_code_of(task).co_filename).parts]


def _code_of(task: asyncio.Task[Any]) -> CodeType:
    coroutine = task.get_coro()
    assert inspect.iscoroutine(coroutine)
    return coroutine.cr_code


@pytest.mark.parametrize("end", ["cancelled", "cancelled twice", "an error", "too long", "as it should"])
@pytest.mark.parametrize("transactional", [False, True])
async def test_a_producer_that_can_not_send_what_it_holds_is_cut_off(
    kafka: str, topic_prefix: str, end: str, transactional: bool, connections: Connections
) -> None:
    """aiokafka would retry for ever, and a caller that stops it would wait for ever."""
    async with opened(make_admin(settings(kafka))) as admin:
        await admin.create_topics([NewTopic(topic_prefix, 1, 1)])
    producer = make_producer(settings(kafka), topic_prefix if transactional else None, "test")
    silent, sent = asyncio.Event(), list[asyncio.Future[Any]]()

    async def work() -> None:
        async with opened(producer):
            if transactional:
                await producer.begin_transaction()
            await producer.send_and_wait(topic_prefix, b"x")
            proxy.turn("half_open")
            sent.append(await producer.send(topic_prefix, b"y"))
            silent.set()
            if end == "an error":
                raise KeyError(end)
            if end == "too long":
                await stop_producer(producer, 0.1)
            if end.startswith("cancelled"):
                await asyncio.sleep(60)

    host, _, port = kafka.rpartition(":")
    async with Proxy(int(port), host) as proxy:
        connections.by_way_of = proxy.port
        working = asyncio.create_task(work())
        await silent.wait()
        for _ in range({"cancelled": 1, "cancelled twice": 2}.get(end, 0)):
            await asyncio.sleep(0.01)
            working.cancel()
        if end == "as it should":
            await asyncio.wait([working], timeout=0.1)
            proxy.turn("fair")
        [result] = await asyncio.gather(working, return_exceptions=True)
        assert (connections.open, of_aiokafka()) == (0, [])
    told = {"an error": KeyError, "too long": None, "as it should": None}.get(end, asyncio.CancelledError)
    assert result is None if told is None else isinstance(result, told)
    [record] = sent
    assert record.done()
    assert isinstance(record.exception(), ProducerClosed) is (end != "as it should")


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> Connections:
    return Connections(monkeypatch)


def settings(servers: str) -> KafkaSettings:
    return KafkaSettings.model_validate({"bootstrap_servers": servers})
