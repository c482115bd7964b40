"""Measured processes: the measuring process starts them, one contestant at a time, and samples their memory."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from tools.bench.assay_worker import handler_of
from tools.bench.child import Report, Task
from tools.bench.feeds import Feed, rewind

ROOT = Path(__file__).parent.parent.parent
RUN_SECONDS = 1800
SAMPLE_SECONDS = 0.5
QUIX_PYTHON = ROOT / ".assay" / "quix" / "bin" / "python"


class RunFailedError(Exception):
    """A measured process ended badly, or did not do what it was to do."""


@dataclass(frozen=True)
class Run:
    """One contestant's run: its report, and the highest memory of its children (PSS) from the first record on."""

    report: Report
    children_mb: float = 0.0


async def assay(feed: Feed, delivery: str, children: int = 0) -> Run:
    """The pipeline over a feed, with so many child processes."""
    await rewind(feed.settings, feed.prefix + handler_of(feed.source).group, feed.prefix + feed.source)
    run = await run_one("assay_worker", feed.task(delivery, workers={"processes": children}))
    if run.report.records != feed.records or run.report.more.get("retry", 0):
        raise RunFailedError(f"{feed.records} records went in, and this came of them: {run.report}")
    return run


async def bare(feed: Feed, mode: str) -> Run:
    """The bare loop over a feed."""
    await rewind(feed.settings, f"{feed.prefix}bare", feed.prefix + feed.source)
    return await run_one("bare_worker", feed.task(mode))


async def quix(feed: Feed) -> Run:
    """Quix Streams over a feed."""
    await rewind(feed.settings, f"{feed.prefix}quix", feed.prefix + feed.source)
    return await run_one("quix_worker", feed.task(), QUIX_PYTHON)


async def alone(mode: str) -> Run:
    """A function on pages in memory."""
    return await run_one("alone_worker", Task(mode=mode))


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
    report = Report(**json.loads(lines[-1]))
    return Run(report, max((memory for at, memory in samples if at >= report.began), default=0.0))


async def _sample(pid: int, samples: list[tuple[float, float]]) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        while True:
            memory = 0.0
            with contextlib.suppress(psutil.NoSuchProcess):
                for child in psutil.Process(pid).children(recursive=True):
                    with contextlib.suppress(psutil.NoSuchProcess):
                        memory += child.memory_full_info().pss / 2**20
            samples.append((time.monotonic(), memory))
            await asyncio.sleep(SAMPLE_SECONDS)


def median_of(runs: Iterable[Run]) -> dict[str, float]:
    """The median figures of repetitions, and the highest peaks of memory.

    CPU is that of the process and its children; ``parent``, ``children`` and ``broker`` list it apart.
    """
    runs = list(runs)
    reports = [run.report for run in runs]
    measured: dict[str, Callable[[Report], float]] = {
        "per_cpu_second": lambda report: report.records / report.all_cpu,
        "per_wall_second": lambda report: report.records / report.wall,
        "cpu_ms": lambda report: 1000 * report.all_cpu / report.records,
        "parent_ms": lambda report: 1000 * report.cpu / report.records,
        "children_ms": lambda report: 1000 * report.children_cpu / report.records,
        "broker_ms": lambda report: 1000 * report.broker_cpu / report.records,
    }
    figures = {name: statistics.median(map(figure, reports)) for name, figure in measured.items()}
    figures |= {name: statistics.median(report.more.get(name, 0) for report in reports) for name in reports[0].more}
    figures["peak_mb"] = max(report.peak_mb for report in reports)
    figures["children_peak_mb"] = max(run.children_mb for run in runs)
    return {name: round(figure, 4) for name, figure in figures.items()}
