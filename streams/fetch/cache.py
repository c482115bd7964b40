"""Pages that were fetched for a query, kept by (query, canonical URL): a redelivery fetches nothing twice (R-070).

SQLite in WAL mode, in a thread of its own: what a cancelled task has begun there ends before the next thing starts.
Losing the file costs fetches and nothing else, so a cache that can't be opened or written is replaced by memory, with a
warning.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import structlog

from schemas.event import derive_id
from schemas.outcome import FetchedPage, FetchFailure, FetchRefused
from streams.fetch.clock import Clock
from streams.fetch.settings import FetchSettings

log = structlog.get_logger(__name__)

T = TypeVar("T")
LASTING = frozenset(
    (
        FetchFailure.ROBOTS,
        FetchFailure.NOT_HTML,
        FetchFailure.TOO_LARGE,
        FetchFailure.CLIENT_ERROR,
        FetchFailure.TOO_MANY_REDIRECTS,
    )
)
"""Refusals that are likely to stand; what may pass is asked for again."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS fetched (
  key TEXT PRIMARY KEY, expires REAL NOT NULL, size INTEGER NOT NULL,
  final_url TEXT, status INTEGER, content_type TEXT, fetched_at TEXT, body BLOB, reason TEXT, detail TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS fetched_by_age ON fetched (expires, size);
"""


class FetchCache:
    """Fetched pages by query and address."""

    def __init__(self, settings: FetchSettings, clock: Clock) -> None:
        """Opens nothing yet."""
        self._settings = settings
        self._clock = clock
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="fetch-cache")
        self._database: sqlite3.Connection | None = None

    async def get(self, query: str, canonical: str) -> FetchedPage | FetchRefused | None:
        """What was fetched for a query from an address, with the address as its ``url``; None where nothing is kept."""
        now = self._clock.now().timestamp()
        key = _key(query, canonical)

        def read(database: sqlite3.Connection) -> FetchedPage | FetchRefused | None:
            row = database.execute(
                "SELECT final_url, status, content_type, fetched_at, body, reason, detail FROM fetched "
                "WHERE key = ? AND expires > ?",
                (key, now),
            ).fetchone()
            if row is None:
                return None
            final_url, status, content_type, fetched_at, body, reason, detail = row
            if reason is not None:
                return FetchRefused(canonical, FetchFailure(reason), detail)
            instant = datetime.fromisoformat(fetched_at).astimezone(UTC)
            return FetchedPage(canonical, final_url, status, content_type, zlib.decompress(body), instant)

        return await self._do(read)

    async def put(self, query: str, canonical: str, result: FetchedPage | FetchRefused) -> None:
        """Keeps a page, or a refusal that is likely to stand."""
        settings = self._settings
        now = self._clock.now().timestamp()
        key = _key(query, canonical)
        row: tuple[object, ...]
        if isinstance(result, FetchRefused):
            if result.reason not in LASTING:
                return
            expires = now + settings.cache_refusal_ttl_seconds
            row = (key, expires, 100, None, None, None, None, None, result.reason.value, result.detail)
        else:
            packed = await asyncio.to_thread(zlib.compress, result.body, 1)
            if len(packed) > settings.cache_bytes:
                return
            row = (
                key, now + settings.cache_ttl_seconds, len(packed), result.final_url, result.status,
                result.content_type, result.fetched_at.isoformat(), packed, None, None,
            )  # fmt: skip

        def write(database: sqlite3.Connection) -> None:
            with database:
                database.execute("INSERT OR REPLACE INTO fetched VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
                database.execute("DELETE FROM fetched WHERE expires <= ?", (now,))
                [(held,)] = database.execute("SELECT coalesce(sum(size), 0) FROM fetched").fetchall()
                while held > settings.cache_bytes:
                    oldest = database.execute("SELECT key, size FROM fetched ORDER BY expires LIMIT 1").fetchone()
                    if oldest is None:
                        break
                    database.execute("DELETE FROM fetched WHERE key = ?", (oldest[0],))
                    held -= oldest[1]

        await self._do(write)

    async def aclose(self) -> None:
        """Closes the file, after what is under way."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)

    async def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._run, work)

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Does one thing with the database; on trouble with the file, goes on in memory. Runs in the thread."""
        if self._database is None:
            self._database = self._open()
        try:
            return work(self._database)
        except (sqlite3.Error, zlib.error, ValueError) as error:
            path = str(self._settings.cache_path)
            log.warning("fetch cache failed, going on in memory", path=path, error=str(error))
            self._close()
            self._database = _connect(":memory:")
            return work(self._database)

    def _close(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            with contextlib.suppress(sqlite3.Error):
                database.close()

    def _open(self) -> sqlite3.Connection:
        path: Path | None = self._settings.cache_path
        if path is None:
            return _connect(":memory:")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            return _connect(str(path))
        except (OSError, sqlite3.Error) as error:
            log.warning("fetch cache can't be opened, keeping pages in memory", path=str(path), error=str(error))
            return _connect(":memory:")


def _connect(path: str) -> sqlite3.Connection:
    database = sqlite3.connect(path, check_same_thread=False, timeout=10.0)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.executescript(_SCHEMA)
    except sqlite3.Error:
        database.close()
        raise
    return database


def _key(query: str, canonical: str) -> str:
    return derive_id("fetch", query, canonical)
