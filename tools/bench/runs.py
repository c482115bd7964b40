"""Measured processes: the measuring process starts them, one contestant at a time, and samples their memory."""

import asyncio
import contextlib
import json
import os
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import psutil

from tools.bench.assay_worker import handler_of
from tools.bench.child import Task
from tools.bench.feeds import rewind

ROOT = Path(__file__).parent.parent.parent
RUN_SECONDS = 1800
SAMPLE_SECONDS = 0.5
QUIX_PYTHON = ROOT / ".assay" / "quix" / "bin" / "python"
Run = dict[str, float]
"""What a process told, and the highest memory of its children (PSS) from the first record on."""


class RunFailedError(Exception):
    """A measured process ended badly, or did not do what it was to do."""


async def assay(feed: Task, delivery: str, children: int = 0) -> Run:
    """The pipeline over a feed, with so many child processes."""
    await rewind(feed, handler_of(feed.source).group)
    run = await run_one("assay_worker", replace(feed, mode=delivery, children=children))
    if run["records"] != feed.records or run.get("retry", 0):
        raise RunFailedError(f"{feed.records} records went in, and this came of them: {run}")
    return run


async def bare(feed: Task, mode: str) -> Run:
    await rewind(feed, "bare")
    return await run_one("bare_worker", replace(feed, mode=mode))


async def quix(feed: Task) -> Run:
    await rewind(feed, "quix")
    return await run_one("quix_worker", feed, QUIX_PYTHON)


async def alone(mode: str) -> Run:
    """A function on pages in memory."""
    return await run_one("alone_worker", Task(mode))


async def run_one(module: str, task: Task, python: Path | None = None) -> Run:
    """One measured process to its end."""
    process = await asyncio.create_subprocess_exec(
        *(str(python or sys.executable), "-m", f"tools.bench.{module}", json.dumps(asdict(task))),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        cwd=ROOT,
    )
    samples: list[tuple[float, float]] = []
    sampling = asyncio.create_task(_sample(process.pid, samples))
    try:
        async with asyncio.timeout(RUN_SECONDS):
            out, err = await process.communicate()
    finally:
        sampling.cancel()
        if process.returncode is None:
            process.kill()
            await process.wait()
    lines = [line for line in out.decode().splitlines() if line.startswith("{")]
    if process.returncode or not lines:
        raise RunFailedError(f"{module} {task.mode}: exit {process.returncode}\n{err.decode()[-3000:]}")
    run: Run = json.loads(lines[-1])
    return run | {"children_peak_mb": max((memory for at, memory in samples if at >= run["began"]), default=0.0)}


async def _sample(pid: int, samples: list[tuple[float, float]]) -> None:
    while True:
        memory = 0.0
        with contextlib.suppress(psutil.NoSuchProcess):
            for child in psutil.Process(pid).children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    memory += child.memory_full_info().pss / 2**20
        samples.append((time.monotonic(), memory))
        await asyncio.sleep(SAMPLE_SECONDS)


def median_of(runs: Sequence[Run]) -> Run:
    """The median figures of repetitions, and the highest peaks of memory."""
    figures = {name: statistics.median(run.get(name, 0) for run in runs) for name in runs[0]}
    figures |= {name: max(run[name] for run in runs) for name in ("peak_mb", "children_peak_mb")}
    return {name: round(figure, 4) for name, figure in figures.items()}
