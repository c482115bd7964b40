"""Compares the forecasts of ``assay capacity`` with measured runs of three sizes: ``python -m tools.bench.capacity``.

Each run scores so many real pages (``DATA``), exactly once, in one worker with one child, on a Kafka of its own. The
sizes have different pages, so both costs for each page and costs for each byte matter. ``--calibrate`` measures two
other runs and prints the figures for ``config/costs.yaml``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from streams.capacity.costs import Costs, read_costs
from streams.local_kafka.broker import LocalKafka
from streams.runtime.settings_files import config_dir
from streams.topology import PAGES_CRAWLED, PAGES_SCORED
from tools.bench import runs
from tools.bench.feeds import feed_records, remove
from tools.bench.pages import Page, Record, load_pages

SIZES = ((2_000, 10**9), (8_000, 150_000), (32_000, 80_000))
"""Pages of a run, and the largest page in it."""
CALIBRATION = ((1_431, 10**9), (3_000, 80_000))
_WARM_UP = (500, 10**9)
"""Not counted: a broker that has just started compiles itself."""
_COSTS = {
    "cpu_seconds": ("handlers.score_page", "milliseconds", "per_root_kilobyte", 0.5, 1000, 1000),
    "broker_seconds": ("broker", "milliseconds", "per_kilobyte", 1, 1000, 1000),
    "crawled_bytes": ("topics.pages.crawled.v1", "bytes", "per_byte", 1, 1, 0.001),
    "scored_bytes": ("topics.pages.scored.v1", "bytes", "per_byte", 1, 1, 0.001),
}
"""For what a run costs: the cost in ``config/costs.yaml``, its two keys, the power of a page's kilobytes with which it
grows, and what each key is for 1 s or 1 byte."""
_WORKERS = {"processes": 1}


@dataclass(frozen=True)
class Measured:
    """One run.

    Attributes:
        pages: How many were scored.
        page_bytes: HTML of a page, on average.
        cpu_seconds: Of the worker and its child.
        broker_seconds: CPU time of the broker meanwhile.
        crawled_bytes: Of ``pages.crawled.v1`` on disk.
        scored_bytes: Of ``pages.scored.v1`` on disk.
        pages_a_second: By the clock.
    """

    pages: int
    page_bytes: float
    cpu_seconds: float
    broker_seconds: float
    crawled_bytes: int
    scored_bytes: int
    pages_a_second: float


def records(pages: Sequence[Page], count: int) -> list[Record]:
    """So many records of the pages, again and again, each with an address of its own."""
    return [
        (
            f"{url}#{number}".encode(),
            body,
            [("assay_url", f"{url}#{number}".encode()), ("content-type", b"text/html")],
        )
        for number, (url, body) in enumerate(islice(cycle(pages), count))
    ]


async def measure(kafka: LocalKafka, count: int, largest: int) -> Measured:
    """Scores so many pages that are not larger than ``largest``."""
    pages = [page for page in load_pages() if len(page[1]) <= largest]
    given = records(pages, count)
    feed = await feed_records(kafka, f"capacity{count}.", given)
    run = (await runs.assay(feed, "exactly_once", _WORKERS)).report
    crawled, scored = (_on_disk(kafka.data_dir, feed.prefix + topic.name) for topic in (PAGES_CRAWLED, PAGES_SCORED))
    await remove(feed)
    page_bytes = sum(len(body) for _, body, _ in given) / count
    return Measured(count, page_bytes, run.all_cpu, run.broker_cpu, crawled, scored, count / run.wall)


def _on_disk(folder: Path, topic: str) -> int:
    """Bytes of the records of a topic. Segments are allocated in advance, so their used size counts."""
    return sum(file.stat().st_size for file in folder.rglob(f"{topic}-*/*.log"))


def compared(costs: Costs, run: Measured) -> dict[str, tuple[float, float]]:
    """Forecast and measured value of each figure."""
    size = run.page_bytes
    on_disk = sum(costs.topics[topic.name].size(size) for topic in (PAGES_CRAWLED, PAGES_SCORED))
    return {
        "CPU of the worker, s": (run.pages * costs.handlers["score_page"].seconds(size), run.cpu_seconds),
        "CPU of the broker, s": (run.pages * costs.broker.seconds(size), run.broker_seconds),
        "both topics on disk, MB": (run.pages * on_disk / 1e6, (run.crawled_bytes + run.scored_bytes) / 1e6),
    }


def calibrated(two: Sequence[Measured]) -> list[str]:
    """The costs that explain two runs, as ``config/costs.yaml`` has them."""
    lines = []
    for amount, (cost, of_page, of_size, power, unit_of_page, unit_of_size) in _COSTS.items():
        (first, at_first), (second, at_second) = (
            (getattr(run, amount) / run.pages, (run.page_bytes / 1000) ** power) for run in two
        )
        each = (first - second) / (at_first - at_second)
        fixed = (first - each * at_first) * unit_of_page
        for_page, for_size = (float(f"{value:.3g}") for value in (fixed, each * unit_of_size))
        lines.append(f"{cost}: {{{of_page}: {for_page:g}, {of_size}: {for_size:g}}}")
    return lines


async def run(options: argparse.Namespace) -> None:
    """Prints a table, or the figures of a calibration."""
    async with LocalKafka() as kafka:
        await measure(kafka, *_WARM_UP)
        if options.calibrate:
            two = [await measure(kafka, *size) for size in CALIBRATION]
            print(json.dumps([run.__dict__ for run in two]))
            print(*calibrated(two), sep="\n")
            return
        costs = read_costs(config_dir())
        print(
            "| pages | HTML, KB | pages/s | figure | forecast | measured | difference |\n|---|---|---|---|---|---|---|"
        )
        for size in SIZES[: options.sizes]:
            run = await measure(kafka, *size)
            for figure, (expected, found) in compared(costs, run).items():
                print(
                    f"| {run.pages:,} | {run.page_bytes / 1000:.0f} | {run.pages_a_second:.0f} | {figure} "
                    f"| {expected:.3g} | {found:.3g} | {100 * (expected / found - 1):+.0f} % |",
                    flush=True,
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calibrate", action="store_true", help="Print figures for config/costs.yaml.")
    parser.add_argument("--sizes", type=int, default=len(SIZES), help="How many of the sizes, the smallest first.")
    asyncio.run(run(parser.parse_args()))
