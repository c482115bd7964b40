"""The template process of a pool: it makes the work of the children once, and forks each child from it.

A forked child is warm: it starts within milliseconds, and shares the memory of rules and modules. The template has one
thread and does nothing else, so its forks are safe whatever threads the worker has.

The pool asks for one thing at a time: the end of a child's connection asks for a child, whose process id is the reply;
a process id asks for the end of that child, whose exit status is the reply. When the pool closes the connection or has
ended, the template ends its children and itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import os
import pickle
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NoReturn, Protocol

from streams.workers.child import JobLimits, Work, run_child

_TICK_SECONDS = 0.25
_LONGEST_TICK_SECONDS = 1.0  # a longer tick counts as one of this length: this process itself did not run


class Process(Protocol):
    overdue: bool  # whether it was killed at its deadline

    def kill(self) -> None:
        """Ends the process and closes its connection, whatever its state."""


class Deadlines:
    """Deadlines of processes that owe an answer: one that is stopped, or stuck in the kernel, does not end itself.

    The time counts only while this process runs: a machine that slept, or a worker that was stopped, gives its
    processes the rest of their time.
    """

    def __init__(self) -> None:
        self._left: dict[Process, float] = {}  # seconds, by process

    def begin(self, process: Process, seconds: float) -> None:
        """Kills the process after this time, in place of an earlier deadline."""
        self._left[process] = seconds

    def end(self, process: Process) -> None:
        """Forgets the deadline of a process that has answered or ended, if it has one."""
        self._left.pop(process, None)

    async def watch(self) -> None:
        """Runs for as long as the deadlines are to hold."""
        time = asyncio.get_running_loop().time
        before = time()
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            now = time()
            passed, before = min(now - before, _LONGEST_TICK_SECONDS), now
            for process, left in [*self._left.items()]:
                self._left[process] = left - passed
                if left <= passed:
                    self.end(process)
                    process.overdue = True
                    process.kill()


Start = Literal["spawn", "fork"]
_NUMBER = struct.Struct(">i")
_READY = _NUMBER.pack(0)
_START_SECONDS = 60.0
_STOP_SECONDS = 2.0
_REAP_TRIES = 200
_SHIELDED = (signal.SIGINT, signal.SIGTERM)
"""Blocked in the template and its children. A terminal, a service manager and ``timeout`` send these signals to all
processes of a worker. The worker drains then, and needs its children until it ends them."""
_BEGIN = f"import sys; sys.path[:] = sys.argv[1:]; from {__name__} import main; main()"


class ChildStartError(OSError):
    """A child, or the template, ended or was silent before it was ready. Its standard error may have the reason."""


@dataclass(eq=False)
class Template:
    pid: int
    connection: socket.socket
    deadlines: Deadlines
    silent_seconds: float
    has_ended: bool = False  # whether a request found it dead
    overdue: bool = False
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    @classmethod
    async def started(
        cls, start: Start, make_work: Callable[[], Work], limits: JobLimits, deadlines: Deadlines
    ) -> Template:
        """A template that is warm. Raises ChildStartError.

        ``spawn`` is safe beside threads; ``fork`` starts within milliseconds, for a command without threads. The
        template calls ``make_work`` once; for ``spawn`` it is an importable function, or a ``partial`` of one.
        """
        own_end, its_end = socket.socketpair()
        own_end.setblocking(False)
        with its_end:
            pid = _spawned(its_end) if start == "spawn" else _forked(own_end, its_end, make_work, limits)
        template = cls(pid, own_end, deadlines, limits.silent_seconds)
        deadlines.begin(template, _START_SECONDS)
        try:
            if start == "spawn":
                with contextlib.suppress(ConnectionError):
                    await asyncio.get_running_loop().sock_sendall(
                        own_end, pickle.dumps((make_work, limits), pickle.HIGHEST_PROTOCOL)
                    )
            if await template._answer(_START_SECONDS) is not None:
                return template
        except BaseException:
            await template.end()
            raise
        raise ended_early(await template.end(), template.overdue)

    async def fork(self, connection: socket.socket) -> int:
        """The process id of a new child with this end of a connection. Raises ChildStartError."""
        pid = await self._ask(_READY, connection)
        if pid is None:
            raise ChildStartError("the template of the child processes has ended")
        if pid < 0:
            raise ChildStartError(-pid, f"no child process: {os.strerror(-pid)}")
        return pid

    async def end_child(self, pid: int) -> int | None:
        """Ends a child if it runs, and returns its exit status; a signal is negative. None if the template ended."""
        return await self._ask(_NUMBER.pack(pid))

    async def _ask(self, request: bytes, connection: socket.socket | None = None) -> int | None:
        async with self._turn:
            if self.has_ended:
                return None
            with contextlib.suppress(ConnectionError):
                if connection is None:
                    self.connection.send(request)
                else:
                    socket.send_fds(self.connection, [request], [connection.fileno()])
            return await self._answer(self.silent_seconds)

    async def _answer(self, seconds: float) -> int | None:
        reply = b""
        self.deadlines.begin(self, seconds)
        try:
            with contextlib.suppress(ConnectionError):
                reply = await asyncio.get_running_loop().sock_recv(self.connection, _NUMBER.size)
        finally:
            self.deadlines.end(self)
        self.has_ended = not reply
        return int(_NUMBER.unpack(reply)[0]) if reply else None

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    async def end(self) -> int | None:
        """Ends it with its children, and returns its exit status; None if the kernel does not let it end."""
        with self.connection, contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            try:
                async with asyncio.timeout(_STOP_SECONDS):
                    while await asyncio.get_running_loop().sock_recv(self.connection, _NUMBER.size):
                        pass
            except TimeoutError:
                self.kill()
        for _ in range(_REAP_TRIES):
            pid, status = os.waitpid(self.pid, os.WNOHANG)  # noqa: ASYNC222  # it does not wait
            if pid:
                return os.waitstatus_to_exitcode(status)
            await asyncio.sleep(_STOP_SECONDS / _REAP_TRIES)
        return None


def ended_early(status: int | None, overdue: bool) -> ChildStartError:
    if overdue:
        return ChildStartError("a child process was silent at its start and was killed")
    return ChildStartError(
        f"a child process ended with status {status} before its first job; its output above has the reason"
    )


def _spawned(connection: socket.socket) -> int:
    """Starts a new interpreter, which has the connection as its standard input."""
    to_input = [(os.POSIX_SPAWN_DUP2, connection.fileno(), 0)]
    arguments = [sys.executable, "-c", _BEGIN, *sys.path]
    # numpy starts a thread for each core, and the template must have one; its children share the cores anyway.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return os.posix_spawn(sys.executable, arguments, environment, file_actions=to_input, setsigmask=_SHIELDED)


def main() -> NoReturn:
    """Runs the template that ``_spawned`` has started."""
    connection = socket.socket(fileno=os.dup(0))
    # Children must not keep the connection open.
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    gc.disable()
    try:
        with connection.makefile("rb") as incoming:
            make_work, limits = pickle.load(incoming)  # noqa: S301  # from the parent
    except (EOFError, pickle.UnpicklingError):
        os._exit(0)  # the pool was stopped meanwhile
    _end_after(lambda: _serve(connection, make_work, limits))


def _forked(own_end: socket.socket, connection: socket.socket, make_work: Callable[[], Work], limits: JobLimits) -> int:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SHIELDED)
    try:
        pid = os.fork()
        if pid == 0:
            own_end.close()
            # It must not wake the event loop of its parent.
            signal.set_wakeup_fd(-1)
            _end_after(lambda: _serve(connection, make_work, limits))
        return pid
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(connection: socket.socket, make_work: Callable[[], Work], limits: JobLimits) -> None:
    """Forks and ends children until the pool closes the connection."""
    # Children share the memory of objects that no collection touches.
    gc.disable()
    work = make_work()
    gc.freeze()
    children: set[int] = set()
    with contextlib.suppress(ConnectionError):
        connection.sendall(_READY)
        while True:
            request, descriptors, _, _ = socket.recv_fds(connection, _NUMBER.size, 1)
            if descriptors:
                reply = _fork(connection, socket.socket(fileno=descriptors[0]), work, limits)
                if reply > 0:
                    children.add(reply)
            elif request == _READY:
                # The kernel dropped the descriptor: this process may have no more. 0 and less are groups for ``kill``.
                reply = -errno.EMFILE
            elif request:
                [pid] = _NUMBER.unpack(request)
                children.remove(pid)
                reply = _end(pid)
            else:
                break
            connection.sendall(_NUMBER.pack(reply))
    for pid in children:
        _end(pid)


def _fork(connection: socket.socket, its_end: socket.socket, work: Work, limits: JobLimits) -> int:
    """The process id of a new child, or the negative number of the error."""
    with its_end:
        try:
            pid = os.fork()
        except OSError as error:
            return -(error.errno or 1)
        if pid == 0:
            connection.close()
            gc.enable()
            _end_after(lambda: run_child(its_end, work, limits))
        return pid


def _end(pid: int) -> int:
    """Ends a child and returns its exit status. A child that has ended keeps its own."""
    os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _end_after(run: Callable[[], None]) -> NoReturn:
    """Ends this process after a function, without the clean-up of the process that it was forked from."""
    try:
        run()
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)
