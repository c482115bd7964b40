"""A pool of child processes that run pure functions under limits; the event loop only moves bytes.

If a job exceeds a limit or ends its child, the pool replaces the child and runs the other jobs of that child again. A
pool with a fork server replaces a child at once, because it keeps one more child than it uses. A job that exceeds its
CPU time is not repeated: it would do so again. A job that ends its child in another way runs once more, alone, in a
child that ran no other job; a pause of the machine is one such way.
"""

from __future__ import annotations

import asyncio
import atexit
import itertools
import multiprocessing
import pickle
import signal
import socket
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.context import ForkContext, ForkServerContext
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, Literal, Self

from schemas.outcome import Dead, DeadReason
from streams.workers.child import LENGTH, OUT_OF_MEMORY, SOCKET_BYTES, JobLimits, Work, run_child

_LARGEST_RESULT = 256 << 20
"""Bytes; a child that announces more is out of order, and ends."""
_AHEAD = 2
"""Jobs that a child has at most: one in work, and one that it takes without waiting for the event loop."""
_STOP_SECONDS = 2.0
_LONGEST_PAUSE_SECONDS = 30.0


def concurrency_of(processes: int) -> int:
    """Jobs that keep so many children busy: each has one in work and one waiting, and the event loop has one."""
    return processes * (_AHEAD + 1)


class ChildStartError(OSError):
    """A child ended before it was ready. Its standard error has the reason."""


@dataclass(order=True, slots=True)
class _Job:
    number: int
    """Jobs start in this order, also those that run again."""
    of: Any = field(compare=False)
    result: asyncio.Future[Any] = field(compare=False)
    has_ended_a_child: bool = field(default=False, compare=False)


class _Child:
    """One child process, and the jobs that it has."""

    def __init__(self, process: BaseProcess, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.process = process
        self.jobs: deque[_Job] = deque()
        self.room = asyncio.Semaphore(_AHEAD)
        self._reader = reader
        self._writer = writer

    @property
    def fileno(self) -> int:
        """The parent's end of the connection."""
        number: int = self._writer.get_extra_info("socket").fileno()
        return number

    @property
    def has_ended(self) -> bool:
        """Whether its end of the connection is closed."""
        return self._reader.at_eof()

    def send(self, job: _Job) -> None:
        body = pickle.dumps(job.of, pickle.HIGHEST_PROTOCOL)
        self.jobs.append(job)
        self._writer.write(LENGTH.pack(len(body)))
        self._writer.write(body)

    async def receive(self) -> bytes | None:
        """The next message; None if the child ended."""
        try:
            length = LENGTH.unpack(await self._reader.readexactly(LENGTH.size))[0]
            return await self._reader.readexactly(length) if length <= _LARGEST_RESULT else None
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    async def end(self) -> int | None:
        """Ends the process if it runs, and returns its exit status; a signal is negative."""
        # Not ``close``, which waits until a child that is at work has taken all bytes.
        self._writer.transport.abort()
        await asyncio.to_thread(self.process.join, _STOP_SECONDS)
        if self.process.exitcode is None:
            self.process.kill()
            await asyncio.to_thread(self.process.join, _STOP_SECONDS)
        return self.process.exitcode


class WorkerPool:
    """Runs jobs in child processes, between ``start`` and ``stop``, or as an async context manager."""

    def __init__(
        self,
        make_work: Callable[[], Work],
        processes: int,
        limits: JobLimits,
        *,
        start: Literal["forkserver", "fork"] = "forkserver",
        preload: Sequence[str] = (),
        on_failure: Callable[[DeadReason], None] = lambda _: None,
    ) -> None:
        """Starts nothing yet.

        Args:
            make_work: Called once in each child; an importable function, or a ``functools.partial`` of one.
            processes: Children that take jobs; at least 1.
            limits: What one job may use.
            start: ``forkserver`` is safe beside threads and keeps a spare child. ``fork`` starts within milliseconds,
                for a command with one child that is used before threads start; ``make_work`` may be any function.
            preload: Modules that the fork server imports once for all children.
            on_failure: Called whenever a child ended because of a job.
        """
        self._make_work = make_work
        self.processes = processes
        self._limits = limits
        self._on_failure = on_failure
        self._spares = 1 if start == "forkserver" else 0
        self._context: ForkServerContext | ForkContext
        if start == "forkserver":
            self._context = multiprocessing.get_context("forkserver")
            # Every child imports the main module, which takes longer than the start of a child otherwise.
            self._context.set_forkserver_preload(["__main__", *preload])
        else:
            self._context = multiprocessing.get_context("fork")
        self._waiting: asyncio.PriorityQueue[_Job] = asyncio.PriorityQueue()
        self._suspects: deque[_Job] = deque()
        self._ready: asyncio.Queue[_Child] = asyncio.Queue()
        self._children: set[_Child] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._numbers = itertools.count()

    async def start(self) -> None:
        """Starts the children, if they are not started.

        Raises:
            ChildStartError: A child could not start.
        """
        if self._tasks:
            return
        if self._spares:
            # The start of the tracker unblocks SIGINT and SIGTERM, so it must come first.
            resource_tracker.ensure_running()
        # At exit, multiprocessing sends SIGTERM to processes that were not stopped, and waits for their end.
        atexit.register(self._kill)
        try:
            starts = [asyncio.create_task(self._start()) for _ in range(self.processes + self._spares)]
            # All of them, also if one fails: a child that starts later would not be ended.
            await asyncio.wait(starts)
            for started in starts:
                self._ready.put_nowait(started.result())
        except BaseException:
            await self.stop()
            raise
        for _ in range(self.processes):
            self._spawn(self._use_children())

    async def __aenter__(self) -> Self:
        """Starts the children. Raises ChildStartError."""
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Ends the children."""
        await self.stop()

    @property
    def concurrency(self) -> int:
        """Jobs that keep every child busy."""
        return concurrency_of(self.processes)

    async def run(self, job: Any) -> Any:
        """The result of a job; a ``Dead`` if it has none."""
        result: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.put_nowait(_Job(next(self._numbers), job, result))
        return await result

    async def _use_children(self) -> None:
        """Uses one child after another; each ends because of a job."""
        while True:
            child = await self._ready.get()
            if self._spares:
                self._spawn(self._replace())
            await self._use(child)
            await self._bury(child)

    async def _use(self, child: _Child) -> None:
        """Gives jobs to a child until it ends."""
        if child.has_ended:
            # It was a spare then. No job may be blamed for it.
            return
        if self._suspects:
            child.send(self._suspects.popleft())
            if not await self._collect(child):
                return
        feeding = self._spawn(self._feed(child))
        try:
            while await self._collect(child):
                child.room.release()
        finally:
            feeding.cancel()

    async def _feed(self, child: _Child) -> None:
        while True:
            await child.room.acquire()
            job = await self._waiting.get()
            while job.result.done():
                # Its caller has gone, for example because a query took too long.
                job = await self._waiting.get()
            child.send(job)

    async def _collect(self, child: _Child) -> bool:
        """Takes the next result of a child; False if the child ended instead."""
        message = await child.receive()
        if message is None:
            return False
        try:
            result = pickle.loads(message)  # noqa: S301  # from a child
        except Exception as error:
            # The memory of the child is damaged. It ends, and the job runs once more.
            _warn("a child process sent a result that can't be read", error=repr(error))
            return False
        job = child.jobs.popleft()
        if not job.result.done():
            job.result.set_result(result)
        return True

    async def _bury(self, child: _Child) -> None:
        """Decides on the jobs of a child that ended."""
        status = await child.end()
        self._children.discard(child)
        reason = _reason(status)
        if self._spares:
            # A command reports the outcome of each input itself.
            _warn("a child process ended", reason=reason, status=status)
        if not self._spares:
            self._spawn(self._replace())
        if child.jobs:
            self._on_failure(reason)
            culprit = child.jobs.popleft()
            if status == -signal.SIGPROF or culprit.has_ended_a_child:
                if not culprit.result.done():
                    culprit.result.set_result(self._refusal(reason, status))
            else:
                culprit.has_ended_a_child = True
                self._suspects.append(culprit)
        for job in child.jobs:
            self._waiting.put_nowait(job)

    def _refusal(self, reason: DeadReason, status: int | None) -> Dead:
        limits = self._limits
        match reason:
            case DeadReason.TOOK_TOO_LONG:
                detail = f"more than {limits.cpu_seconds:g} s of CPU time, or {limits.wall_seconds:g} s in all"
            case DeadReason.OUT_OF_MEMORY:
                detail = f"more than {limits.memory_bytes >> 20} MiB of memory"
            case _:
                detail = f"its process ended with status {status}"
        return Dead(reason, detail)

    async def _start(self) -> _Child:
        own_end, child_end = socket.socketpair()
        for end in (own_end, child_end):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BYTES)
            end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SOCKET_BYTES)
        try:
            with child_end:
                forked = not self._spares
                others = (*(child.fileno for child in self._children), own_end.fileno()) if forked else ()
                arguments = (child_end, self._make_work, self._limits, others)
                process = self._context.Process(target=run_child, args=arguments, daemon=True)
                if forked:
                    _start_shielded(process)
                else:
                    await _finished(asyncio.create_task(asyncio.to_thread(_start_with_server, process)))
            child = _Child(process, *await asyncio.open_connection(sock=own_end))
        except BaseException:
            # A child that starts all the same finds its connection closed, and ends.
            own_end.close()
            raise
        self._children.add(child)
        if await child.receive() is None:
            status = await child.end()
            self._children.discard(child)
            raise ChildStartError(
                f"a child process ended with status {status} before its first job; its output above has the reason"
            )
        return child

    async def _replace(self) -> None:
        """Keeps one child more than are used."""
        pause = 0.5
        while True:
            try:
                self._ready.put_nowait(await self._start())
            except Exception as error:
                # Also RuntimeError: no more threads. Without another attempt the pool would have a child less.
                _warn("a child process does not start", error=str(error), next_try_in_seconds=pause)
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
            else:
                return

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def stop(self) -> None:
        """Ends all children; jobs without a result are cancelled."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        unfinished = [job for child in self._children for job in child.jobs] + list(self._suspects)
        while not self._waiting.empty():
            unfinished.append(self._waiting.get_nowait())
        for job in unfinished:
            job.result.cancel()
        await asyncio.gather(*(child.end() for child in self._children))
        self._children.clear()
        atexit.unregister(self._kill)

    def _kill(self) -> None:
        for child in self._children:
            child.process.kill()


async def _finished(start: asyncio.Task[None]) -> None:
    """Waits for the end of a start, also if it is cancelled: the fork server reports a connection that is closed."""
    try:
        await asyncio.shield(start)
    except asyncio.CancelledError:
        await asyncio.wait([start])
        raise


def _start_shielded(process: BaseProcess) -> None:
    """Starts a process, and the fork server if it does not run, with SIGINT and SIGTERM blocked.

    A terminal, a service manager and ``timeout`` send these signals to all processes of a worker. The worker drains
    then, and needs its children until it ends them.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_with_server(process: BaseProcess) -> None:
    try:
        _start_shielded(process)
    except (EOFError, ConnectionError):
        # The fork server has just ended. This attempt starts another one.
        try:
            _start_shielded(process)
        except (EOFError, ConnectionError) as error:
            raise ChildStartError("the fork server ended while it started a child process") from error


def _reason(status: int | None) -> DeadReason:
    if status in (-signal.SIGPROF, -signal.SIGALRM):
        return DeadReason.TOOK_TOO_LONG
    return DeadReason.OUT_OF_MEMORY if status == OUT_OF_MEMORY else DeadReason.CRASHED


def _warn(event: str, **values: object) -> None:
    # Imported on use: a command whose children all stay alive starts faster.
    import structlog

    structlog.get_logger(__name__).warning(event, **values)
