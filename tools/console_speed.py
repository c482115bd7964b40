"""Measures the console: ``python -m tools.console_speed [--json FILE]``.

On a local Kafka, in the order of the table: memory of 100,000 decisions, CPU time of an answer, time to draw 10,000
decisions in Chromium, delay from a commit to the open screen, and bytes of JavaScript.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import statistics
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from playwright.async_api import async_playwright

import streams.console
from schemas.event import Envelope
from schemas.pages import ScoredPage
from streams.console.app import make_app, make_context, served
from streams.console.context import Context
from streams.console.entries import Entry, Mention, Position, entry_of, mentions_of
from streams.kafka.clients import make_producer, opened
from streams.kafka.topics import create_topics
from streams.local_kafka.broker import LocalKafka
from streams.settings.model import HttpSettings, Settings, load_settings
from streams.topology import PAGES_SCORED
from streams.topology.codec import OutputRecord, encode
from tools.bench.processes import memory_of

_KEPT = 100_000
_DRAWN = 10_000
_ANSWERS = 30
_COMMITS = 30
_NO_PARTITION = 999
"""Of the records in the store that are not in Kafka."""
_EXAMPLE = Path(__file__).parents[1] / "schemas" / "examples" / "pages.scored.v1" / "government_notice.json"
_STATIC = Path(streams.console.__file__).parent / "static"


async def measure() -> dict[str, Any]:
    """The figures by name."""
    figures: dict[str, Any] = {"javascript_bytes": sum(file.stat().st_size for file in _STATIC.glob("*.js"))}
    async with LocalKafka() as kafka:
        settings = load_settings(kafka={"bootstrap_servers": kafka.bootstrap_servers})
        await create_topics(settings.kafka)
        context = make_context(settings)
        figures |= await _memory(context)
        async with served(context, HttpSettings(port=0)) as address:
            figures |= await _in_browser(address, settings)
    return figures


async def _memory(context: Context) -> dict[str, Any]:
    """Resident memory before and after the store is full, and the CPU time of answers then."""
    from starlette.testclient import TestClient

    page = ScoredPage.model_validate_json(_EXAMPLE.read_bytes())
    client = TestClient(make_app(context), base_url="http://127.0.0.1")
    await asyncio.to_thread(client.get, "/")
    before = memory_of(os.getpid()).rss
    began = time.process_time()
    for first in range(0, _KEPT, 100):
        context.store.add([_found(page, first + number) for number in range(100)])
    filling = time.process_time() - began
    after = memory_of(os.getpid()).rss
    cpu = []
    for _ in range(_ANSWERS):
        began = time.process_time()
        answer = await asyncio.to_thread(client.get, "/")
        cpu.append(time.process_time() - began)
        assert answer.status_code == 200
    return {
        "kept": context.store.count,
        "store_mb": round(after - before, 1),
        "process_mb": round(after, 1),
        "stored_per_cpu_second": round(_KEPT / filling),
        "answer_cpu_ms": round(1000 * statistics.median(cpu), 1),
    }


def _found(page: ScoredPage, number: int) -> tuple[Entry, list[Mention]]:
    its = page.model_copy(update={"url": f"https://news.example.org/report/{number}", "cts_score": number * 7 % 101})
    now = int(time.time() * 1000)
    entry = entry_of(Position(PAGES_SCORED.name, _NO_PARTITION, number), now - _KEPT + number, (), its)
    assert entry is not None
    return entry, mentions_of(its)


async def _in_browser(address: str, settings: Settings) -> dict[str, Any]:
    chromium = shutil.which("chromium")
    if chromium is None:
        return {"in_browser": "there is no Chromium on this machine"}
    async with async_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = await playwright.chromium.launch(executable_path=chromium, args=arguments)
        page = await browser.new_page(viewport={"width": 1280, "height": 800})
        drawn, loaded = [], []
        for _ in range(5):
            began = time.monotonic()
            await page.goto(address + "/?span=all")
            await page.locator(f'#dots canvas[data-painted="{_DRAWN}"]').wait_for()
            loaded.append(time.monotonic() - began)
            drawn.append(float(await page.locator("#dots canvas").get_attribute("data-milliseconds") or "nan"))
        await asyncio.sleep(3)
        delays = []
        async with opened(make_producer(settings.kafka, "assay.console-speed", "console-speed")) as producer:
            for number in range(_COMMITS):
                record = _record(number)
                await producer.begin_transaction()
                await producer.send_and_wait(
                    record.topic, value=record.value, key=record.key, headers=list(record.headers)
                )
                await producer.commit_transaction()
                began = time.monotonic()
                await page.locator("#rows tr", has_text=f"example.org/new/{number}/").first.wait_for()
                delays.append(time.monotonic() - began)
        await browser.close()
    return {
        "drawn": _DRAWN,
        "draw_ms": round(statistics.median(drawn), 1),
        "load_and_draw_ms": round(1000 * statistics.median(loaded)),
        "commit_to_screen_ms": round(1000 * statistics.median(delays)),
        "commit_to_screen_max_ms": round(1000 * max(delays)),
    }


def _record(number: int) -> OutputRecord:
    page = ScoredPage.model_validate_json(_EXAMPLE.read_bytes())
    its = page.model_copy(update={"url": f"https://news.example.org/new/{number}/", "event_id": None})
    return encode(PAGES_SCORED, its, Envelope(f"new-{number}", "assay/score_page", datetime.now(UTC), "root"))


def main() -> int:
    """Prints the figures."""
    parser = argparse.ArgumentParser(prog="python -m tools.console_speed", description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures to a file too")
    options = parser.parse_args()
    figures = asyncio.run(measure())
    for name, value in figures.items():
        print(f"{name:28}{value}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
