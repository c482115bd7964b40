"""The answer journal in one SQLite file, which replicas may share, with the costs of each day.

An answer is stored before a caller gets it, so neither a crash nor a replay pays for it twice. Costs are booked ahead,
so all replicas together keep one budget. If the file can't be read or written, the gateway asks no model, because the
costs could not be counted.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from typing_extensions import override

from streams.llm.journal import AMOUNTS, KEYS, AnswerJournal, DayCalls, JournalError
from streams.llm.settings import LlmSettings
from streams.runtime.files import SqliteFile, Steps, transaction

T = TypeVar("T")
_FORGET_EVERY = 1000  # answers written between two deletions of expired answers
_LOCKED_SECONDS = 2.0
"""How long to wait for another process's write; the gateway also waits no longer than a task's deadline."""
_MOST_IN_MEMORY = 10_000  # answers kept without a file; the oldest are deleted first

STEPS: Steps = (
    (
        "CREATE TABLE answers (key TEXT PRIMARY KEY, expires REAL NOT NULL, answer TEXT NOT NULL) WITHOUT ROWID",
        "CREATE INDEX answers_by_age ON answers (expires)",
        "CREATE TABLE costs (day TEXT PRIMARY KEY, usd REAL NOT NULL) WITHOUT ROWID",
    ),
    (
        "DROP TABLE IF EXISTS usage",
        "DROP TABLE IF EXISTS calls",
        """
        CREATE TABLE calls (
            day TEXT, model TEXT, requested INTEGER NOT NULL, cached INTEGER NOT NULL, refused INTEGER NOT NULL,
            usd REAL NOT NULL, task TEXT, opening INTEGER, answered INTEGER NOT NULL, estimated INTEGER NOT NULL,
            prompt INTEGER NOT NULL, completion INTEGER NOT NULL, milliseconds INTEGER NOT NULL,
            PRIMARY KEY (day, model, task, opening)
        ) WITHOUT ROWID
        """,
    ),
)
"""The schema. Answers and costs were paid for, so every step keeps them; it may drop counts."""
_BOOK = """
INSERT INTO costs VALUES (?1, max(0, ?2))
ON CONFLICT (day) DO UPDATE SET usd = max(0, usd + ?2) RETURNING usd
"""
_COUNT = f"""
INSERT INTO calls VALUES ({", ".join("?" * len(DayCalls._fields))})
ON CONFLICT ({", ".join(KEYS)}) DO UPDATE SET {", ".join(f"{name} = {name} + excluded.{name}" for name in AMOUNTS)}
"""  # noqa: S608 - names of columns
_FORGET_OLDEST = "DELETE FROM answers WHERE key IN (SELECT key FROM answers ORDER BY expires DESC LIMIT -1 OFFSET ?)"


class SqliteJournal(AnswerJournal):
    """An ``AnswerJournal`` in a file, or in memory without a path. The first call opens the file."""

    def __init__(self, path: Path | None, *, read_only: bool = False) -> None:
        """Takes the file; with ``read_only`` it is neither created nor upgraded, and what writes does not work."""
        # An answer must survive a power cut after it was used.
        self._file = SqliteFile(path, STEPS, "ASSAY_LLM__CACHE_PATH", "FULL", _LOCKED_SECONDS, read_only)
        self._kept = 0

    @override
    async def get(self, key: str, now: float) -> str | None:
        rows = await self._read("SELECT answer FROM answers WHERE key = ? AND expires > ?", (key, now))
        return str(rows[0][0]) if rows else None

    @override
    async def keep(
        self, key: str, answer: str, now: float, seconds: float, accounts: Sequence[str], usd: float
    ) -> float:
        def write(database: sqlite3.Connection) -> float:
            database.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", (key, now + seconds, answer))
            if self._kept % _FORGET_EVERY == 0:
                database.execute("DELETE FROM answers WHERE expires <= ?", (now,))
                if self._file.path is None:
                    database.execute(_FORGET_OLDEST, (_MOST_IN_MEMORY,))
            self._kept += 1
            return [_booked(database, account, usd) for account in accounts][-1]

        return await self._write(write)

    @override
    async def book(self, bounds: Mapping[str, float | None], usd: float) -> tuple[str, float]:
        def write(database: sqlite3.Connection) -> tuple[str, float]:
            for account, most in bounds.items():
                before = _booked(database, account, 0.0)
                if most is not None and usd > 0 and before + usd > most:
                    return account, before
            return "", [_booked(database, account, usd) for account in bounds][-1]

        return await self._write(write)

    @override
    async def booked(self, account: str) -> float:
        rows = await self._read("SELECT usd FROM costs WHERE day = ?", (account,))
        return float(rows[0][0]) if rows else 0.0

    @override
    async def count(self, calls: Sequence[DayCalls]) -> None:
        await self._write(lambda database: database.executemany(_COUNT, calls))

    @override
    async def counted(self, since: str) -> list[DayCalls]:
        return [DayCalls(*row) for row in await self._read("SELECT * FROM calls WHERE day >= ?", (since,))]

    @override
    async def aclose(self) -> None:
        await self._file.aclose()

    async def _read(self, query: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        return await self._run(lambda database: database.execute(query, values).fetchall())

    async def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def write(database: sqlite3.Connection) -> T:
            with transaction(database):
                return work(database)

        return await self._run(write)

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return await self._file.run(work)
        except (sqlite3.Error, OSError) as error:
            raise JournalError(f"{self._file.path}: {error}") from error


def make_journal(llm: LlmSettings, *, read_only: bool = False) -> AnswerJournal:
    """The journal of the settings: Redis if it is configured, else the file. Opens nothing yet.

    With ``read_only`` a file is neither created nor upgraded. Raises JournalError if Redis is configured and its client
    is not installed.
    """
    if not (redis_url := llm.redis_url.get_secret_value()):
        return SqliteJournal(llm.cache_path, read_only=read_only)
    from streams.llm.redis_journal import RedisJournal

    return RedisJournal(redis_url)


def _booked(database: sqlite3.Connection, account: str, usd: float) -> float:
    [(total,)] = database.execute(_BOOK, (account, usd)).fetchall()
    return float(total)
