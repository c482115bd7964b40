"""``make bench``: how fast pages go through, each part beside the next in one run.

The limit is the bare Lexbor parse; then ``score_page`` alone, then the whole path through a Kafka that is started for
it, exactly once and at least once. Rates are pages a second of this process's CPU time, and of wall time for the path.
Figures go to standard output as a table, and with ``--json`` as one line.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from selectolax.lexbor import LexborHTMLParser

from handlers.score_page import ScorePageRules, score_page
from schemas.pages import CrawledPage
from streams.broker import LocalKafka
from streams.kafka import make_producer
from streams.topology import HANDLERS
from tests import labelled
from tests.kafka.installation import CRAWLED, SCORED, Installation, installed
from tests.rules import shipped_rules

SET = "wcxb_page_types"
REPEATS = 3
"""How often each page goes through Kafka, under addresses of its own."""

T = TypeVar("T")
Pages = list[tuple[str, bytes]]


def main() -> int:
    """Measures; returns 0 also where there is nothing to measure on."""
    if not labelled.has(SET):
        print(f"skipped: no {SET} below {labelled.DATA}; set DATA to a folder of labelled pages")
        return 0
    pages = [(labelled.address(case), labelled.body(SET, case)) for case in labelled.cases(SET)]
    rules = shipped_rules(ScorePageRules)
    crawled = [CrawledPage(url=url, html_base64=body, content_type="text/html") for url, body in pages]
    figures: dict[str, float] = {"pages": len(pages)}
    figures["parse_alone"] = rate(pages, lambda page: LexborHTMLParser(page[1].decode("utf-8", "replace")))
    figures["score_page_alone"] = rate(crawled, lambda page: score_page(page, rules))
    figures |= asyncio.run(through_kafka(pages))
    figures["memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    for name, figure in figures.items():
        share = f"  {figure / figures['parse_alone']:5.2f} of the parse" if "score" in name or "path" in name else ""
        print(f"{name:32} {figure:9.1f}{share}")
    if "--json" in sys.argv:
        print(json.dumps({name: round(figure, 2) for name, figure in figures.items()}))
    return 0


def rate(items: Sequence[T], work: Callable[[T], object]) -> float:
    """Items a second of CPU time."""
    began = time.process_time()
    for item in items:
        work(item)
    return len(items) / (time.process_time() - began)


async def through_kafka(pages: Pages) -> dict[str, float]:
    """Rates of the whole path in both modes of delivery."""
    figures = {}
    async with LocalKafka() as kafka:
        for delivery in ("exactly_once", "at_least_once"):
            assay = await installed(kafka.bootstrap_servers, f"bench.{delivery}.", delivery=delivery)
            await fill(assay, pages)
            wall, cpu = time.monotonic(), time.process_time()
            await assay.drain(HANDLERS[0])
            total = len(pages) * REPEATS
            figures[f"path_{delivery}_cpu"] = total / (time.process_time() - cpu)
            figures[f"path_{delivery}_wall"] = total / (time.monotonic() - wall)
            written = len(await assay.read(SCORED))
            if written != total:
                raise SystemExit(f"{total} pages went in and {written} scores came out")
    return figures


async def fill(assay: Installation, pages: Pages) -> None:
    """Publishes the pages raw."""
    producer = make_producer(assay.settings.kafka, None, "bench")
    await producer.start()
    for repeat in range(REPEATS):
        for url, body in pages:
            address = f"{url}#{repeat}".encode()
            headers = [("assay_url", address), ("content-type", b"text/html")]
            await producer.send(assay.prefix + CRAWLED, body, key=address, headers=headers)
    await producer.stop()


if __name__ == "__main__":
    sys.exit(main())
