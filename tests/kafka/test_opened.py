"""Clients that are given up while they start or stop: whenever that is, nothing of theirs stays open or goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from aiokafka.admin import NewTopic
from aiokafka.errors import KafkaError, ProducerClosed

from streams import broker
from streams.kafka import make_admin, make_producer, make_reader, opened
from streams.kafka_settings import KafkaSettings
from streams.pipeline.commit import stop_producer
from tests.faults.proxy import Proxy
from tests.kafka.connections import Connections, Falling, of_aiokafka

pytestmark = pytest.mark.kafka

_MOMENTS = 40

CLIENTS: dict[str, Callable[[KafkaSettings], Any]] = {
    "admin": make_admin,
    "producer": lambda settings: make_producer(settings, None, "test"),
    "reader": make_reader,
}

clients = pytest.mark.parametrize("make", CLIENTS.values(), ids=CLIENTS)


@clients
async def test_nothing_stays_open_whenever_a_start_is_cancelled(
    kafka: str, make: Callable[[KafkaSettings], Any], connections: Connections
) -> None:
    await give_up(opened, [make(settings(kafka)) for _ in range(_MOMENTS)])
    assert connections.open == 0


async def test_it_is_found_where_aiokafka_is_left_alone(kafka: str, connections: Connections) -> None:
    producers = [make_producer(settings(kafka), None, "test") for _ in range(_MOMENTS)]
    await give_up(lambda producer: producer, producers)
    assert connections.open > 0
    for producer in producers:
        await producer.stop()
    for connection in connections.made:
        connection.close()


@clients
@pytest.mark.parametrize("answers", [0, 1])
async def test_a_start_that_does_not_come_to_an_end_is_cancelled_at_once(
    kafka: str, make: Callable[[KafkaSettings], Any], answers: int, connections: Connections
) -> None:
    """Also in the middle of the question for the brokers, whose connection aiokafka knows nowhere else."""
    async with Falling(kafka, answers) as falling:
        task = asyncio.create_task(enter(opened(make(settings(falling.address)))))
        await falling.silent.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert connections.open == 0
        assert of_aiokafka() == []


async def test_a_start_that_fails_leaves_nothing(kafka: str, connections: Connections) -> None:
    async with Falling(kafka, answers=1) as falling:
        task = asyncio.create_task(enter(opened(make_reader(settings(falling.address)))))
        await falling.silent.wait()
        falling.hang_up()
        with pytest.raises(KafkaError):
            await task
        assert connections.open == 0


async def test_a_broker_that_has_only_begun_to_answer_is_asked_again_later(
    kafka: str, connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one does that starts on a machine with too much to do."""
    monkeypatch.setattr(broker, "_ANSWER_SECONDS", 0.5)
    async with Falling(kafka, answers=1) as falling:
        assert not await asyncio.to_thread(broker._answers, falling.address)
    assert connections.made
    assert connections.open == 0


@pytest.mark.parametrize("end", ["cancelled", "cancelled twice", "an error", "too long", "as it should"])
@pytest.mark.parametrize("transactional", [False, True])
async def test_a_producer_that_can_not_send_what_it_holds_is_cut_off(
    kafka: str, topic_prefix: str, end: str, transactional: bool, connections: Connections
) -> None:
    """aiokafka would try for ever, and so would whoever stops it wait."""
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


async def give_up(use: Callable[[Any], AbstractAsyncContextManager[Any]], clients: Sequence[Any]) -> None:
    """Cancels starts, at moments that are spread over what the first one takes."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    await enter(use(clients[0]))
    took = loop.time() - began
    for number, client in enumerate(clients[1:]):
        task = asyncio.create_task(enter(use(client)))
        await asyncio.sleep(took * number / len(clients))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def enter(client: AbstractAsyncContextManager[Any]) -> None:
    async with client:
        pass


def settings(servers: str) -> KafkaSettings:
    return KafkaSettings.model_validate({"bootstrap_servers": servers})
