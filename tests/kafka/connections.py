"""Connections and tasks that abandoned Kafka clients leave open."""

import asyncio
import gc
import inspect
import weakref
from pathlib import Path
from types import CodeType
from typing import Any

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


def of_aiokafka() -> list[str]:
    """The tasks of clients that still run."""
    return [repr(task) for task in asyncio.all_tasks() if "aiokafka" in Path(_code_of(task).co_filename).parts]


def _code_of(task: asyncio.Task[Any]) -> CodeType:
    coroutine = task.get_coro()
    assert inspect.iscoroutine(coroutine)
    return coroutine.cr_code
