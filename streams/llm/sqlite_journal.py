"""The answer journal in one SQLite file, which replicas may share, with the costs of each day.

An answer is stored before a caller gets it, so neither a crash nor a replay pays for it twice. Costs are booked ahead,
so all replicas together keep one budget. If the file can't be read or written, the gateway asks no model, because the
costs could not be counted.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from typing_extensions import override

from streams.llm.journal import AnswerJournal, DayCalls, Experience, JournalError, Usage, Used
from streams.llm.settings import LlmSettings
from streams.runtime.files import SqliteThread, Steps, open_database, refuse_newer, transaction

T = TypeVar("T")
VARIABLE = "ASSAY_LLM__CACHE_PATH"
_FORGET_EVERY = 1000  # answers written between two deletions of expired answers
_LOCKED_SECONDS = 2.0
"""How long to wait for another process's write; the gateway also waits no longer than a task's deadline."""
_MOST_IN_MEMORY = 10_000  # answers kept without a file; the oldest are deleted first

STEPS: Steps = (
    (
        "CREATE TABLE answers (key TEXT PRIMARY KEY, expires REAL NOT NULL, answer TEXT NOT NULL) WITHOUT ROWID",
        "CREATE INDEX answers_by_age ON answers (expires)",
        "CREATE TABLE costs (day TEXT PRIMARY KEY, usd REAL NOT NULL) WITHOUT ROWID",
        """
        CREATE TABLE usage (
            task TEXT, model TEXT, opening INTEGER, calls INTEGER NOT NULL, estimated INTEGER NOT NULL,
            prompt INTEGER NOT NULL, completion INTEGER NOT NULL, milliseconds INTEGER NOT NULL,
            PRIMARY KEY (task, model, opening)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE calls (
            day TEXT, model TEXT, requested INTEGER NOT NULL, cached INTEGER NOT NULL, refused INTEGER NOT NULL,
            usd REAL NOT NULL, PRIMARY KEY (day, model)
        ) WITHOUT ROWID
        """,
    ),
)
"""The schema. Answers and costs were paid for, so every step keeps them."""
_BOOK = """
INSERT INTO costs VALUES (?1, max(0, ?2))
ON CONFLICT (day) DO UPDATE SET usd = max(0, usd + ?2) RETURNING usd
"""
_USE = """
INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (task, model, opening) DO UPDATE SET
    calls = calls + excluded.calls, estimated = estimated + excluded.estimated, prompt = prompt + excluded.prompt,
    completion = completion + excluded.completion, milliseconds = milliseconds + excluded.milliseconds
"""
_COUNT = """
INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (day, model) DO UPDATE SET
    requested = requested + excluded.requested, cached = cached + excluded.cached,
    refused = refused + excluded.refused, usd = usd + excluded.usd
"""
_USED = "SELECT opening, calls, estimated, prompt, completion, milliseconds FROM usage WHERE task = ? AND model = ?"
_FORGET_OLDEST = "DELETE FROM answers WHERE key IN (SELECT key FROM answers ORDER BY expires DESC LIMIT -1 OFFSET ?)"


class SqliteJournal(AnswerJournal):
    """An ``AnswerJournal`` in a file, or in memory without a path. The first call opens the file."""

    def __init__(self, path: Path | None, *, read_only: bool = False) -> None:
        """Takes the file; with ``read_only`` it is neither created nor upgraded, and what writes does not work."""
        self._path = path
        self._read_only = read_only
        self._thread = SqliteThread("llm-answers")
        self._database: sqlite3.Connection | None = None
        self._kept = 0

    @override
    async def get(self, key: str, now: float) -> str | None:
        rows = await self._read("SELECT answer FROM answers WHERE key = ? AND expires > ?", (key, now))
        return str(rows[0][0]) if rows else None

    @override
    async def keep(
        self, key: str, answer: str, now: float, seconds: float, day: str, usd: float, used: Used | None = None
    ) -> float:

        def write(database: sqlite3.Connection) -> float:
            with transaction(database):
                database.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", (key, now + seconds, answer))
                if self._kept % _FORGET_EVERY == 0:
                    database.execute("DELETE FROM answers WHERE expires <= ?", (now,))
                    if self._path is None:
                        database.execute(_FORGET_OLDEST, (_MOST_IN_MEMORY,))
                self._kept += 1
                if used is not None:
                    database.execute(_USE, (used.task, used.model, used.opening, *used.usage))
                return _booked(database, day, usd)

        return await self._thread.run(self._run, write)

    @override
    async def book(self, day: str, usd: float, most: float | None) -> tuple[bool, float]:

        def write(database: sqlite3.Connection) -> tuple[bool, float]:
            with transaction(database):
                before = _booked(database, day, 0.0)
                if most is not None and usd > 0 and before + usd > most:
                    return False, before
                return True, _booked(database, day, usd)

        return await self._thread.run(self._run, write)

    @override
    async def experience(self, task: str, model: str) -> Experience:
        used = {opening: Usage(*sums) for opening, *sums in await self._read(_USED, (task, model))}
        return Experience(used.get(True, Usage()), used.get(False, Usage()))

    @override
    async def count(self, calls: Sequence[DayCalls]) -> None:

        def write(database: sqlite3.Connection) -> None:
            with transaction(database):
                database.executemany(_COUNT, calls)

        await self._thread.run(self._run, write)

    @override
    async def counted(self, days: Sequence[str]) -> list[DayCalls]:
        query = f"SELECT * FROM calls WHERE day IN ({', '.join('?' * len(days))})"  # noqa: S608 - only placeholders
        return [DayCalls(*row) for row in await self._read(query, days)]

    @override
    async def booked(self, account: str) -> float:
        rows = await self._read("SELECT usd FROM costs WHERE day = ?", (account,))
        return float(rows[0][0]) if rows else 0.0

    @override
    async def aclose(self) -> None:
        await self._thread.aclose(self._close)

    async def _read(self, query: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        return await self._thread.run(self._run, lambda database: database.execute(query, values).fetchall())

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            if self._database is None:
                self._database = _opened(self._path, self._read_only)
            return work(self._database)
        except (sqlite3.Error, OSError) as error:
            if self._path is not None:  # a file is opened again; content in memory would be lost
                self._close()
            raise JournalError(f"{self._path}: {error}") from error

    def _close(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            with contextlib.suppress(sqlite3.Error):
                database.close()


def make_journal(llm: LlmSettings, *, read_only: bool = False) -> AnswerJournal:
    """The journal of the settings: Redis if it is configured, else the file. Opens nothing yet.

    With ``read_only`` a file is neither created nor upgraded. Raises JournalError if Redis is configured and its client
    is not installed.
    """
    if not (redis_url := llm.redis_url.get_secret_value()):
        return SqliteJournal(llm.cache_path, read_only=read_only)
    from streams.llm.redis_journal import RedisJournal

    return RedisJournal(redis_url)


def _booked(database: sqlite3.Connection, day: str, usd: float) -> float:
    [(total,)] = database.execute(_BOOK, (day, usd)).fetchall()
    return float(total)


def _opened(path: Path | None, read_only: bool) -> sqlite3.Connection:
    if path is not None and read_only:
        name = f"{path.absolute().as_uri()}?mode=ro"
        database = sqlite3.connect(name, uri=True, check_same_thread=False, timeout=_LOCKED_SECONDS)
        refuse_newer(database, STEPS, VARIABLE)
    else:
        # An answer must survive a power cut after it was used.
        database = open_database(path, STEPS, VARIABLE, "FULL", _LOCKED_SECONDS)
    # A damaged answer is treated as missing; a decoding error would block its question.
    database.text_factory = lambda text: text.decode("utf-8", "replace")
    return database
