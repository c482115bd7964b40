"""An event loop in virtual time with simulated processes, which can be killed or frozen between any two callbacks.

Time moves only while no callback is ready. Every callback belongs to the process whose context it was scheduled in.
The callbacks of a killed process never run, not even its ``finally`` blocks; those of a frozen one run when it wakes.
"""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import random
import time
import uuid
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

START = datetime(2026, 1, 1, tzinfo=UTC)
"""The wall clock at the start of a run."""
_KEPT_TIMERS = 200
"""Cancelled timers that stay in the heap, about."""
_IN_CALLBACK = "error in"
_TURN_SECONDS = 1e-6
"""For so long the callbacks of a turn run: without it, a pause of less than the clock's precision would never end."""
_HANG_TURNS = 100_000
"""Turns of the loop after which a run that makes no progress is a fault."""


class NoProgressError(Exception):
    """The run can't end."""


class Process:
    """A simulated process: the callbacks that were scheduled in its context."""

    def __init__(self, name: str) -> None:
        """Runs nothing yet."""
        self.name = name
        self.alive = True
        self.frozen = False
        self.parked: list[asyncio.Handle] = []
        """What waits until the process wakes."""

    @property
    def runs(self) -> bool:
        """Whether its callbacks run."""
        return self.alive and not self.frozen


_PROCESS: ContextVar[Process | None] = ContextVar("process", default=None)
OUTSIDE = Context()
"""The context of the network and the brokers, which belong to no process."""


def current_process() -> Process | None:
    """The process whose callback runs; None for the network and the brokers."""
    return _PROCESS.get()


class _Handle(asyncio.Handle):
    """As asyncio's, without what it does for debugging."""

    def __init__(self, callback: Any, args: Any, loop: World, context: Context | None) -> None:
        self._context = contextvars.copy_context() if context is None else context
        self._loop = loop
        self._callback = callback
        self._args = args
        self._cancelled = False
        self._repr = self._source_traceback = None


class _TimerHandle(asyncio.TimerHandle):
    """As asyncio's, without what it does for debugging."""

    def __init__(self, when: float, callback: Any, args: Any, loop: World, context: Context | None) -> None:
        _Handle.__init__(self, callback, args, loop, context)  # type: ignore[arg-type] # the base class is the same
        self._when = when
        self._scheduled = True


def _run(handle: Any) -> None:
    """Runs a callback as asyncio does, if its process runs."""
    context: Context = handle._context
    process = context.get(_PROCESS)
    if process is None:
        # An error is a bug of the simulation and ends the run.
        context.run(handle._callback, *handle._args)
    elif process.runs:
        try:
            context.run(handle._callback, *handle._args)
        except Exception as error:
            handle._loop.call_exception_handler({"message": f"{_IN_CALLBACK} {handle._callback}", "exception": error})
    elif process.alive:
        process.parked.append(handle)


class _Numbered:
    """What has a place in a set that does not depend on its address in memory."""

    numbers = count()
    _number: int

    def __hash__(self) -> int:
        try:
            return self._number
        except AttributeError:
            # Most are never in a set.
            self._number = number = next(self.numbers)
            return number


class _Task(_Numbered, asyncio.Task[Any]):
    """A task."""


class _Future(_Numbered, asyncio.Future[Any]):
    """A future."""


class World(asyncio.BaseEventLoop):
    """The event loop of one run."""

    def __init__(self) -> None:
        """Starts at time 0."""
        super().__init__()
        _Numbered.numbers = count()
        self._now = 0.0
        self._turns = 0
        self._timer_cancelled_count = 0
        self._scheduled: list[tuple[float, int, _TimerHandle]] = []
        """Each with what it is sorted by."""
        self._timers = count()
        self.connect: Callable[..., Coroutine[Any, Any, Any]] | None = None
        """What opens a connection."""
        self.complaints: list[str] = []
        """Errors of callbacks. Errors that no code has retrieved are reported at no certain time."""
        self._kept: list[object] = []
        self.set_exception_handler(self._complain)
        self.set_task_factory(lambda loop, work, **options: _Task(work, loop=loop, **options))

    def time(self) -> float:
        """Virtual seconds since the start."""
        return self._now

    def pass_time(self, seconds: float) -> None:
        """Passes time in which no callback runs, as a blocking call does."""
        self._now += seconds

    def call_soon(self, callback: Any, *args: Any, context: Context | None = None) -> asyncio.Handle:  # type: ignore[override]
        """As asyncio's."""
        handle = _Handle(callback, args, self, context)
        self._ready.append(handle)  # type: ignore[attr-defined]
        return handle

    def call_at(self, when: float, callback: Any, *args: Any, context: Context | None = None) -> asyncio.TimerHandle:  # type: ignore[override]
        """As asyncio's."""
        timer = _TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._scheduled, (when, next(self._timers), timer))
        return timer

    def create_future(self) -> asyncio.Future[Any]:
        """As asyncio's."""
        return _Future(loop=self)

    def start(self, process: Process, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Starts work as a process."""
        context = contextvars.copy_context()
        context.run(_PROCESS.set, process)
        return self.create_task(work, context=context, name=process.name)

    def kill(self, process: Process) -> None:
        """Ends a process between two callbacks. Its suspended coroutines are kept, so that none is closed."""
        process.alive = False
        self._kept += [process.parked, *asyncio.all_tasks(self)]

    def freeze(self, process: Process, seconds: float) -> None:
        """Stops a process for some time, as SIGSTOP does."""
        process.frozen = True
        self.call_at(self.time() + seconds, self._wake, process, context=OUTSIDE)

    def _wake(self, process: Process) -> None:
        process.frozen = False
        parked, process.parked = process.parked, []
        if process.alive:
            self._ready.extend(parked)  # type: ignore[attr-defined]

    async def create_connection(self, factory: Any, host: Any = None, port: Any = None, **options: Any) -> Any:  # type: ignore[override] # noqa: ARG002
        """Opens a connection of the simulated network."""
        assert self.connect is not None
        return await self.connect(factory, port)

    def _complain(self, _: object, context: dict[str, Any]) -> None:
        if context["message"].startswith(_IN_CALLBACK):
            self.complaints.append(f"{context['message']}: {context['exception']!r}")

    def _run_once(self) -> None:
        """As asyncio's, without a selector: if nothing is ready, time is set to the next timer."""
        ready, timers = self._ready, self._scheduled  # type: ignore[attr-defined] # of the base class
        self._turns += 1
        if self._turns > _HANG_TURNS:
            raise NoProgressError("the loop makes no progress")
        if self._timer_cancelled_count > _KEPT_TIMERS:
            self._scheduled = timers = [each for each in timers if not each[2]._cancelled]
            heapq.heapify(timers)
            self._timer_cancelled_count = 0
        while timers and timers[0][2]._cancelled:
            heapq.heappop(timers)
        if not ready:
            if not timers:
                raise NoProgressError("everybody waits for ever")
            self._now = max(self._now, timers[0][0])
        self._now += _TURN_SECONDS
        while timers and timers[0][0] <= self._now:
            timer = heapq.heappop(timers)[2]
            timer._scheduled = False
            ready.append(timer)
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle._cancelled:
                _run(handle)

    def _write_to_self(self) -> None:
        """No other thread wakes the loop."""


class WorldClock:
    """The world's time as the pipeline's clock."""

    def __init__(self, world: World) -> None:
        """Reads the time of a world."""
        self._world = world

    def now(self) -> datetime:
        """The current instant, UTC."""
        return START + timedelta(seconds=self._world.time())

    def monotonic(self) -> float:
        """Seconds since the start."""
        return self._world.time()

    async def sleep(self, seconds: float) -> None:
        """Pauses."""
        await asyncio.sleep(seconds)


def make_deterministic(world: World, seed: int) -> None:
    """Clocks, pauses, random numbers and identifiers of this process are those of the world from now on."""
    time.monotonic = world.time
    time.time = lambda: START.timestamp() + world.time()
    time.sleep = world.pass_time  # type: ignore[assignment] # it takes only numbers
    random.seed(seed)
    uuid.uuid4 = lambda: uuid.UUID(int=random.getrandbits(128), version=4)
