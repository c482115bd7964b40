"""The store: embedded in memory, embedded in files, and on a server it behaves alike; faults have their own error."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from handlers.index_page import IndexPageRules
from handlers.indexing.points import document_id_of, points_of
from schemas.needs import IndexDocument
from schemas.pages import Tier
from schemas.replies import IndexReply, IndexUnavailable
from streams.index.embedders import HashedNgrams
from streams.index.ports import IndexDownError, IndexOwnedError, IndexSettingsError, StoreCounts, StoredPoint, Vector
from streams.index.qdrant import QdrantStore
from streams.index.settings import IndexSettings, has_collection
from streams.index.worker import IndexWorker
from tests.handlers.indexing.pages import LONG, scored_page
from tests.rules import shipped_rules
from tests.samples import instance
from tests.streams.doubles import VirtualClock
from tests.streams.index.qdrant_server import QdrantServer

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


ONE = "00000001-0000-5000-8000-000000000000"
EAST = [1.0] + [0.0] * 7


def store(**settings: Any) -> QdrantStore:
    return QdrantStore(IndexSettings(**{"path": None, "timeout_seconds": 1.0, **settings}), "maker", 8)


async def test_two_copies_can_not_own_the_same_files(tmp_path: Path) -> None:
    first, second = store(path=tmp_path), store(path=tmp_path)
    await first.open()
    with pytest.raises(IndexOwnedError, match="another process owns the index"):
        await second.open()
    await first.aclose()
    await second.open()
    await second.aclose()


async def test_a_collection_of_another_embedder_is_not_mixed_with_ours(tmp_path: Path) -> None:
    first = store(path=tmp_path)
    await first.write([StoredPoint(ONE, EAST, {})])
    await first.aclose()
    for name, dimensions in (("maker", 16), ("other", 8)):
        other = QdrantStore(IndexSettings(path=tmp_path), name, dimensions)
        with pytest.raises(IndexSettingsError, match="holds vectors of maker with 8 dimensions"):
            await other.open()
        await other.aclose()


@pytest.mark.parametrize(
    ("status", "headers", "after"), [(503, {}, None), (429, {"retry-after": "7"}, 7.0), (401, {}, None)]
)
async def test_a_server_in_trouble_is_down_and_may_say_for_how_long(
    status: int, headers: dict[str, str], after: float | None
) -> None:
    with QdrantServer().listening() as server:
        made = store(url=server.url)
        await made.open()
        server.status, server.headers = status, headers
        with pytest.raises(IndexDownError) as raised:
            await made.read([ONE])
        assert raised.value.after_seconds == after
        await made.aclose()


async def test_deleted_collection_is_created_again() -> None:
    with QdrantServer().listening() as server:
        made = store(url=server.url)
        await made.write([StoredPoint(ONE, EAST, {})])
        server.client.delete_collection("documents")
        with pytest.raises(IndexDownError, match="404"):
            await made.read([ONE])
        assert await made.read([ONE]) == {}
        await made.write([StoredPoint(ONE, EAST, {})])
        assert set(await made.read([ONE])) == {ONE}
        await made.aclose()


@pytest.mark.parametrize("name", ["meta.json", "collection/documents/storage.sqlite"])
async def test_damaged_files_stop_the_start_and_say_what_to_do(tmp_path: Path, name: str) -> None:
    path = tmp_path / "index"
    first = store(path=path)
    await first.write([StoredPoint(ONE, EAST, {"text": "one"})])
    await first.aclose()
    file = path / name
    file.write_bytes(b"\x00damaged" * (file.stat().st_size // 8 + 1))
    assert has_collection(IndexSettings(path=path))
    second = store(path=path)
    for make in (True, False):
        with pytest.raises(IndexSettingsError, match=r"damaged .*move the folder away") as told:
            await second.open(make=make)
        assert not isinstance(told.value, IndexOwnedError)
    await second.aclose()


# --- the worker ------------------------------------------------------------------------------------------------------


RULES = shipped_rules(IndexPageRules)
START = datetime(2026, 1, 1, tzinfo=UTC)


class Moody(HashedNgrams):
    """An embedder that fails while told to."""

    fails = False

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if self.fails:
            raise IndexDownError("no vectors today", 5.0)
        return await super().embed(texts)


class Bench:
    """A worker, what it works with, and what it told."""

    def __init__(self, settings: IndexSettings) -> None:
        self.embedder = Moody(64)
        self.store = QdrantStore(settings, self.embedder.name, 64)
        self.counts: list[StoreCounts] = []
        self.clock = VirtualClock()
        self.worker = IndexWorker(self.store, self.embedder, self.clock, 30.0, self.counts.append)

    async def put(self, tier: Tier, day: int = 0, content: str = LONG, url: str = "https://a.example/1") -> IndexReply:
        page = scored_page(tier, content, url=url)
        points = points_of(page, RULES.tiered_indexing, RULES.index_points)
        self.clock.seconds += 31
        reply = await self.worker.index(IndexDocument(document_id_of(url), points, START + timedelta(days=day)), None)
        assert isinstance(reply, IndexReply)
        return reply

    async def points(self) -> int:
        return (await self.store.count()).points


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench(IndexSettings(path=None))
    yield made
    await made.worker.aclose()


async def test_from_a_to_c_and_back_leaves_just_the_right_points(bench: Bench) -> None:
    first = await bench.put("A", 0)
    assert await bench.points() == first.points > 5
    down = await bench.put("C", 1)
    assert (down.written, down.removed) == (1, first.points - 1)
    assert await bench.points() == 1
    up = await bench.put("A", 2)
    assert up.written == first.points
    assert await bench.points() == first.points
    again = await bench.put("A", 2)
    assert (again.written, again.removed) == (0, 0)


async def test_documents_are_kept_apart_and_counted_by_tier(bench: Bench) -> None:
    a = await bench.put("A", url="https://a.example/1")
    await bench.put("B", url="https://a.example/2")
    await bench.put("C", url="https://a.example/3")
    assert bench.counts[-1] == StoreCounts(a.points + 3, {"A": 1, "B": 1, "C": 1})


async def test_an_embedder_that_is_down_leaves_the_index_as_it_was(bench: Bench) -> None:
    first = await bench.put("A", 0)
    bench.embedder.fails = True
    page = scored_page("C", url="https://a.example/1")
    points = points_of(page, RULES.tiered_indexing, RULES.index_points)
    later = START + timedelta(days=1)
    reply = await bench.worker.index(IndexDocument(document_id_of(page.url), points, later), None)
    assert reply == IndexUnavailable("no vectors today", 5.0)
    assert await bench.points() == first.points
    bench.embedder.fails = False
    assert (await bench.put("C", 1)).removed == first.points - 1


async def test_a_disk_that_is_full_loses_nothing(tmp_path: Path) -> None:
    bench = Bench(IndexSettings(path=tmp_path))
    await bench.put("C", url="https://a.example/0")
    local: Any = bench.store._client and bench.store._client._client
    database = local.collections["documents"].storage.storage

    async def pragma(text: str) -> Any:
        # SQLite keeps its file to the thread of the store.
        run = asyncio.get_running_loop().run_in_executor
        return (await run(bench.store._threads, database.execute, f"PRAGMA {text}")).fetchone()[0]

    await pragma(f"max_page_count={await pragma('page_count') + 6}")
    page = scored_page("A", url="https://a.example/1")
    points = points_of(page, RULES.tiered_indexing, RULES.index_points)
    document = IndexDocument(document_id_of(page.url), points, START)
    assert "full" in instance(IndexUnavailable, await bench.worker.index(document, None)).detail
    assert 1 < await bench.points() < 1 + len(points)
    await pragma("max_page_count=100000")
    assert instance(IndexReply, await bench.worker.index(document, None)).written == len(points)
    await bench.worker.aclose()
    again = Bench(IndexSettings(path=tmp_path))
    assert await again.points() == 1 + len(points)
    await again.worker.aclose()


async def test_what_is_there_is_counted_when_it_is_opened(bench: Bench) -> None:
    await bench.worker.open()
    assert bench.counts == [StoreCounts(0, {"A": 0, "B": 0, "C": 0})]
