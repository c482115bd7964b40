"""Measured processes: the measuring process starts them, one contestant at a time, and samples their memory."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tools.bench.assay_worker import handler_of
from tools.bench.child import TOTAL_BYTES, Report, Task
from tools.bench.feeds import Feed, rewind
from tools.bench.processes import descendants, memory_of

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


async def assay(feed: Feed, delivery: str, workers: Mapping[str, Any]) -> Run:
    """The pipeline over a feed."""
    await rewind(feed.settings, feed.prefix + handler_of(feed.source).group, feed.prefix + feed.source)
    run = await run_one("assay_worker", feed.task(delivery, workers=dict(workers)))
    if run.report.records != feed.records or run.report.more.get("retry", 0):
        raise RunFailedError(f"{feed.records} records went in, and this came of them: {run.report}")
    return run


async def bare(feed: Feed, mode: str, processes: int = 1) -> Run:
    """The bare loop over a feed."""
    await rewind(feed.settings, f"{feed.prefix}bare", feed.prefix + feed.source)
    return await _run_together("bare_worker", feed.task(mode), processes)


async def quix(feed: Feed, processes: int = 1) -> Run:
    """Quix Streams over a feed."""
    await rewind(feed.settings, f"{feed.prefix}quix", feed.prefix + feed.source)
    return await _run_together("quix_worker", feed.task(), processes, python=QUIX_PYTHON)


async def alone(mode: str) -> Run:
    """A function on pages in memory."""
    return await run_one("alone_worker", Task(mode=mode))


async def _run_together(module: str, task: Task, processes: int, python: Path | None = None) -> Run:
    """Several processes that share the records, as one contestant."""
    if processes == 1:
        return await run_one(module, task, python)
    with tempfile.NamedTemporaryFile() as shared:
        shared.write(bytes(TOTAL_BYTES * processes))
        shared.flush()
        tasks = [replace(task, place=place, processes=processes, shared=shared.name) for place in range(processes)]
        runs = await asyncio.gather(*(run_one(module, its, python) for its in tasks))
    return Run(together([run.report for run in runs]))


def together(reports: Sequence[Report]) -> Report:
    """The report of several processes at once; the second and later ones count as children."""
    began = min(report.began for report in reports)
    return Report(
        records=sum(report.records for report in reports),
        cpu=reports[0].cpu,
        wall=max(report.began + report.wall for report in reports) - began,
        peak_mb=sum(report.peak_mb for report in reports),
        children_cpu=sum(report.all_cpu for report in reports[1:]),
        broker_cpu=max(report.broker_cpu for report in reports),
        began=began,
    )


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
            samples.append((time.monotonic(), sum(memory_of(child) for child in descendants(pid))))
            await asyncio.sleep(SAMPLE_SECONDS)


def median_of(runs: Iterable[Run]) -> dict[str, float]:
    """The median figures of repetitions, and the highest peaks of memory.

    CPU is that of the process and its children; ``parent``, ``children`` and ``broker`` list it apart.
    """
    runs = list(runs)
    reports = [run.report for run in runs]
    figures = {
        "per_cpu_second": round(statistics.median(r.records / r.all_cpu for r in reports), 1),
        "per_wall_second": round(statistics.median(r.records / r.wall for r in reports), 1),
        "cpu_ms": round(statistics.median(1000 * r.all_cpu / r.records for r in reports), 4),
        "parent_ms": round(statistics.median(1000 * r.cpu / r.records for r in reports), 4),
        "children_ms": round(statistics.median(1000 * r.children_cpu / r.records for r in reports), 4),
        "broker_ms": round(statistics.median(1000 * r.broker_cpu / r.records for r in reports), 4),
        "peak_mb": round(max(r.peak_mb for r in reports), 1),
        "children_peak_mb": round(max(run.children_mb for run in runs), 1),
    }
    for name in reports[0].more:
        figures[name] = round(statistics.median(report.more.get(name, 0) for report in reports), 4)
    return figures
