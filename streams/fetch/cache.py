"""Caches fetched pages by (query, canonical URL), so a redelivered record fetches nothing twice.

A page with a version (ETag, Last-Modified) stays in the cache after it has expired. A later fetch, or one for another
query, asks the server whether the page has changed and takes an unchanged body from here. The cache also stores
robots.txt.

Losing the file costs only fetches. If it can't be opened or written, the cache logs a warning, uses memory, and tries
the file again later.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

import structlog

from schemas.event import derive_id
from schemas.replies import FetchedPage, FetchFailure, FetchRefused
from streams.fetch.settings import FetchSettings
from streams.runtime.clock import Clock
from streams.runtime.files import SqliteFile, Steps, transaction

log = structlog.get_logger(__name__)

T = TypeVar("T")
VARIABLE = "ASSAY_FETCH__CACHE_PATH"
LASTING = frozenset(
    (
        FetchFailure.ROBOTS,
        FetchFailure.NOT_HTML,
        FetchFailure.TOO_LARGE,
        FetchFailure.CLIENT_ERROR,
        FetchFailure.TOO_MANY_REDIRECTS,
    )
)
"""Refusals that are likely to last; others are not cached."""

ROBOTS = "\x00robots.txt"  # the query of a robots.txt; no real query contains a NUL character

_UNREADABLE = (zlib.error, ValueError, TypeError, OverflowError)
"""Errors of a row that is damaged or of another version of Assay. The row counts as missing and is overwritten."""

STEPS: Steps = (
    (
        """
        CREATE TABLE fetches (
          key TEXT PRIMARY KEY, expires REAL NOT NULL, kept_until REAL NOT NULL, size INTEGER NOT NULL,
          final_url TEXT, status INTEGER, content_type TEXT, fetched_at TEXT, etag TEXT, last_modified TEXT, body BLOB,
          reason TEXT, detail TEXT
        ) WITHOUT ROWID
        """,
        "CREATE INDEX fetches_by_age ON fetches (kept_until, size)",
        "CREATE INDEX fetches_by_place ON fetches (final_url, fetched_at)",
    ),
)
"""The schema. A step may drop pages, which are then fetched again."""
_BUSY_SECONDS = 2.0  # how long to wait for another process's lock, which blocks all calls of the cache
_FRESH = """
SELECT final_url, status, content_type, fetched_at, body, reason, detail FROM fetches WHERE key = ? AND expires > ?
"""
_VERSIONED = """
SELECT final_url, status, content_type, fetched_at, body, etag, last_modified FROM fetches
WHERE final_url = ? AND kept_until > ? AND (etag <> '' OR last_modified <> '') ORDER BY fetched_at DESC LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Version:
    """The version of a page in the server's headers; "" for a missing header."""

    etag: str = ""
    last_modified: str = ""

    def __bool__(self) -> bool:
        return bool(self.etag or self.last_modified)


UNVERSIONED = Version()


class Versioned(NamedTuple):
    page: FetchedPage
    version: Version


class FetchCache:
    """Fetched pages by query and address. The first call opens the file."""

    def __init__(self, settings: FetchSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        path = settings.cache_path
        self._file = None if path is None else SqliteFile(path, STEPS, VARIABLE, "NORMAL", _BUSY_SECONDS)
        self._memory: SqliteFile | None = None
        self._reads_from = self._writes_from = 0.0

    async def get(self, query: str, canonical: str) -> FetchedPage | FetchRefused | None:
        """The result of an earlier fetch for the query, with the address as its ``url``, or None."""
        values = _key(query, canonical), self._clock.now().timestamp()

        def parse(row: Sequence[Any]) -> FetchedPage | FetchRefused:
            *page, reason, detail = row
            if reason is not None:
                return FetchRefused(canonical, FetchFailure(reason), str(detail))
            return _page(canonical, *page)

        return await self._run(lambda database: _first(database, _FRESH, values, parse))

    async def version_of(self, url: str) -> Versioned | None:
        """The latest page with a version from a URL after redirects, for any query."""
        values = url, self._clock.now().timestamp()

        def parse(row: Sequence[Any]) -> Versioned:
            *page, etag, last_modified = row
            return Versioned(_page(url, *page), Version(etag, last_modified))

        return await self._run(lambda database: _first(database, _VERSIONED, values, parse))

    async def put(
        self, query: str, canonical: str, result: FetchedPage | FetchRefused, version: Version = UNVERSIONED
    ) -> None:
        """Keeps a page, or a refusal that lasts."""
        settings = self._settings
        now = self._clock.now().timestamp()
        key = _key(query, canonical)
        row: tuple[object, ...]
        if isinstance(result, FetchRefused):
            if result.reason not in LASTING:
                return
            expires = now + settings.cache_refusal_ttl_seconds
            row = (key, expires, expires, 100, *[None] * 7, result.reason.value, result.detail)
        else:
            packed = await asyncio.to_thread(zlib.compress, result.body, 1)
            if len(packed) > settings.cache_bytes:
                return
            expires = now + (settings.robots_ttl_seconds if query == ROBOTS else settings.cache_ttl_seconds)
            kept_until = max(expires, now + settings.cache_version_seconds) if version else expires
            row = (
                key, expires, kept_until, len(packed), result.final_url, result.status, result.content_type,
                result.fetched_at.isoformat(), version.etag, version.last_modified, packed, None, None,
            )  # fmt: skip

        def write(database: sqlite3.Connection) -> bool:
            with transaction(database):
                database.execute("INSERT OR REPLACE INTO fetches VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
                database.execute("DELETE FROM fetches WHERE kept_until <= ?", (now,))
                [(held,)] = database.execute("SELECT coalesce(sum(size), 0) FROM fetches").fetchall()
                [(_, _, file)] = database.execute("PRAGMA database_list").fetchall()
                room = settings.cache_bytes if file else min(settings.cache_bytes, settings.cache_memory_bytes)
                while held > room:
                    oldest = database.execute("SELECT key, size FROM fetches ORDER BY kept_until LIMIT 1").fetchone()
                    if oldest is None:
                        break
                    database.execute("DELETE FROM fetches WHERE key = ?", (oldest[0],))
                    held -= oldest[1]
            return True

        await self._run(write, writes=True)

    async def aclose(self) -> None:
        for database in (self._file, self._memory):
            if database is not None:
                await database.aclose()

    async def _run(self, work: Callable[[sqlite3.Connection], T], *, writes: bool = False) -> T:
        """Does the work in the file; in memory if that fails or finds nothing.

        A failed file is not used for a while, because a full disk or another process's lock may pass. A file that can't
        be written is still read.
        """
        file, now = self._file, self._clock.monotonic()
        if file is not None and now >= (self._writes_from if writes else self._reads_from):
            try:
                found = await file.run(work)
            except (OSError, sqlite3.Error) as error:
                self._writes_from = now + self._settings.cache_rest_seconds
                if not writes or not file.opens:
                    self._reads_from = self._writes_from
                where = str(file.path)
                log.warning("fetch cache failed, keeping pages in memory for now", path=where, error=str(error))
            else:
                if found is not None or self._memory is None:
                    return found
        self._memory = self._memory or SqliteFile(None, STEPS, VARIABLE, "NORMAL", _BUSY_SECONDS)
        return await self._memory.run(work)


def _first(
    database: sqlite3.Connection, query: str, values: tuple[str, float], parse: Callable[[Sequence[Any]], T]
) -> T | None:
    """The first row of a query, parsed; None without a row or with an unreadable one."""
    row = database.execute(query, values).fetchone()
    with contextlib.suppress(*_UNREADABLE):
        return None if row is None else parse(row)
    return None


def _page(url: str, final_url: str, status: int, content_type: str, fetched_at: str, body: bytes) -> FetchedPage:
    instant = datetime.fromisoformat(fetched_at).astimezone(UTC)
    return FetchedPage(url, final_url, status, content_type, zlib.decompress(body), instant)


def _key(query: str, canonical: str) -> str:
    return derive_id("fetch", query, canonical)
