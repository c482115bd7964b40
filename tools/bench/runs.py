"""Measured processes: the measuring process starts them one at a time, fills Kafka, and holds the pages itself."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from streams.kafka.clients import make_admin, opened
from streams.kafka.topics import create_topics
from streams.topology import PAGES_CRAWLED, PAGES_SCORED
from tools.bench.assay_worker import NOTES_TOPIC, SEEN_TOPIC, SEES, handler_of, settings_for
from tools.bench.child import Report, Task
from tools.bench.events import NOTES, SEEN, note
from tools.bench.pages import fill, load_pages, page_records, rewind

ROOT = Path(__file__).parent.parent.parent
RUN_SECONDS = 1800
QUIX_PYTHON = ROOT / ".assay" / "quix" / "bin" / "python"


class RunFailedError(Exception):
    """A measured process ended badly, or did not do what it was to do."""


@dataclass(frozen=True)
class Feed:
    """Records in Kafka: where, and how many."""

    bootstrap: str
    prefix: str
    source: str
    target: str
    records: int

    def task(self, mode: str = "") -> Task:
        """All of them, for a contestant."""
        return Task(self.bootstrap, self.prefix, self.source, self.target, self.records, mode)


async def feed_pages(bootstrap: str, times: int, prefix: str = "") -> Feed:
    """The pages, several times, in a separate topic."""
    prefix = prefix or f"pages{times}."
    settings = settings_for(bootstrap, prefix)
    await create_topics(settings.kafka)
    count = await fill(settings, PAGES_CRAWLED.name, page_records(load_pages(), times))
    return Feed(bootstrap, prefix, PAGES_CRAWLED.name, PAGES_SCORED.name, count)


async def feed_notes(bootstrap: str, count: int) -> Feed:
    """Small messages in a separate topic."""
    prefix = f"notes{count}."
    settings = settings_for(bootstrap, prefix)
    await create_topics(settings.kafka, topics=(NOTES_TOPIC, SEEN_TOPIC), handlers=(SEES,))
    await fill(settings, NOTES, ((*note(number), []) for number in range(count)))
    return Feed(bootstrap, prefix, NOTES, SEEN, count)


async def remove(feed: Feed) -> None:
    """Makes room on the disk."""
    async with opened(make_admin(settings_for(feed.bootstrap, feed.prefix).kafka)) as admin:
        await admin.delete_topics([feed.prefix + feed.source, feed.prefix + feed.target])


async def assay(feed: Feed, delivery: str) -> Report:
    """The pipeline over a feed."""
    handler = handler_of(feed.source)
    settings = settings_for(feed.bootstrap, feed.prefix, delivery)
    await rewind(settings, feed.prefix + handler.group, feed.prefix + feed.source)
    report = await run("assay_worker", feed.task(delivery))
    if report.records != feed.records or report.more.get("retry", 0):
        raise RunFailedError(f"{feed.records} records went in, and this came of them: {report}")
    return report


async def bare(feed: Feed, mode: str) -> Report:
    """The bare loop over a feed."""
    await rewind(settings_for(feed.bootstrap, feed.prefix), f"{feed.prefix}bare", feed.prefix + feed.source)
    return await run("bare_worker", feed.task(mode))


async def quix(feed: Feed) -> Report:
    """Quix Streams over a feed."""
    await rewind(settings_for(feed.bootstrap, feed.prefix), f"{feed.prefix}quix", feed.prefix + feed.source)
    return await run("quix_worker", feed.task(""), python=QUIX_PYTHON)


async def alone(mode: str, every: int = 1) -> Report:
    """A function on pages in memory."""
    return await run("alone_worker", Task(mode=mode, every=every))


async def profile(feed: Feed) -> dict[str, Any]:
    """CPU shares of the pipeline's stages over a feed."""
    handler = handler_of(feed.source)
    settings = settings_for(feed.bootstrap, feed.prefix)
    await rewind(settings, feed.prefix + handler.group, feed.prefix + feed.source)
    shares: dict[str, Any] = json.loads(await _last_line("assay_worker", feed.task("exactly_once"), ("--profile",)))
    return shares


async def run(module: str, task: Task, python: Path | None = None) -> Report:
    """One measured process to its end."""
    return Report(**json.loads(await _last_line(module, task, ("--run",), python)))


async def _last_line(module: str, task: Task, flags: Sequence[str], python: Path | None = None) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = await asyncio.create_subprocess_exec(
        str(python or sys.executable),
        "-m",
        f"tools.bench.{module}",
        *flags,
        json.dumps(asdict(task)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
        cwd=ROOT,
    )
    try:
        async with asyncio.timeout(RUN_SECONDS):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    lines = [line for line in out.decode().splitlines() if line.startswith("{")]
    if process.returncode or not lines:
        raise RunFailedError(f"{module} {task.mode}: exit {process.returncode}\n{err.decode()[-3000:]}")
    return lines[-1]


def median_of(reports: Sequence[Report]) -> dict[str, float]:
    """The median figures of repetitions: records a second of CPU and of wall time, and the highest peak."""
    return {
        "per_cpu_second": round(statistics.median(r.records / r.cpu for r in reports), 1),
        "per_wall_second": round(statistics.median(r.records / r.wall for r in reports), 1),
        "cpu_ms": round(statistics.median(1000 * r.cpu / r.records for r in reports), 4),
        "peak_mb": round(max(r.peak_mb for r in reports), 1),
    }
