"""The pool of child processes: every job has one result, whatever happens to its child."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from schemas.outcome import Dead, DeadReason
from streams.workers.child import JobLimits
from streams.workers.pool import ChildStartError, WorkerPool
from tests.streams.workers.jobs import make_no_work, make_work

LIMITS = JobLimits(cpu_seconds=0.3, wall_seconds=1.5, memory_bytes=200 << 20)


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    async with WorkerPool(make_work, 2, LIMITS) as started:
        yield started


async def run(pool: WorkerPool, *jobs: tuple[str, Any]) -> list[Any]:
    return list(await asyncio.gather(*(pool.run(job) for job in jobs)))


async def test_every_job_has_its_own_result(pool: WorkerPool) -> None:
    assert await run(pool, *(("echo", n) for n in range(500))) == list(range(500))


async def test_jobs_run_in_other_processes_side_by_side(pool: WorkerPool) -> None:
    pids = set(await run(pool, *(("pid", None) for _ in range(100))))
    assert len(pids) == 2
    assert os.getpid() not in pids


async def test_a_large_job_and_result_arrive_whole(pool: WorkerPool) -> None:
    page = os.urandom(9_000_000)
    assert await run(pool, ("echo", page), ("echo", page)) == [page, page]


async def test_a_job_that_raises_returns_the_error(pool: WorkerPool) -> None:
    assert await run(pool, ("raise", "no"), ("echo", 1)) == [Dead(DeadReason.HANDLER_BUG, "ValueError: no"), 1]


@pytest.mark.parametrize("deed", [("burn", 0), ("sleep", 30)], ids=["uses CPU", "waits"])
async def test_a_job_over_its_deadline_fails_and_no_other_job_is_lost(pool: WorkerPool, deed: tuple[str, Any]) -> None:
    results = await run(pool, *(("echo", n) for n in range(20)), deed, *(("echo", n) for n in range(20)))
    failed = results.pop(20)
    assert isinstance(failed, Dead)
    assert failed.reason is DeadReason.TOOK_TOO_LONG
    assert results == [*range(20), *range(20)]


@pytest.mark.parametrize(
    ("deed", "reason"),
    [(("crash", None), DeadReason.CRASHED), (("take memory", 3 << 30), DeadReason.OUT_OF_MEMORY)],
    ids=["crashes", "takes 3 GiB"],
)
async def test_a_job_that_ends_two_children_fails(pool: WorkerPool, deed: tuple[str, Any], reason: DeadReason) -> None:
    results = await run(pool, *(("echo", n) for n in range(20)), deed, *(("echo", n) for n in range(20)))
    failed = results.pop(20)
    assert isinstance(failed, Dead)
    assert failed.reason is reason
    assert results == [*range(20), *range(20)]


async def test_a_job_whose_child_was_killed_once_has_its_result(pool: WorkerPool, tmp_path: Path) -> None:
    mark = str(tmp_path / "crashed")
    assert await run(pool, ("crash once", mark), ("echo", 1)) == [mark, 1]


async def test_many_failing_jobs_leave_as_many_children(pool: WorkerPool) -> None:
    results = await run(pool, *(("crash", None) if n % 5 == 0 else ("echo", n) for n in range(30)))
    assert [type(result) for result in results] == [Dead if n % 5 == 0 else int for n in range(30)]
    pids: set[int] = set()
    while len(pids) < 2:
        pids.update(await run(pool, *(("pid", None) for _ in range(10))))
    assert len(pids) == 2


async def test_a_child_that_cannot_start_is_an_error() -> None:
    with pytest.raises(ChildStartError, match="before its first job"):
        async with WorkerPool(make_no_work, 1, LIMITS):
            pass


async def test_the_end_of_the_pool_ends_its_children_and_cancels_jobs() -> None:
    async with WorkerPool(make_work, 1, LIMITS) as pool:
        (child,) = await run(pool, ("pid", None))
        unfinished = [asyncio.create_task(pool.run(("sleep", 1))) for _ in range(5)]
        await asyncio.sleep(0.1)
    assert all(
        isinstance(error, asyncio.CancelledError) for error in await asyncio.gather(*unfinished, return_exceptions=True)
    )
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


PARENT = """
import asyncio, sys
from streams.workers.pool import WorkerPool
from tests.streams.workers.jobs import make_work
from tests.streams.workers.test_pool import LIMITS

async def main():
    async with WorkerPool(make_work, 2, LIMITS) as pool:
        pids = set(await asyncio.gather(*(pool.run(("pid", None)) for _ in range(50))))
        asyncio.create_task(pool.run(("sleep", 30)))
        print(*pids, flush=True)
        await asyncio.sleep(60)

if __name__ == "__main__":
    asyncio.run(main())
"""


def test_no_child_outlives_a_killed_parent(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    environment = {**os.environ, "PYTHONPATH": "."}
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True, env=environment) as parent:
        assert parent.stdout is not None
        children = [int(pid) for pid in parent.stdout.readline().split()]
        parent.kill()
    assert len(children) == 2
    for pid in children:
        while _is_running(pid):
            time.sleep(0.05)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
