"""Clients that are given up while they start: whenever that is, nothing of theirs stays open."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import aiokafka.client
import pytest
from aiokafka.conn import create_conn

from streams.kafka import make_admin, make_producer, make_reader, opened
from streams.kafka_settings import KafkaSettings

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
    kafka: str, make: Callable[[KafkaSettings], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await left_open(monkeypatch, opened, [make(settings(kafka)) for _ in range(_MOMENTS)]) == 0


async def test_it_is_found_where_aiokafka_is_left_alone(kafka: str, monkeypatch: pytest.MonkeyPatch) -> None:
    producers = [make_producer(settings(kafka), None, "test") for _ in range(_MOMENTS)]
    assert await left_open(monkeypatch, lambda producer: producer, producers) > 0
    for producer in producers:
        await producer.stop()


@clients
async def test_a_start_that_does_not_come_to_an_end_is_cancelled(make: Callable[[KafkaSettings], Any]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        servers = f"127.0.0.1:{deaf.getsockname()[1]}"
        task = asyncio.create_task(enter(opened(make(settings(servers)))))
        line, _ = await asyncio.to_thread(deaf.accept)
        with line:
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task


async def left_open(
    patch: pytest.MonkeyPatch, use: Callable[[Any], AbstractAsyncContextManager[Any]], clients: Sequence[Any]
) -> int:
    """How many connections stay open where starts are cancelled, at moments that are spread over the first one's."""
    made = []

    async def connect(*arguments: Any, **options: Any) -> Any:
        made.append(await create_conn(*arguments, **options))
        return made[-1]

    patch.setattr(aiokafka.client, "create_conn", connect)
    loop = asyncio.get_running_loop()
    began = loop.time()
    await enter(use(clients[0]))
    took = loop.time() - began
    for number, client in enumerate(clients[1:]):
        task = asyncio.create_task(enter(use(client)))
        await asyncio.sleep(took * number / len(clients))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    still = [connection for connection in made if connection.connected()]
    for connection in still:
        connection.close()
    return len(still)


async def enter(client: AbstractAsyncContextManager[Any]) -> None:
    async with client:
        pass


def settings(servers: str) -> KafkaSettings:
    return KafkaSettings.model_validate({"bootstrap_servers": servers})
