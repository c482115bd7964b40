"""A pool of child processes that run pure functions under limits; the event loop only moves bytes.

If a job exceeds a limit or ends its child, the pool replaces the child and runs the other jobs of that child again. A
job that exceeds its CPU time is not repeated: it would do so again. A job that ends its child in another way runs once
more, alone, in a child that ran no other job; a pause of the machine is one such way. The pool kills a child that is
silent for longer than its job may take, and a template that does not answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import pickle
import signal
import socket
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import KW_ONLY, dataclass, field
from heapq import heappop, heappush
from typing import Any, Self

from schemas.outcome import Dead, DeadReason
from streams.runtime.process import structlog_to_logging
from streams.workers.child import LENGTH, OUT_OF_MEMORY, SOCKET_BYTES, JobLimits, Work
from streams.workers.template import Deadlines, Start, Template, ended_early

_LARGEST_RESULT = 256 << 20  # bytes; a child that announces more is out of order, and ends
_AHEAD = 2  # jobs that a child has at most: one in work, and one that it takes without waiting for the event loop
_SHORTEST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.05, 30.0


def concurrency_of(processes: int) -> int:
    """Jobs that keep so many children busy: each has one in work and one waiting, and the event loop has one."""
    return processes * (_AHEAD + 1)


@dataclass(order=True, slots=True)
class _Job:
    number: int  # jobs start in this order, also those that run again
    of: Any = field(compare=False)
    result: asyncio.Future[Any] = field(compare=False)
    has_ended_a_child: bool = field(default=False, compare=False)


@dataclass(eq=False, slots=True)
class _Child:
    pid: int
    template: Template
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    jobs: deque[_Job] = field(default_factory=deque)
    overdue: bool = False

    def send(self, job: _Job) -> None:
        body = pickle.dumps(job.of, pickle.HIGHEST_PROTOCOL)
        self.jobs.append(job)
        self.writer.write(LENGTH.pack(len(body)))
        self.writer.write(body)

    async def receive(self) -> bytes | None:
        """The next message; None if the child ended."""
        try:
            length = LENGTH.unpack(await self.reader.readexactly(LENGTH.size))[0]
            return await self.reader.readexactly(length) if length <= _LARGEST_RESULT else None
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    def kill(self) -> None:
        # While the connection is open, no other process has its number. Its template may be dead, or silent.
        if not self.reader.at_eof():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        # Not ``close``, which waits until a child that is at work has taken all bytes.
        self.writer.transport.abort()

    async def end(self) -> int | None:
        """Ends the process if it runs, and returns its exit status; a signal is negative. None if it is unknown."""
        self.kill()
        return await self.template.end_child(self.pid)


@dataclass(eq=False, repr=False)
class WorkerPool:
    """Runs jobs in child processes, between ``start`` and ``stop``, or as an async context manager.

    Attributes:
        make_work: As in ``Template.started``.
        processes: Their number.
        limits: Of one job.
        how: As in ``Template.started``.
        on_failure: Called whenever a child ended because of a job.
    """

    make_work: Callable[[], Work]
    processes: int
    limits: JobLimits
    _: KW_ONLY
    how: Start = "spawn"
    on_failure: Callable[[DeadReason], None] = lambda _: None

    def __post_init__(self) -> None:
        self._template: Template | None = None
        self._renewing = asyncio.Lock()
        self._waiting: list[_Job] = []
        self._retry_alone: deque[_Job] = deque()
        self._deadlines = Deadlines()
        self._children: set[_Child] = set()
        self._fed: set[_Child] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._numbers = itertools.count()

    async def start(self) -> None:
        """Starts the children, if they are not started. Raises ChildStartError."""
        if self._tasks:
            return
        self._run(self._deadlines.watch())
        try:
            children = [await self._start() for _ in range(self.processes)]
        except BaseException:
            await self.stop()
            raise
        for child in children:
            self._run(self._use_and_replace(child))

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def concurrency(self) -> int:
        return concurrency_of(self.processes)

    async def run(self, job: Any) -> Any:
        """The result of a job; a ``Dead`` if it has none."""
        result: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        heappush(self._waiting, _Job(next(self._numbers), job, result))
        self._feed()
        return await result

    async def _use_and_replace(self, child: _Child) -> None:
        while True:
            await self._use(child)
            await self._on_child_exit(child)
            child = await self._next()

    async def _use(self, child: _Child) -> None:
        if self._retry_alone:
            self._send(child, self._retry_alone.popleft())
            if not await self._collect(child):
                return
        self._fed.add(child)
        try:
            self._feed()
            while await self._collect(child):
                self._feed()
        finally:
            self._fed.discard(child)

    def _feed(self) -> None:
        """Gives each waiting job to the child with the fewest jobs, until every child has enough."""
        while self._waiting and self._fed:
            child = min(self._fed, key=lambda child_process: len(child_process.jobs))
            if len(child.jobs) >= _AHEAD:
                return
            job = heappop(self._waiting)
            # Otherwise its caller has gone, for example because a query took too long.
            if not job.result.done():
                self._send(child, job)

    def _send(self, child: _Child, job: _Job) -> None:
        child.send(job)
        if len(child.jobs) == 1:
            self._expect_result(child)

    def _expect_result(self, child: _Child) -> None:
        """The first job of a child, which is in work, has a deadline."""
        self._deadlines.end(child)
        if child.jobs:
            self._deadlines.begin(child, self.limits.wall_seconds + self.limits.silent_seconds)

    async def _collect(self, child: _Child) -> bool:
        """Takes the next result of a child; False if the child ended instead."""
        message = await child.receive()
        if message is None or child.overdue:
            return False
        try:
            result = pickle.loads(message)  # noqa: S301  # from a child
        except Exception as error:
            # The memory of the child is damaged. It ends, and the job runs once more.
            _warn("a child process sent a result that can't be read", error=repr(error))
            return False
        job = child.jobs.popleft()
        self._expect_result(child)
        if not job.result.done():
            job.result.set_result(result)
        return True

    async def _on_child_exit(self, child: _Child) -> None:
        self._deadlines.end(child)
        status = await child.end()
        self._children.discard(child)
        reason = _reason(status, child.overdue)
        self._log_end("a child process ended", reason, status)
        # Without its template the reason for another end is unknown, and no job is blamed for it.
        if child.jobs and (child.overdue or status is not None):
            self.on_failure(reason)
            culprit = child.jobs.popleft()
            if status == -signal.SIGPROF or culprit.has_ended_a_child:
                if not culprit.result.done():
                    culprit.result.set_result(self._refusal(reason, status))
            else:
                culprit.has_ended_a_child = True
                self._retry_alone.append(culprit)
        for job in child.jobs:
            heappush(self._waiting, job)
        self._feed()

    def _log_end(self, event: str, reason: DeadReason, status: int | None) -> None:
        # A command reports the outcome of each input itself.
        if self.how == "spawn":
            _warn(event, reason=reason, status=status)

    def _refusal(self, reason: DeadReason, status: int | None) -> Dead:
        limits = self.limits
        match reason:
            case DeadReason.TOOK_TOO_LONG:
                detail = f"more than {limits.cpu_seconds:g} s of CPU time, or {limits.wall_seconds:g} s in all"
            case DeadReason.OUT_OF_MEMORY:
                detail = f"more than {limits.memory_bytes >> 20} MiB of memory"
            case _:
                detail = f"its process ended with status {status}"
        return Dead(reason, detail)

    async def _start(self) -> _Child:
        template = await self._warm_template()
        own_end, child_end = socket.socketpair()
        for end in (own_end, child_end):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BYTES)
            end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SOCKET_BYTES)
        try:
            with child_end:
                pid = await template.fork(child_end)
            child = _Child(pid, template, *await asyncio.open_connection(sock=own_end))
        except BaseException:
            # A child that starts all the same finds its connection closed, and ends.
            own_end.close()
            raise
        self._children.add(child)
        self._deadlines.begin(child, self.limits.silent_seconds)
        ready = await child.receive()
        self._deadlines.end(child)
        if ready is None or child.overdue:
            self._children.discard(child)
            raise ended_early(await child.end(), child.overdue)
        return child

    async def _warm_template(self) -> Template:
        async with self._renewing:
            if (old := self._template) is not None and old.has_ended:
                self._template = None
                status = await old.end()
                self._log_end("the template of the child processes ended", _reason(status, old.overdue), status)
            if self._template is None:
                self._template = await Template.started(self.how, self.make_work, self.limits, self._deadlines)
            return self._template

    async def _next(self) -> _Child:
        pause = _SHORTEST_PAUSE_SECONDS
        while True:
            try:
                return await self._start()
            except Exception as error:
                # Whatever it is: without another attempt the pool would have a child less.
                _warn("a child process does not start", error=str(error), next_try_in_seconds=pause)
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    async def stop(self) -> None:
        """Ends all children; jobs without a result are cancelled."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        unfinished = [job for child in self._children for job in child.jobs] + [*self._retry_alone, *self._waiting]
        self._waiting.clear()
        for job in unfinished:
            job.result.cancel()
        for child in self._children:
            child.kill()
        self._children.clear()
        if (template := self._template) is not None:
            self._template = None
            await template.end()


def _reason(status: int | None, overdue: bool) -> DeadReason:
    if overdue or status in (-signal.SIGPROF, -signal.SIGALRM):
        return DeadReason.TOOK_TOO_LONG
    return DeadReason.OUT_OF_MEMORY if status == OUT_OF_MEMORY else DeadReason.CRASHED


def _warn(event: str, **values: object) -> None:
    # Imported on use: a command whose children all stay alive starts faster.
    import structlog

    structlog_to_logging()
    structlog.get_logger(__name__).warning(event, **values)
