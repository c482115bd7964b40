"""``python -m tools.bench.query``: how long a query over an embedded index takes, in all and by part.

Generated pages of all tiers, in the plan's mix (R-221) and with real payloads, go through ``index_page`` into the
index. Then the query engine answers queries one after another, with the offline judge instead of a model. No Kafka is
needed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import warnings
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from handlers.index_page import IndexPageRules, index_page
from schemas.event import Run
from schemas.needs import Ask, AskModel, Need, SearchVectors
from schemas.pages import ScoredPage, Tier, TrustFeatures
from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted
from schemas.replies import Reply
from streams.pipeline.services import LiveServices
from streams.query.engine import QueryEngine
from streams.settings.model import load_settings
from streams.telemetry.setup import configure_logs
from tests.rules import shipped_rules
from tests.samples import scored
from tools.table import markdown

RULES = shipped_rules(IndexPageRules)
PARTS = ("whole", "search", "judge", "stages", "CPU")
"""Of a query's time; beside other work on the machine, CPU time says more than the clock."""
PUBLISHERS = 200
WORDS = 20_000
HAN = (
    "雨河水磨坊市長議會預算交通學校醫院農業颱風地震選舉法案經濟科技能源氣候火車機場港口"
    "漁民工人學生老師記者今天昨天報導表示宣布公布調查研究發現增加減少"
)
CHARACTERS: dict[Tier, int] = {"A": 20_000, "B": 1_500, "C": 1_200}
MIX: tuple[Tier, ...] = ("A", *("B",) * 5, *("C",) * 4)
SCORES: dict[Tier, int] = {"A": 82, "B": 55, "C": 21}
TAGS = (("news",), ("government",), ("academic",), ("blog",), ())
FILTERS: tuple[dict[str, Any], ...] = (
    {"tier": "A"},
    {"tier": ["B", "C"]},
    {"domain": "site7.example"},
    {"domain": "www.site8.example", "tier": "B"},
    {"tag": "news"},
    {"tag": ["academic", "government"], "tier": ["A", "B"]},
    {"date_from": "2020-01-01"},
    {"date_from": "2015-01-01", "date_to": "2015-12-31"},
    {"tier": ["A", "B"], "tag": "news", "date_from": "2012", "date_to": "2018"},
)


class Stopwatch:
    """A world that measures how long its answers take.

    Attributes:
        spent: Milliseconds by what was asked for, since they were last taken.
    """

    def __init__(self, services: LiveServices) -> None:
        self._services = services
        self.spent: dict[str, float] = {}

    async def answer(self, need: Need, run: Run | None) -> Reply:
        began = perf_counter()
        try:
            return await self._services.answer(need, run)
        finally:
            name = {SearchVectors: "search", AskModel: "judge"}.get(type(need), "other")
            self.spent[name] = self.spent.get(name, 0.0) + 1000 * (perf_counter() - began)


class Words:
    """Texts of made-up words, frequent and rare ones as in a language, and of Chinese characters."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        made = random.Random(0)
        letters = "etaoinshrdlucmfwypvbgk"
        self._words = ["".join(made.choices(letters, k=made.randint(2, 10))) for _ in range(WORDS)]
        self._weights = [1 / (place + 10) for place in range(WORDS)]

    def text(self, characters: int, chinese: bool) -> str:
        if chinese:
            return "".join("".join(self._chance.choices(HAN, k=24)) + "。" for _ in range(characters // 25 + 1))
        words = self._chance.choices(self._words, self._weights, k=characters // 6 + 1)
        return ". ".join(" ".join(words[at : at + 14]) for at in range(0, len(words), 14))


def pages(seed: int = 1) -> Iterator[ScoredPage]:
    """Pages without end."""
    words, chance = Words(seed), random.Random(seed)
    number = 0
    while True:
        tier, publisher, chinese = MIX[number % len(MIX)], chance.randrange(PUBLISHERS), chance.random() < 0.3
        content = words.text(chance.randint(CHARACTERS[tier] // 2, CHARACTERS[tier]), chinese)
        day = (date(2010, 1, 1) + timedelta(days=chance.randrange(5500))).isoformat()
        trust = TrustFeatures(
            source_tier=chance.choice((1, 2, 3)), base_score=25, domain_tags=TAGS[publisher % len(TAGS)],
            word_count=len(content) // 6, has_headings=True, schema_type="NewsArticle", has_date=True,
            cts_score=SCORES[tier],
        )  # fmt: skip
        yield scored(
            f"https://www.site{publisher}.example/{day[:4]}/{number}", content, tier,
            title=words.text(40, chinese)[:60], summary=words.text(150, chinese),
            date=date.fromisoformat(day) if number % 3 else datetime.fromisoformat(f"{day}T08:30:00+08:00"),
            authors=("Ann Other",), site_name=f"Site {publisher}", language="zh" if chinese else "en",
            trust_features=trust, cts_score=SCORES[tier], trust_label="MEDIUM",
        )  # fmt: skip
        number += 1


async def fill(services: LiveServices, points: int) -> list[str]:
    """Indexes pages until the index has the given number of points; returns titles."""
    titles, written = [], 0
    for page in pages():
        ask = index_page(page, RULES)
        assert isinstance(ask, Ask)
        reply = await services.answer(ask.need, None)
        written += getattr(reply, "written", 0)
        titles.append(page.title)
        if written >= points:
            return titles
    raise AssertionError("there are always more pages")


async def ask(engine: QueryEngine, watch: Stopwatch, titles: list[str], queries: int, filtered: bool) -> dict[str, Any]:
    """Queries made of pieces of titles; milliseconds of them and of their parts."""
    chance = random.Random(2)
    rows: list[dict[str, float]] = []
    results = 0
    for number in range(queries + 10):
        title = chance.choice(titles)
        query = title[: chance.randint(8, 40)]
        filters = FILTERS[number % len(FILTERS)] if filtered else {}
        request = RankingRequested.model_validate({"request_id": str(number), "query": query, "filters": filters})
        watch.spent.clear()
        began, worked = perf_counter(), process_time()
        answer = await engine.answer(request)
        whole, cpu = 1000 * (perf_counter() - began), 1000 * (process_time() - worked)
        assert isinstance(answer, RankingCompleted), answer
        if number < 10:  # the first ones load libraries and read what is filtered by
            continue
        results += len(answer.results)
        rows.append({"whole": whole, **watch.spent, "stages": whole - sum(watch.spent.values()), "CPU": cpu})
    parts = {part: spread([row.get(part, 0.0) for row in rows]) for part in PARTS}
    return parts | {"queries": queries, "results": results / queries}


def spread(values: list[float]) -> dict[str, float]:
    """Median, 95th of 100, and the longest."""
    cuts = statistics.quantiles(values, n=100)
    return {"p50": round(cuts[49], 1), "p95": round(cuts[94], 1), "max": round(max(values), 1)}


async def measured(points: int, queries: int, filtered: bool) -> dict[str, Any]:
    """Fills an index and asks it."""
    # As shipped: the offline judge, and an index in memory.
    settings = load_settings(index={"path": None})
    services = LiveServices(settings)
    watch = Stopwatch(services)
    began = perf_counter()
    titles = await fill(services, points)
    filled = perf_counter() - began
    figures = await ask(QueryEngine(settings, watch), watch, titles, queries, filtered)
    await services.aclose()
    return figures | {"points": points, "filtered": filtered, "pages": len(titles), "filled_seconds": round(filled, 1)}


def table(rows: list[dict[str, Any]]) -> str:
    """The latencies as Markdown."""
    cells = (
        [
            f"{row['points']:,}",
            "yes" if row["filtered"] else "no",
            part,
            *(f"{value:.0f}" for value in row[part].values()),
        ]
        for row in rows
        for part in PARTS
    )
    return markdown("", ["points", "filters", "part", "p50 ms", "p95 ms", "max ms"], cells, texts=3)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.query", description=__doc__)
    parser.add_argument("--points", type=int, default=100_000, help="of the index that is asked without filters")
    parser.add_argument("--filtered", type=int, default=10_000, help="points of the index that is asked with filters")
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--json", type=Path, help="write the figures to a file")
    options = parser.parse_args()
    # The client's advice, from 20,000 points on, to take a server; that is what is measured here.
    warnings.filterwarnings("ignore", "Local mode", UserWarning)
    configure_logs("error", "text")
    results: dict[str, Any] = {"queries": []}
    for points, filtered in ((options.points, False), (options.filtered, True)):
        if points:
            results["queries"].append(asyncio.run(measured(points, options.queries, filtered)))
    print(table(results["queries"]))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
