"""The index behind a real Kafka: thirty articles over three tiers, tier changes, an outage, two copies, a kill."""

import asyncio
import contextlib
import json
from asyncio.subprocess import DEVNULL
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import QdrantClient

from handlers.index_page import IndexPageRules
from handlers.indexing.points import points_of
from schemas.documents import DocumentIndexed
from schemas.pages import ScoredPage
from streams.settings.model import load_settings
from streams.topology import HANDLERS, REPLAYS
from tests.handlers.indexing.pages import LONG, scored_page
from tests.kafka.installation import CRAWLED, SCORED, Installation, Installing, command, process, ran
from tests.kafka.replays import planned, replayed
from tests.kafka.test_doctor import findings
from tests.rules import shipped_rules
from tests.streams.index.qdrant_server import QdrantServer

SCORE_PAGE, INDEX_PAGE = (handler for handler in HANDLERS if handler.name in {"score_page", "index_page"})

RULES = shipped_rules(IndexPageRules)
SECTIONS = (RULES.tiered_indexing, RULES.index_points)
DATE = "2026-01-02T08:00:00Z"
LOWER = 45
"""A threshold of tier A with which pages of kind B are in it."""
STORY = "The council has voted on the new bridge over the river. It will carry two lanes and a path for bicycles. " * 4


@pytest.fixture
async def server() -> AsyncIterator[QdrantServer]:
    with QdrantServer().listening() as made:
        yield made


def article(number: int, kind: str) -> tuple[bytes, bytes]:
    """A crawled page of a source and with as much structure as makes it tier A, B or C."""
    host = {"A": "ministry.gov.tw", "B": "udn.com", "C": "blog.example"}[kind]
    url = f"https://{host}/{kind}/{number}"
    credit = f'<meta name="author" content="Lin Mei"><meta property="article:published_time" content="{DATE}">'
    rows = "".join(f"<tr><td>{part}</td><td>{cost}</td></tr>" for part, cost in (("Deck", 3), ("Pier", 4)))
    table = f"<tr><th>Part</th><th>Cost</th></tr>{rows}"
    meta = "" if kind == "C" else credit
    structure = {"A": f"<h2>Costs</h2><table>{table}</table>", "B": f"<h2>Costs</h2><p>{STORY}</p>", "C": ""}[kind]
    paragraphs = "".join(f"<p>Part {part}. {STORY}</p>" for part in range(8))
    html = (
        f"<html lang=en><head><title>Bridge {number}</title>{meta}</head><body><article><h1>Bridge {number}</h1>"
        f"{paragraphs}{structure}</article></body></html>"
    )
    return url.encode(), json.dumps({"url": url, "html": html}).encode()


def scored(tier: Any, number: int, day: int = 1, content: str = LONG) -> tuple[bytes, bytes]:
    page = scored_page(tier, content, url=f"https://news.example/{number}", fetched_at=f"2026-01-{day:02}T00:00:00Z")
    return page.url.encode(), page.to_json()


def points(server: QdrantServer) -> Counter[str]:
    """Points in the index by the last part of their document's address."""
    if not server.client.collection_exists("documents"):
        return Counter()
    found, _ = server.client.scroll("documents", limit=10_000)
    return Counter(str((record.payload or {})["url"]).rsplit("/", 1)[1] for record in found)


async def test_thirty_articles_are_indexed_as_deep_as_they_are_trusted(installing: Installing, tmp_path: Path) -> None:
    assay = await installing((SCORE_PAGE, INDEX_PAGE), index={"path": tmp_path / "index"})
    await assay.feed(article(number, "ABC"[number % 3]) for number in range(30))
    await assay.drain(SCORE_PAGE, INDEX_PAGE)
    events = await assay.events(DocumentIndexed)
    assert len(events) == 30
    assert Counter(event.tier for event in events) == {"A": 10, "B": 10, "C": 10}
    store = QdrantClient(path=str(tmp_path / "index"))
    found, _ = store.scroll("documents", limit=1000)
    store.close()
    by_url: dict[str, list[Any]] = {}
    for record in found:
        assert record.payload is not None
        by_url.setdefault(record.payload["url"], []).append(record.payload)
    for event in events:
        payloads = by_url[event.url]
        assert len(payloads) == event.points == event.points_written
        assert {payload["cts_score"] for payload in payloads} == {event.cts_score}
        assert all(payload["trust_features"]["cts_score"] == event.cts_score for payload in payloads)
        assert all(len(json.dumps(payload["trust_features"]).encode()) <= 1024 for payload in payloads)
        kinds = Counter(payload["kind"] for payload in payloads)
        match event.tier:
            case "A":
                assert kinds["chunk"] > 5
                assert kinds["article"] == 1
            case "B":
                assert kinds["beginning"] == 1
                assert sum(kinds.values()) <= 2
            case "C":
                assert kinds == {"article": 1}


async def test_the_index_has_the_tiers_of_the_last_run(
    installing: Installing, server: QdrantServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A backfill, and two replays of both handlers: with a lower threshold of tier A, and with the shipped one."""
    assay = await installing((SCORE_PAGE, INDEX_PAGE), [REPLAYS], index={"url": server.url})
    lower = Installation(
        assay.settings.model_copy(
            update={"tiered_indexing": load_settings(tiered_indexing={"tier_a": {"min_cts": LOWER}}).tiered_indexing}
        )
    )
    pages, numbers = tmp_path / "archive.jsonl", range(6)
    pages.write_bytes(b"\n".join(article(number, "ABC"[number % 3])[1] for number in numbers))

    async def decided_again(rules: Installation, plan: str) -> None:
        for handler in ("score_page", "index_page"):
            await replayed(rules.settings, handler, plan=f"{plan}-{handler}", live=True, readers_dedupe=True)

    async def told(*words: str) -> dict[str, Any]:
        status, said, errors = await ran(assay.settings, *words, "--json", index__url=server.url)
        assert status == 0, errors
        found: dict[str, Any] = json.loads(said.splitlines()[-1])
        return found

    def tiers() -> str:
        records, _ = server.client.scroll("documents", limit=10_000)
        found = {str(record.payload["url"])[-1]: str(record.payload["tier"]) for record in records if record.payload}
        return "".join(found[str(number)] for number in numbers)

    assert (await command(assay.settings, capsys, "publish", CRAWLED, str(pages), "--run-id", "y2025"))[0] == 0
    await assay.drain(SCORE_PAGE, INDEX_PAGE)
    assert tiers() == "ABCABC"
    deep = points(server)
    await planned(assay.settings, "index_page", plan="old", live=True, readers_dedupe=True)
    await decided_again(lower, "lower")
    # The worker has the shipped threshold, but its writes are older than those of the replay of ``index_page``.
    done = await told("run", "index_page", "--drain")
    assert done["summary"]["index_page"]["outdated"] == len(numbers)
    assert tiers() == "AACAAC"
    await decided_again(assay, "shipped")
    assert (tiers(), points(server)) == ("ABCABC", deep)
    assert (await told("replay", "resume", "old"))["outdated"] == len(numbers)
    assert (await findings(assay.settings))["indexed pages"].state == "ok"
    # A live decision under other rules is the last one, but any run is later.
    await assay.set_back(SCORE_PAGE)
    await lower.drain(SCORE_PAGE)
    await assay.drain(INDEX_PAGE)
    assert tiers() == "ABCABC"
    assert (await findings(assay.settings))["indexed pages"].state == "warn"


@pytest.mark.slow
async def test_killed_at_any_moment_it_leaves_just_the_right_points(
    installing: Installing, server: QdrantServer
) -> None:
    assay = await installing((SCORE_PAGE, INDEX_PAGE))
    server.delay_seconds = 0.02
    first = [scored("A", number, 1) for number in range(20)]
    second = [scored("ABC"[number % 3], number, 2) for number in range(20)]
    await assay.feed([*first, *second], SCORED)
    for patience in (3.0, 3.7, 4.4):
        worker = await run(assay, server)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(worker.wait(), patience)
        if worker.returncode is None:
            worker.kill()
            await worker.wait()
    server.delay_seconds = 0.0
    worker = await run(assay, server)
    assert await worker.wait() == 0
    expected = [points_of(ScoredPage.model_validate_json(value), *SECTIONS) for _, value in second]
    found, _ = server.client.scroll("documents", limit=10_000)
    assert {str(record.id) for record in found} == {point.id for points in expected for point in points}
    assert len(await assay.events(DocumentIndexed)) == 40


async def run(assay: Installation, server: QdrantServer) -> asyncio.subprocess.Process:
    return await process(
        assay.settings, "run", "index_page", "--drain", stdout=DEVNULL, stderr=DEVNULL, index__url=server.url
    )
