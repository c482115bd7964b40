"""Searches with filters, embedded and on a server, over indexed pages and older points."""

import random
from collections.abc import AsyncIterator
from contextlib import ExitStack, aclosing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from handlers.index_page import IndexPageRules
from handlers.index_utterance import IndexUtteranceRules, index_utterance
from handlers.indexing.points import document_id_of, points_of
from handlers.ranking.candidates import merge_hits
from handlers.ranking.config import RetrievalSection
from handlers.ranking.filters import read_filters
from schemas.claims import UtteranceRecorded
from schemas.needs import Ask, IndexDocument, SearchFilters, SearchVectors
from schemas.pages import ScoredPage, TrustFeatures
from schemas.queries import RankingFilters
from schemas.replies import IndexReply, VectorHit, VectorsReply, VectorsUnavailable
from streams.index.embedders import HashedNgrams, hash_ngrams
from streams.index.ports import StoredPoint
from streams.index.qdrant import QdrantStore
from streams.index.settings import IndexSettings
from streams.index.worker import IndexWorker
from streams.pipeline.services import LiveServices
from streams.runtime.clock import SystemClock
from streams.settings.model import load_settings
from tests.handlers.indexing.pages import scored_page
from tests.rules import shipped_rules
from tests.samples import instance
from tests.streams.index.qdrant_server import QdrantServer

RULES = shipped_rules(IndexPageRules)
SECTION = RetrievalSection(points=50, documents=5, most_points=2000, candidates=50, passages=3, max_characters=2000)
RAIN = "Heavy rain fell on the old mill for {n} days. The river rose over its banks. The miller left at night."
START = datetime(2026, 1, 1, tzinfo=UTC)


class Library:
    """Pages of several publishers, indexed as ``index_page`` would have it, and points that an older writer left."""

    def __init__(self, settings: IndexSettings) -> None:
        self.embedder = HashedNgrams(128)
        self.store = QdrantStore(settings, self.embedder.name, 128)
        self.worker = IndexWorker(self.store, self.embedder, SystemClock(), 30.0)

    async def put(self, page: ScoredPage, day: int = 0) -> IndexReply:
        points = points_of(page, RULES.tiered_indexing, RULES.index_points)
        document = IndexDocument(document_id_of(page.url), points, START + timedelta(days=day))
        return instance(IndexReply, await self.worker.index(document, None))

    async def put_old(self, number: int, **payload: Any) -> None:
        text = RAIN.format(n=number)
        kept = {"url": f"https://old.example/{number}", "title": "Old", "text": text, "kind": "chunk", **payload}
        point = StoredPoint(f"{number:08}-0000-5000-8000-000000000000", hash_ngrams(text, 128), kept)
        await self.store.write([point])

    async def ask(
        self, limit: int = 50, documents: int = 0, most: int = 2000, text: str = "rain on the mill", **filters: Any
    ) -> tuple[VectorHit, ...]:
        wanted = read_filters(RankingFilters.model_validate(filters))
        assert wanted is None or isinstance(wanted, SearchFilters)
        reply = await self.worker.search(SearchVectors("documents", text, limit, wanted, documents, most))
        assert isinstance(reply, VectorsReply)
        return reply.hits

    async def urls(self, **filters: Any) -> set[str]:
        return {candidate.url for candidate in merge_hits(await self.ask(**filters), SECTION)}


@pytest.fixture(params=["memory", "files", "server"])
async def library(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Library]:
    with ExitStack() as stack:
        settings: dict[str, Any] = {"path": tmp_path / "index" if request.param == "files" else None}
        if request.param == "server":
            settings = {"url": stack.enter_context(QdrantServer().listening()).url}
        made = Library(IndexSettings(**settings))
        yield made
        await made.worker.aclose()


def page(tier: Any, url: str, date: str | None, *tags: str) -> ScoredPage:
    trust = TrustFeatures(source_tier=1, base_score=40, cts_score=50, domain_tags=tags)
    return scored_page(tier, RAIN.format(n=len(url)), url=url, date=date, trust_features=trust)


GOV = "https://www.weather.gov.tw/news/1"
NEWS = "https://edition.daily.example.com/rain"
BLOG = "https://blog.example.org/rain?p=1"


async def fill(library: Library) -> None:
    await library.put(page("A", GOV, "2024-05-03", "government"))
    await library.put(page("B", NEWS, "2024-05-03T23:30:00-05:00", "news"))
    await library.put(page("C", BLOG, None, "blog", "news"))
    await library.put_old(1)
    await library.put_old(2, domain="old.example", cts_score=None, trust_features=None, tier=None, date=None)


FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({}, {GOV, NEWS, BLOG, "https://old.example/1", "https://old.example/2"}),
    ({"tier": "A"}, {GOV}),
    ({"tier": ["A", "C"]}, {GOV, BLOG}),
    ({"tag": "news"}, {NEWS, BLOG}),
    ({"tag": ["government", "academic"]}, {GOV}),
    ({"domain": "example.com"}, {NEWS}),
    ({"domain": "daily.example.com"}, {NEWS}),
    ({"domain": "weekly.example.com"}, set()),
    ({"domain": ["weather.gov.tw", "blog.example.org"]}, {GOV, BLOG}),
    ({"domain": "old.example"}, {"https://old.example/2"}),
    ({"date_from": "2024-05-04"}, {NEWS}),
    ({"date_to": "2024-05-03"}, {GOV}),
    ({"date_from": "2024-05-03", "date_to": "2024-05-04"}, {GOV, NEWS}),
    ({"date_from": "2024-05-03T00:00:01Z", "date_to": "2024-05-04T04:30:00Z"}, {NEWS}),
    ({"date_from": "2025"}, set()),
    ({"date_from": "2024-05-04", "date_to": "9999-12-31"}, {NEWS}),
    ({"date_from": "0001-01-01", "date_to": "9999-12-31T23:59-08:00"}, {GOV, NEWS}),
    ({"tier": ["A", "B"], "tag": "news", "domain": "example.com", "date_from": "2024"}, {NEWS}),
]


async def test_filters_hold_everywhere_alike(library: Library) -> None:
    await fill(library)
    for filters, found in FILTERS:
        assert await library.urls(**filters) == found, filters


async def test_indexed_pages_are_found_and_old_points_have_no_score(library: Library) -> None:
    await fill(library)
    found = {candidate.url: candidate for candidate in merge_hits(await library.ask(), SECTION)}
    assert (found[GOV].cts_score, found[GOV].date) == (80, "2024-05-03")
    trust = found[GOV].trust
    assert trust is not None
    assert trust.domain_tags == ("government",)
    assert "The river rose over its banks." in found[GOV].text
    for number in (1, 2):
        old = found[f"https://old.example/{number}"]
        assert (old.cts_score, old.trust, old.date) == (None, None, None)
        assert old.passage.startswith("Heavy rain fell")


async def test_filter_follows_writes_amendments_and_removals(library: Library) -> None:
    await fill(library)
    assert await library.urls(tier="C") == {BLOG}
    await library.put(page("C", GOV, "2024-05-03"), day=1)
    await library.put(page("C", "https://c.example.org/", "2024-05-03"))
    assert await library.urls(tier="C") == {BLOG, GOV, "https://c.example.org/"}
    assert await library.urls(tier="A") == set()
    first = points_of(page("C", BLOG, None), RULES.tiered_indexing, RULES.index_points)[0].id
    await library.store.amend(first, {"tier": "B"})
    assert await library.urls(tier="B") == {NEWS, BLOG}
    await library.store.remove([first])
    assert await library.urls(tier="B") == {NEWS}


async def test_a_long_page_crowds_out_no_other(library: Library) -> None:
    text = "\n".join(f"Rain on the mill, rain on the mill, number {n}. {'Rain on the mill. ' * 20}" for n in range(60))
    assert (
        await library.put(scored_page("A", text, url="https://long.example/", title="Rain on the mill"))
    ).written > 50
    for number in range(6):
        await library.put(page("C", f"https://short.example/{number}", None))
    few = await library.ask(limit=20)
    assert {hit.payload["url"] for hit in few} == {"https://long.example/"}
    enough = await library.ask(limit=20, documents=5)
    assert len({hit.payload["url"] for hit in enough}) >= 5
    bounded = await library.ask(limit=20, documents=5, most=30)
    assert len(bounded) == 30


async def test_many_and_few_that_fit_are_found_as_by_looking_at_each() -> None:
    """Whether few points fit, or many, near the query or far from it: the embedded store finds the nearest of them."""
    chance = random.Random(5)
    library = Library(IndexSettings(path=None))
    vectors: dict[str, tuple[list[float], dict[str, Any]]] = {}
    for number in range(1500):
        text = " ".join(chance.choices(("rain", "mill", "river", "stone", "tax", "vote", "law", "choir"), k=6))
        # Of tier A are the points that are far from the query, of tier C some of all.
        tier = "C" if chance.random() < 0.1 else "B" if "rain" in text or "mill" in text else "A"
        url = f"https://site{number % 7}.example/{number}"
        payload = {"url": url, "domain": f"site{number % 7}.example", "tier": tier, "text": f"{text} {number}"}
        vectors[url] = (hash_ngrams(payload["text"], 128), payload)
        await library.store.write([StoredPoint(document_id_of(url), vectors[url][0], payload)])
    query = hash_ngrams("rain on the mill", 128)
    for filters in (
        SearchFilters(tiers=("A",)),
        SearchFilters(tiers=("B",)),
        SearchFilters(tiers=("A", "B")),
        SearchFilters(tiers=("C",), domains=("site1.example",)),
        SearchFilters(domains=("site1.example", "site2.example", "site3.example", "site4.example")),
    ):
        for limit in (1, 40, 400):
            fitting = [
                sum(x * y for x, y in zip(query, vector, strict=True))
                for vector, payload in vectors.values()
                if (not filters.tiers or payload["tier"] in filters.tiers)
                and (not filters.domains or payload["domain"] in filters.domains)
            ]
            expected = sorted(fitting, reverse=True)[:limit]
            found = [score for score, _ in await library.store.search(query, limit, filters)]
            assert found == pytest.approx(expected, abs=1e-5)
    await library.worker.aclose()


# --- two collections in one store ------------------------------------------------------------------------------------


UTTERANCE_RULES = shipped_rules(IndexUtteranceRules)
SAID = ("The bridge over the mill race is closed.", "The choir sings on Friday.", "Copper was mined at Falun.")


def point_of(number: int) -> IndexDocument:
    said = UtteranceRecorded(utterance_id=f"u-{number}", text=SAID[number], source_id=f"talk-{number}")
    return instance(IndexDocument, instance(Ask, index_utterance(said, UTTERANCE_RULES)).need)


async def test_similar_utterances_are_found_and_documents_untouched() -> None:
    async with aclosing(LiveServices(load_settings(index={"path": None}))) as services:
        assert await services.answer(SearchVectors("utterances", "anything", 5), None) == VectorsReply(())
        written = [instance(IndexReply, await services.answer(point_of(number), None)) for number in (0, 1, 2, 0)]
        assert [(reply.written, reply.removed) for reply in written] == [(1, 0)] * 3 + [(0, 0)]
        first, second = instance(
            VectorsReply, await services.answer(SearchVectors("utterances", "The bridge is closed.", 2), None)
        ).hits
        assert first.payload["source_id"] == "talk-0"
        assert first.score > second.score
        assert await services.answer(SearchVectors("documents", "The bridge is closed.", 2), None) == VectorsReply(())


async def test_a_store_that_is_down_says_so() -> None:
    services = LiveServices(load_settings(index={"url": "http://127.0.0.1:9"}))
    assert isinstance(await services.answer(SearchVectors("utterances", "a", 1), None), VectorsUnavailable)
    await services.aclose()
