"""The cache of fetched pages: its content, and how long it is kept."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from schemas.replies import FetchedPage, FetchFailure, FetchRefused
from streams.fetch.cache import FetchCache, Version
from streams.fetch.settings import FetchSettings
from tests.streams.doubles import VirtualClock
from tests.tables import tables

TABLES = tables(__file__)

URL = "http://a.example/x"


def page(time: VirtualClock, body: bytes = b"<p>x") -> FetchedPage:
    return FetchedPage(URL, URL + "/final", 200, "text/html", body, time.now())


@asynccontextmanager
async def caching(time: VirtualClock, **settings: object) -> AsyncIterator[FetchCache]:
    cache = FetchCache(FetchSettings.model_validate(settings), time)
    try:
        yield cache
    finally:
        await cache.aclose()


@pytest.mark.parametrize(
    ("result", "seconds", "kept"),
    [(result and FetchFailure[result], seconds, kept) for result, seconds, kept in TABLES["how_long"]],
)
async def test_how_long(result: FetchFailure | None, seconds: float, kept: bool) -> None:
    time = VirtualClock()
    async with caching(time, cache_ttl_seconds=1000, cache_refusal_ttl_seconds=100) as cache:
        await cache.put("q", URL, page(time) if result is None else FetchRefused(URL, result, "why"))
        time.seconds += seconds
        assert (await cache.get("q", URL) is not None) is kept


async def test_versioned_page_is_kept_longer_in_its_latest_version() -> None:
    time = VirtualClock()
    first, second = Version('"1"'), Version("", "Thu, 01 Jan 2026 00:00:00 GMT")
    async with caching(time, cache_ttl_seconds=10, cache_version_seconds=100) as cache:
        await cache.put("q", URL, page(time, b"old"), first)
        await cache.put("other", URL, page(time, b"unversioned"))
        time.seconds = 5
        await cache.put("r", URL, page(time, b"new"), second)
        time.seconds = 99
        assert await cache.get("q", URL) is None, "it is no longer believed"
        assert await cache.version_of(URL) is None, "it is known by the place that it came from"
        known = await cache.version_of(URL + "/final")
        assert known is not None
        assert (known.page.body, known.page.url, known.version) == (b"new", URL + "/final", second)
        time.seconds = 106
        assert await cache.version_of(URL + "/final") is None


async def test_the_oldest_make_room() -> None:
    time = VirtualClock()
    async with caching(time, cache_bytes=60) as cache:
        for number in range(5):
            time.seconds += 1
            await cache.put("q", f"{URL}/{number}", page(time, b"abcdefgh%d" % number))
        await cache.put("q", f"{URL}/huge", page(time, bytes(range(256)) * 4))
        kept = [await cache.get("q", f"{URL}/{number}") is not None for number in (0, 1, 2, 3, 4, "huge")]
    assert kept == [False, False, True, True, True, False]


async def test_invalid_cache_file_is_replaced_by_memory(tmp_path: Path) -> None:
    file = tmp_path / "c.sqlite"
    file.write_bytes(b"no database at all " * 100)
    time = VirtualClock()
    async with caching(time, cache_path=file) as cache:
        await cache.put("q", URL, page(time))
        assert await cache.get("q", URL) == page(time)


@pytest.mark.parametrize("damage", TABLES["damaged_row_is_a_miss_and_other_rows_stay"])
async def test_damaged_row_is_a_miss_and_other_rows_stay(tmp_path: Path, damage: str) -> None:
    time, file = VirtualClock(), tmp_path / "c.sqlite"
    async with caching(time, cache_path=file) as cache:
        await cache.put("q", URL, page(time), Version(etag='"1"'))
        with closing(sqlite3.connect(file)) as other:
            other.execute(f"UPDATE fetches SET {damage}")  # noqa: S608 - the test's own
            other.commit()
        await cache.put("q", URL + "2", page(time))
        assert await cache.get("q", URL) is None
        if "reason" not in damage:
            assert await cache.version_of(URL + "/final") is None
        assert await cache.get("q", URL + "2") is not None
        await cache.put("q", URL, page(time))
        assert await cache.get("q", URL) == page(time)
    async with caching(time, cache_path=file) as cache:
        assert await cache.get("q", URL + "2") is not None, "and the file is still in use"


async def test_cache_uses_memory_while_another_process_locks_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.fetch.cache._BUSY_SECONDS", 0.01)
    time, file = VirtualClock(), tmp_path / "c.sqlite"
    async with caching(time, cache_path=file, cache_rest_seconds=60) as cache:
        await cache.put("q", URL, page(time))
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            await cache.put("q", URL + "2", page(time))
            assert await cache.get("q", URL + "2") is not None
            assert await cache.get("q", URL) == page(time), "what is in the file can still be read"
        await cache.put("q", URL + "3", page(time))
        time.seconds += 61
        await cache.put("q", URL + "4", page(time))
        assert await cache.get("q", URL + "3") is not None, "kept in memory"
    async with caching(time, cache_path=file) as cache:
        kept = [await cache.get("q", URL + number) is not None for number in ("", "2", "3", "4")]
    assert kept == [True, False, False, True]
