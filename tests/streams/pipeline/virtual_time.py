"""An event loop whose time moves only while no task is ready. It can be stopped between any two steps."""

from __future__ import annotations

import asyncio
import gc
import selectors
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from tests.samples import instance
from tests.streams.doubles import START

P = ParamSpec("P")
T = TypeVar("T")


class _NoWaiting(selectors.SelectSelector):
    """Instead of waiting, time is set forward."""

    now = 0.0
    turns = 0
    wanted: tuple[int, asyncio.Future[None]] | None = None

    def select(self, timeout: float | None = None) -> list[Any]:
        self.turns += 1
        if self.wanted is not None and self.turns >= self.wanted[0]:
            (_, future), self.wanted = self.wanted, None
            future.set_result(None)
            return []
        if timeout is None:
            raise RuntimeError("everybody waits for ever")
        self.now += max(timeout, 0.0)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time moves only while no task is ready."""

    def __init__(self) -> None:
        self._time = _NoWaiting()
        self.complaints: list[str] = []
        super().__init__(self._time)
        self.set_exception_handler(lambda _, context: self.complaints.append(str(context)))

    @classmethod
    def running(cls) -> VirtualLoop:
        """The loop that runs this."""
        return instance(cls, asyncio.get_running_loop())

    def time(self) -> float:
        return self._time.now

    @property
    def turns(self) -> int:
        """How often everybody who was ready has had a turn."""
        return self._time.turns

    async def until_turn(self, number: int) -> None:
        """Waits for a turn of the loop, so that a test can act between any two steps of the program."""
        self._time.wanted = (number, self.create_future())
        await self._time.wanted[1]


def virtually(work: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Runs a test, or what it calls, in a loop whose time moves only while no task is ready."""

    @wraps(work)
    def run(*given: P.args, **named: P.kwargs) -> T:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            result: T = runner.run(work(*given, **named))
            return result

    return run


class LoopClock:
    """The event loop's time as the pipeline's clock."""

    def now(self) -> datetime:
        return START + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def complaints() -> list[str]:
    """The loop's complaints at the end: unretrieved errors, and tasks that still run."""
    await asyncio.sleep(0)
    gc.collect()
    left = asyncio.all_tasks() - {asyncio.current_task()}
    return VirtualLoop.running().complaints + [f"left behind: {task.get_name()}" for task in left]
