"""An event loop whose time moves only while no task is ready."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from tests.streams.doubles import START

P = ParamSpec("P")
T = TypeVar("T")


class _NoWaiting(selectors.SelectSelector):
    """Instead of waiting, time is set forward."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise RuntimeError("everybody waits for ever")
        self.now += max(timeout, 0.0)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time moves only while no task is ready."""

    def __init__(self) -> None:
        self._time = _NoWaiting()
        super().__init__(self._time)

    def time(self) -> float:
        return self._time.now


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
