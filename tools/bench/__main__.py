"""``make bench``: the pipeline compared with its limits and with other pipelines, in one run on one machine.

See docs/benchmarks.md. Repetitions take turns (A B C, A B C), so that a busy moment of the machine affects all of them;
the median counts.
"""

import argparse
import asyncio
import json
import os
import platform
import sys
import sysconfig
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from streams.local_kafka.broker import LocalKafka
from tools import labelled
from tools.bench import runs
from tools.bench.child import Task
from tools.bench.runs import Run, feed_notes, feed_pages
from tools.bench.work import SET
from tools.table import machine, markdown, marks, write

Contestant = Callable[[], Awaitable[Run]]
Rows = Mapping[str, Mapping[str, float]]
BARE_NOTES = "bare loop"
_COLUMNS = {
    "alone": {
        "ms of CPU for a page in memory": "{name}", "mean": "{mean_ms:.2f}", "p50": "{p50_ms:.2f}",
        "p99": "{p99_ms:.2f}", "peak MB": "{peak_mb:.2f}",
    },
    "pages": {
        "pages": "{name}", "pages/s of wall": "{per_wall_second:.0f}", "ms of CPU": "{cpu_ms:.2f}",
        "parent": "{parent_ms:.2f}", "children": "{children_ms:.2f}", "broker": "{broker_ms:.2f}",
        "peak MB": "{peak_mb:.0f} + {children_peak_mb:.0f}",
    },
    "small messages": {
        "messages of 1 KB": "{name}", "messages/s of CPU": "{per_cpu_second:.0f}", "µs of CPU": "{cpu_us:.1f}",
        "messages/s of wall": "{per_wall_second:.0f}", "share of the bare loop": "{of_bare:.2f}",
    },
}  # fmt: skip
"""The tables for people: heads, and how a cell is written."""
PARTS = ("alone", "pages", "small")
_ALONE = {
    "parse of bytes": "parse", "`score_page`": "score_page", "resiliparse, main content": "resiliparse",
    "trafilatura": "trafilatura",
}  # fmt: skip
_VERSIONS = ("aiokafka", "faststream", "pydantic", "selectolax", "prometheus_client")
_CONFIG_ARGS = str(sysconfig.get_config_var("CONFIG_ARGS"))
_JOIN_TOGETHER = {"group.initial.rebalance.delay.ms": 3000}
"""Kafka's own default. The processes of one contestant get their partitions at the same time."""


def main() -> int:
    """Measures; returns 0 also where there is nothing to measure on, 1 where a run did not do its work."""
    options = _options()
    if not labelled.has(SET):
        labelled.skipped()
        return 0
    try:
        results = asyncio.run(measure(options))
    except runs.RunFailedError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    text = tables(results)
    print(text)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    if options.write:
        write(text, marks(), "benchmarks.md")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench ARGS=", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="everything once and small, within a few minutes")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="some parts")
    parser.add_argument("--rounds", type=int, help="repetitions of each contestant (3, quick 1)")
    parser.add_argument("--json", type=Path, help="write the figures to a file")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/benchmarks.md")
    return parser.parse_args()


async def measure(options: argparse.Namespace) -> dict[str, Any]:
    rounds = options.rounds or (1 if options.quick else 3)
    results: dict[str, Any] = {"machine": _machine()}
    if "alone" in options.only:
        results["alone"] = await in_turn({name: partial(runs.alone, mode) for name, mode in _ALONE.items()}, rounds)
    if "pages" in options.only:
        async with LocalKafka(properties=_JOIN_TOGETHER) as kafka:
            feed = await feed_pages(kafka, times=1 if options.quick else 3)
            results["pages"] = await in_turn(_page_contestants(feed), rounds)
    if "small" in options.only:
        async with LocalKafka() as kafka:
            feed = await feed_notes(kafka, 20_000 if options.quick else 60_000)
            contestants: dict[str, Contestant] = {
                BARE_NOTES: partial(runs.bare, feed, "notes"),
                "Assay, at least once": partial(runs.assay, feed, "at_least_once"),
                "Assay, exactly once": partial(runs.assay, feed, "exactly_once"),
                "bare loop that forwards bytes": partial(runs.bare, feed, "forward"),
            }
            results["small messages"] = await in_turn(contestants, rounds)
    return results


def _page_contestants(feed: Task) -> dict[str, Contestant]:
    contestants: dict[str, Contestant] = {"bare aiokafka loop, at least once": partial(runs.bare, feed, "pages")}
    for children in sorted({0, 1, 2, os.cpu_count() or 1}):
        name = f"Assay, exactly once, child processes: {children}"
        contestants[name] = partial(runs.assay, feed, "exactly_once", children)
    if runs.QUIX_PYTHON.exists():
        contestants["Quix Streams, exactly once"] = partial(runs.quix, feed)
    return contestants


def tables(results: Mapping[str, Any]) -> str:
    return "\n".join([results["machine"], *(_table(part, results[part]) for part in _COLUMNS if part in results)])


def _table(part: str, rows: Rows) -> str:
    bare = rows.get(BARE_NOTES, {}).get("per_cpu_second", 1.0)
    cells = []
    for name, row in rows.items():
        derived = {"cpu_us": 1000 * row["cpu_ms"], "of_bare": row["per_cpu_second"] / bare}
        cells.append([form.format(name=name, **row, **derived) for form in _COLUMNS[part].values()])
    return markdown("", _COLUMNS[part], cells)


async def in_turn(contestants: Mapping[str, Contestant], rounds: int) -> dict[str, dict[str, float]]:
    """The medians of every contestant, which take turns, after the given number of rounds."""
    done: dict[str, list[Run]] = {name: [] for name in contestants}
    for number in range(rounds):
        for name, contestant in contestants.items():
            print(f"{name}, {number + 1} of {rounds}", file=sys.stderr, flush=True)
            done[name].append(await contestant())
    return {name: runs.median_of(some) for name, some in done.items()}


def _machine() -> str:
    names = [option for option in ("--enable-optimizations", "--with-lto") if option in _CONFIG_ARGS]
    build = f"Python {platform.python_version()} (CONFIG_ARGS with {' and '.join(names) or 'no optimisation'})"
    return f"{machine()} at the start; {', '.join([build, *(f'{name} {version(name)}' for name in _VERSIONS)])}.\n"


if __name__ == "__main__":
    sys.exit(main())
