"""``make bench``: the pipeline compared with its limits and with other pipelines, in one run on one machine.

See docs/benchmarks.md. Repetitions take turns (A B C, A B C), so that a busy moment of the machine affects all of them;
the median counts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import statistics
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from streams.local_kafka.broker import LocalKafka
from tools import labelled
from tools.bench import pace, runs, table
from tools.bench.child import Report
from tools.bench.pages import SET

Run = Callable[[], Awaitable[Report]]
PARTS = ("pages", "small", "scale", "pace", "profile")
_VERSIONS = ("aiokafka", "faststream", "pydantic", "selectolax", "prometheus_client")


def main() -> int:
    """Measures; returns 0 also where there is nothing to measure on, 1 where a run did not do its work."""
    options = _options()
    if not labelled.has(SET):
        print(f"skipped: no {SET} below {labelled.DATA}; set DATA to a folder of labelled pages")
        return 0
    try:
        results = asyncio.run(measure(options))
    except runs.RunFailedError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    print(table.tables(results))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    if options.write:
        table.write(results)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench ARGS=", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="everything once and small, within two minutes")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="some parts (profile only on request)")
    parser.add_argument("--profile", action="store_true", help="CPU time by stage too")
    parser.add_argument("--rounds", type=int, help="repetitions of each contestant (3, quick 1)")
    parser.add_argument("--times", type=int, help="how often each page goes through Kafka in a round (3, quick 1)")
    parser.add_argument("--notes", type=int, help="small messages (60000, quick 20000)")
    parser.add_argument("--scales", type=int, nargs="+", help="inputs as multiples of the pages (1 10 50, quick 1 2)")
    parser.add_argument("--asks", type=int, help="asks under the rate limit (3000, quick 600)")
    parser.add_argument("--json", type=Path, help="write the figures to a file")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/benchmarks.md")
    options = parser.parse_args()
    full, quick = (3, 3, 60_000, [1, 10, 50], 3000), (1, 1, 20_000, [1, 2], 600)
    for name, value in zip(
        ("rounds", "times", "notes", "scales", "asks"), quick if options.quick else full, strict=True
    ):
        if getattr(options, name) is None:
            setattr(options, name, value)
    return options


async def measure(options: argparse.Namespace) -> table.Results:
    """The requested parts, on a separate Kafka."""
    results: table.Results = {"machine": _machine()}
    async with LocalKafka() as kafka:
        servers = kafka.bootstrap_servers
        if "pages" in options.only:
            feed = await runs.feed_pages(servers, options.times)
            results["pages"] = await in_turn(_page_runs(feed), options.rounds)
        if "small" in options.only:
            feed = await runs.feed_notes(servers, options.notes)
            results["small messages"] = await in_turn(_note_runs(feed), options.rounds)
        if "scale" in options.only:
            results["scale"] = [await _scaled(servers, scale) for scale in options.scales]
        if "pace" in options.only:
            _say("asks under a rate limit")
            results["pace"] = asdict(await pace.measure(servers, options.asks)) | {"rate": pace.RATE}
        if options.profile:
            _say("profiles")
            pages, notes = await runs.feed_pages(servers, 2), await runs.feed_notes(servers, 10_000)
            results["profile"] = {
                "pages": (await runs.profile(pages))["shares"],
                "small messages": (await runs.profile(notes))["shares"],
            }
    return results


def _page_runs(feed: runs.Feed) -> dict[str, Run]:
    contestants: dict[str, Run] = {
        "parse alone": lambda: runs.alone("parse"),
        "`score_page` alone": lambda: runs.alone("score_page"),
        "bare aiokafka loop, at least once": lambda: runs.bare(feed, "pages"),
        "Assay, at least once": lambda: runs.assay(feed, "at_least_once"),
        "Assay, exactly once": lambda: runs.assay(feed, "exactly_once"),
    }
    if runs.QUIX_PYTHON.exists():
        contestants["Quix Streams, exactly once"] = lambda: runs.quix(feed)
    if find_spec("trafilatura"):
        contestants["trafilatura, every 8th page"] = lambda: runs.alone("trafilatura", every=8)
    return contestants


def _note_runs(feed: runs.Feed) -> dict[str, Run]:
    return {
        "bare loop": lambda: runs.bare(feed, "notes"),
        "Assay, at least once": lambda: runs.assay(feed, "at_least_once"),
        "Assay, exactly once": lambda: runs.assay(feed, "exactly_once"),
        "bare loop that forwards bytes": lambda: runs.bare(feed, "forward"),
    }


async def in_turn(contestants: Mapping[str, Run], rounds: int) -> dict[str, dict[str, float]]:
    """The medians of every contestant after the given number of rounds."""
    reports: dict[str, list[Report]] = {name: [] for name in contestants}
    for number in range(rounds):
        for name, contestant in contestants.items():
            _say(f"{name}, {number + 1} of {rounds}")
            reports[name].append(await contestant())
    return {name: runs.median_of(some) for name, some in reports.items()}


async def _scaled(servers: str, scale: int) -> dict[str, float]:
    """One run over a multiple of the pages, exactly once."""
    _say(f"pages x {scale}")
    feed = await runs.feed_pages(servers, scale, f"scale{scale}.")
    report = await runs.assay(feed, "exactly_once")
    await runs.remove(feed)
    third = max(1, len(report.rss_mb) // 3)
    return runs.median_of([report]) | {
        "records": report.records,
        "first_third_mb": round(statistics.mean(report.rss_mb[:third]), 1),
        "last_third_mb": round(statistics.mean(report.rss_mb[-third:]), 1),
    }


def _machine() -> dict[str, Any]:
    versions = {"Python": platform.python_version()} | {name: version(name) for name in _VERSIONS}
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    return {"date": today, "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1), "versions": versions}


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
