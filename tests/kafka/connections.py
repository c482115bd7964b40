"""Connections and tasks that abandoned Kafka clients leave open, and a broker that provokes them."""

import asyncio
import contextlib
import gc
import inspect
import weakref
from pathlib import Path
from types import CodeType
from typing import Any, Self

import aiokafka.client
import pytest
from aiokafka.conn import AIOKafkaConnection


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


class SilentBroker:
    """A broker that falls silent, on every connection, after so many answers."""

    def __init__(self, kafka: str, answers: int) -> None:
        self._host, _, self._port = kafka.rpartition(":")
        self._answers = answers
        self._writers: list[asyncio.StreamWriter] = []
        self.silent = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.hang_up()
        await asyncio.sleep(0)

    def hang_up(self) -> None:
        """Resets every connection."""
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, questions = await asyncio.open_connection(self._host, int(self._port))
        self._writers += [writer, questions]
        with contextlib.suppress(asyncio.IncompleteReadError):
            for _ in range(self._answers):
                questions.write(await _message(reader))
                writer.write(await _message(answers))
            await _message(reader)
            self.silent.set()


forgets_a_connection = pytest.mark.filterwarnings("ignore:Unclosed AIOKafkaConnection:ResourceWarning")
"""A cancelled start while a silent broker is asked for the others: aiokafka leaves the connection open."""


async def _message(reader: asyncio.StreamReader) -> bytes:
    size = await reader.readexactly(4)
    return size + await reader.readexactly(int.from_bytes(size))


def of_aiokafka() -> list[str]:
    """The tasks of clients that still run."""
    return [repr(task) for task in asyncio.all_tasks() if "aiokafka" in Path(_code_of(task).co_filename).parts]


def _code_of(task: asyncio.Task[Any]) -> CodeType:
    coroutine = task.get_coro()
    assert inspect.iscoroutine(coroutine)
    return coroutine.cr_code
