"""The pool of child processes: every job has one result, whatever happens to its child."""

from __future__ import annotations

import asyncio
import errno
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schemas.outcome import Dead, DeadReason
from streams.workers.child import JobLimits
from streams.workers.pool import WorkerPool
from streams.workers.template import ChildStartError, Start, Template, _serve
from tests.processes import below, end_of, running, wait_for_end
from tests.samples import environment, instance
from tests.streams.workers.jobs import make_no_work, make_work

LIMITS = JobLimits(cpu_seconds=0.3, wall_seconds=1.5, memory_bytes=200 << 20, silent_seconds=2)


@pytest.fixture
def reasons() -> list[DeadReason]:
    """Why children of the pool ended."""
    return []


@pytest.fixture
async def pool(reasons: list[DeadReason]) -> AsyncIterator[WorkerPool]:
    async with WorkerPool(make_work, 2, LIMITS, on_failure=reasons.append) as started:
        yield started


async def run(pool: WorkerPool, *jobs: tuple[str, Any]) -> list[Any]:
    return list(await asyncio.gather(*(pool.run(job) for job in jobs)))


def children(pool: WorkerPool) -> set[int]:
    return {child.pid for child in pool._children}


def template(pool: WorkerPool) -> int:
    """The process that forks the children."""
    return instance(Template, pool._template).pid


@pytest.mark.parametrize(
    ("deed", "ends"),
    [
        (("burn", 0), [DeadReason.TOOK_TOO_LONG]),
        (("sleep", 30), [DeadReason.TOOK_TOO_LONG] * 2),
        (("stop", None), [DeadReason.TOOK_TOO_LONG] * 2),
        (("crash", None), [DeadReason.CRASHED] * 2),
        (("take memory", 3 << 30), [DeadReason.OUT_OF_MEMORY] * 2),
    ],
    ids=["uses CPU", "waits", "is stopped", "crashes", "takes 3 GiB"],
)
async def test_a_job_that_ends_its_children_fails_alone(
    pool: WorkerPool, reasons: list[DeadReason], deed: tuple[str, Any], ends: list[DeadReason]
) -> None:
    results = await run(pool, *(("echo", n) for n in range(20)), deed, *(("echo", n) for n in range(20)))
    assert instance(Dead, results.pop(20)).reason is ends[0]
    assert results == [*range(20), *range(20)]
    assert reasons == ends


@pytest.mark.parametrize("deed", ["crash once", "stop once"])
async def test_a_job_whose_child_ended_once_has_its_result(deed: str, pool: WorkerPool, tmp_path: Path) -> None:
    mark = str(tmp_path / "mark")
    assert await run(pool, (deed, mark), *(("echo", n) for n in range(20))) == [mark, *range(20)]


async def test_no_job_is_blamed_for_the_death_of_the_template(tmp_path: Path) -> None:
    marks = [tmp_path / str(n) for n in range(2)]
    async with WorkerPool(make_work, 2, replace(LIMITS, wall_seconds=60)) as pool:
        jobs = asyncio.gather(*(pool.run(("wait, then crash, then return", str(mark))) for mark in marks))
        while not all(mark.exists() for mark in marks):  # noqa: ASYNC110 - files have no event
            await asyncio.sleep(0.01)
        first = template(pool)
        for pid in (first, *children(pool)):
            os.kill(pid, signal.SIGKILL)
        # A job that is blamed for two ends is dead.
        assert await jobs == [str(mark) for mark in marks]
        assert template(pool) != first


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["dead", "stopped"])
async def test_a_stopped_template_is_replaced(number: signal.Signals, pool: WorkerPool) -> None:
    before = {template(pool), *children(pool)}
    os.kill(template(pool), signal.SIGSTOP)
    for pid in children(pool):
        os.kill(pid, number)
    assert await run(pool, *(("echo", n) for n in range(50))) == list(range(50))
    assert not before & {template(pool), *children(pool)}
    assert not await end_of(before, 5)


async def test_a_child_that_cannot_be_forked_is_tried_again(pool: WorkerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    real, errors = Template._ask, iter((-errno.EAGAIN,))

    async def busy(its: Template, request: bytes, connection: socket.socket | None = None) -> int | None:
        return (connection and next(errors, None)) or await real(its, request, connection)

    monkeypatch.setattr(Template, "_ask", busy)
    assert await run(pool, ("crash", None), ("echo", 1)) == [
        Dead(DeadReason.CRASHED, "its process ended with status -11"),
        1,
    ]
    assert next(errors, None) is None


@pytest.mark.parametrize("given", [True, False], ids=["no process", "no descriptor"])
def test_a_template_that_cannot_fork_ends_no_other_process(given: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_process() -> int:
        raise BlockingIOError(errno.EAGAIN, "no process")

    ended: list[int] = []
    monkeypatch.setattr("streams.workers.template.os.fork", no_process)
    monkeypatch.setattr("streams.workers.template.os.kill", lambda pid, _: ended.append(pid))
    monkeypatch.setattr("streams.workers.template.gc.disable", lambda: None)
    monkeypatch.setattr("streams.workers.template.gc.freeze", lambda: None)
    ours, its = socket.socketpair()
    child, end = socket.socketpair()
    with ours, its, child, end:
        number = b"\0\0\0\0"
        socket.send_fds(ours, [number], [end.fileno()] if given else [])
        ours.shutdown(socket.SHUT_WR)
        _serve(its, make_work, LIMITS)
        error = -errno.EAGAIN if given else -errno.EMFILE
        assert ours.recv(8) == number + error.to_bytes(4, signed=True)
    assert ended == []


async def test_a_signal_for_all_processes_ends_no_child(pool: WorkerPool) -> None:
    jobs = asyncio.gather(*(pool.run(("sleep", 0.3)) for _ in range(4)))
    await asyncio.sleep(0.1)
    before = children(pool)
    for number in (signal.SIGTERM, signal.SIGINT):
        for pid in (template(pool), *before):
            os.kill(pid, number)
    assert await jobs == [0.3] * 4
    assert children(pool) == before
    assert type((await run(pool, ("crash", None)))[0]) is Dead, "the template forks"


async def test_a_job_whose_caller_has_gone_does_not_run(tmp_path: Path) -> None:
    async with WorkerPool(make_work, 1, LIMITS) as pool:
        first = asyncio.create_task(pool.run(("sleep", 0.3)))
        abandoned = [asyncio.create_task(pool.run(("mark", str(tmp_path / str(n))))) for n in range(5)]
        await asyncio.sleep(0)
        for task in abandoned:
            task.cancel()
        assert await run(pool, ("echo", 1)) == [1]
        await first
    assert len(os.listdir(tmp_path)) <= 1, "one may have been sent before"


async def test_unreadable_result_ends_the_child_and_its_job_repeats(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, broken = pickle.loads, iter((True,))

    def damaged(message: bytes) -> Any:
        if next(broken, False):
            raise pickle.UnpicklingError("not a pickle")
        return real(message)

    monkeypatch.setattr("streams.workers.pool.pickle.loads", damaged)
    assert await run(pool, *(("echo", n) for n in range(20))) == list(range(20))


@pytest.mark.parametrize("start", ["spawn", "fork"])
async def test_a_child_that_cannot_start_is_an_error(start: Start) -> None:
    with pytest.raises(ChildStartError, match="status 1 before its first job"):
        async with WorkerPool(make_no_work, 1, LIMITS, how=start):
            pass


@pytest.mark.parametrize("number", [signal.SIGCONT, signal.SIGSTOP], ids=["running", "stopped"])
@pytest.mark.parametrize("start", ["spawn", "fork"])
async def test_the_end_of_the_pool_ends_its_processes_and_cancels_jobs(start: Start, number: signal.Signals) -> None:
    before = below(os.getpid())
    async with WorkerPool(make_work, 1, LIMITS, how=start) as pool:
        assert await run(pool, ("echo", 1)) == [1]
        unfinished = [asyncio.create_task(pool.run(("sleep", 1))) for _ in range(5)]
        await asyncio.sleep(0.1)
        started = below(os.getpid()) - before
        assert started == {template(pool), *children(pool)}
        for pid in started:
            os.kill(pid, number)
    assert all(
        isinstance(error, asyncio.CancelledError) for error in await asyncio.gather(*unfinished, return_exceptions=True)
    )
    assert not running(started)


async def test_a_stop_during_the_start_leaves_no_process() -> None:
    before = below(os.getpid())
    starting = asyncio.create_task(WorkerPool(make_work, 1, LIMITS).start())
    await asyncio.sleep(0.05)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert below(os.getpid()) == before


def program(main: str) -> list[str]:
    """The command of a process that runs ``main``."""
    return [sys.executable, "-c", f"{PROGRAM}{main}\nasyncio.run(main())"]


PROGRAM = """
import asyncio
from streams.workers.child import JobLimits
from streams.workers.pool import WorkerPool
from tests.streams.workers.jobs import make_work
"""
PARENT = """
async def main():
    async with WorkerPool(make_work, 2, JobLimits(1, 2, 200 << 20)) as pool:
        pids = set()
        while len(pids) < 2:
            pids |= set(await asyncio.gather(*(pool.run(("pid", None)) for _ in range(50))))
        asyncio.create_task(pool.run(("sleep", 30)))
        print(pool._template.pid, *pids, flush=True)
        await asyncio.sleep(60)
"""


@pytest.mark.parametrize("template_too", [False, True], ids=["killed", "killed with its template"])
def test_no_child_outlives_a_killed_parent(template_too: bool) -> None:
    with subprocess.Popen(program(PARENT), stdout=subprocess.PIPE, text=True, env=environment()) as parent:
        assert parent.stdout is not None
        processes = [int(pid) for pid in parent.stdout.readline().split()]
        if template_too:
            os.kill(processes[0], signal.SIGKILL)
        parent.kill()
    assert len(processes) == 3
    assert not wait_for_end(set(processes), 10)


STOPPED = """
async def main():
    ended = []
    limits = JobLimits(2, 2, 200 << 20, silent_seconds=2)
    async with WorkerPool(make_work, 2, limits, on_failure=ended.append) as pool:
        jobs = [asyncio.create_task(pool.run(("sleep, then return much", 0.2))) for _ in range(4)]
        await asyncio.sleep(0)
        print("at work", flush=True)
        print([len(result) for result in await asyncio.gather(*jobs)], ended)
"""


def test_a_parent_that_was_stopped_kills_no_child() -> None:
    """Its children have written what their connections hold, and wait."""
    with subprocess.Popen(program(STOPPED), stdout=subprocess.PIPE, text=True, env=environment()) as it:
        assert it.stdout is not None
        assert it.stdout.readline() == "at work\n"
        it.send_signal(signal.SIGSTOP)
        time.sleep(5)
        it.send_signal(signal.SIGCONT)
        assert it.stdout.read() == f"{[9_000_000] * 4} []\n"


UNSTOPPED = """
async def main():
    pool = WorkerPool(make_work, 1, JobLimits(30, 60, 200 << 20), how="fork")
    await pool.start()
    asyncio.create_task(pool.run(("burn", 0)))
    await asyncio.sleep(0.1)
"""


def test_a_process_ends_at_once_without_a_stop_of_its_pool() -> None:
    assert subprocess.run(program(UNSTOPPED), env=environment(), timeout=25).returncode == 0
