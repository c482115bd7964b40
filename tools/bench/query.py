"""``python -m tools.bench.query``: how long a query over an embedded index takes, in all and by part.

Generated pages of all tiers, in the plan's mix (R-221) and with real payloads, go through ``index_page`` into the
index. Then the query engine answers queries one after another, with the offline judge instead of a model. No Kafka is
needed.
"""

import asyncio
import random
import statistics
import warnings
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from time import perf_counter, process_time

from handlers.index_page import IndexPageRules, index_page
from schemas.event import Run
from schemas.needs import Ask, AskModel, Need, SearchVectors
from schemas.pages import ScoredPage, Tier, TrustFeatures
from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted
from schemas.replies import IndexReply, Reply
from streams.pipeline.services import LiveServices
from streams.query.engine import QueryEngine
from streams.settings.model import load_settings
from streams.telemetry.setup import configure_logs
from tests.rules import shipped_rules
from tests.samples import instance, scored
from tests.tables import tables
from tools.table import markdown

POINTS, POINTS_FILTERED, QUERIES, NOT_TIMED = 100_000, 10_000, 300, 10
"""The first queries are not timed: they load libraries and read what is filtered by."""
PARTS = ("whole", "search", "judge", "stages", "CPU")
"""Of a query's time; beside other work on the machine, CPU time says more than the clock."""
PUBLISHERS, WORDS = 200, 20_000
_DATA = tables(__file__)
HAN, TAGS, FILTERS = _DATA["characters"], _DATA["tags"], _DATA["filters"]
CHARACTERS: dict[Tier, int] = {"A": 20_000, "B": 1_500, "C": 1_200}
MIX: tuple[Tier, ...] = ("A", *("B",) * 5, *("C",) * 4)
SCORES: dict[Tier, int] = {"A": 82, "B": 55, "C": 21}


class Stopwatch:
    """A world that measures how long its answers take: milliseconds by what was asked for."""

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
        self._words = ["".join(made.choices("etaoinshrdlucmfwypvbgk", k=made.randint(2, 10))) for _ in range(WORDS)]
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
    rules = shipped_rules(IndexPageRules)
    titles: list[str] = []
    written, made = 0, pages()
    while written < points:
        page = next(made)
        ask = instance(Ask, index_page(page, rules))
        written += instance(IndexReply, await services.answer(ask.need, None)).written
        titles.append(page.title)
    return titles


async def measured(points: int, queries: int, filtered: bool) -> list[list[object]]:
    """Fills an index, and asks it for pieces of titles; a row of figures for each part of the time."""
    # As shipped: the offline judge, and an index in memory.
    settings = load_settings(index={"path": None})
    services = LiveServices(settings)
    watch = Stopwatch(services)
    engine, titles, chance = QueryEngine(settings, watch), await fill(services, points), random.Random(2)
    taken: list[dict[str, float]] = []
    for number in range(queries + NOT_TIMED):
        title = chance.choice(titles)
        query = title[: chance.randint(8, 40)]
        filters = FILTERS[number % len(FILTERS)] if filtered else {}
        request = RankingRequested.model_validate({"request_id": str(number), "query": query, "filters": filters})
        watch.spent.clear()
        began, worked = perf_counter(), process_time()
        instance(RankingCompleted, await engine.answer(request))
        whole, cpu = 1000 * (perf_counter() - began), 1000 * (process_time() - worked)
        taken.append({"whole": whole, **watch.spent, "stages": whole - sum(watch.spent.values()), "CPU": cpu})
    await services.aclose()
    rows: list[list[object]] = []
    for part in PARTS:
        values = [parts.get(part, 0.0) for parts in taken[NOT_TIMED:]]
        cuts = statistics.quantiles(values, n=100)
        figures = (f"{value:.0f}" for value in (cuts[49], cuts[94], max(values)))
        rows.append([f"{points:,}", "yes" if filtered else "no", part, *figures])
    return rows


def main() -> None:
    # The client's advice, from 20,000 points on, to take a server; that is what is measured here.
    warnings.filterwarnings("ignore", "Local mode", UserWarning)
    configure_logs("error", "text")
    rows = [
        row
        for points, filtered in ((POINTS, False), (POINTS_FILTERED, True))
        for row in asyncio.run(measured(points, QUERIES, filtered))
    ]
    print(markdown("", ["points", "filters", "part", "p50 ms", "p95 ms", "max ms"], rows, texts=3))


if __name__ == "__main__":
    main()
