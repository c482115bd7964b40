"""The answer journal in one SQLite file, which replicas may share, with the costs of each day.

An answer is stored before a caller gets it, so neither a crash nor a replay pays for it twice. Costs are booked ahead,
so all replicas together keep one budget. SQLite runs in WAL mode in a thread of its own. If the file can't be read or
written, the gateway asks no model, because the costs could not be counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from streams.files import Steps, make_private_file, refuse_newer, transaction, upgrade
from streams.llm.journal import AnswerJournal, Experience, JournalError, Usage, Used

T = TypeVar("T")
VARIABLE = "ASSAY_LLM__CACHE_PATH"
_FORGET_EVERY = 1000
"""Answers written between two looks for old ones."""
_OPENINGS = 20
_OPENING_PAUSE_SECONDS = 0.05
"""As often, and so far apart, a file is tried that somebody else is just making."""
_LOCKED_SECONDS = 2.0
"""How long somebody else's write is waited for; who asks waits no longer than a task may take."""
_MOST_IN_MEMORY = 10_000
"""Answers that are kept where there is no file; the oldest go first."""

STEPS: Steps = (
    (
        "CREATE TABLE IF NOT EXISTS answers "
        "(key TEXT PRIMARY KEY, expires REAL NOT NULL, answer TEXT NOT NULL) WITHOUT ROWID",
        "CREATE INDEX IF NOT EXISTS answers_by_age ON answers (expires)",
        "CREATE TABLE IF NOT EXISTS costs (day TEXT PRIMARY KEY, usd REAL NOT NULL) WITHOUT ROWID",
        """
        CREATE TABLE IF NOT EXISTS usage (
            task TEXT, model TEXT, opening INTEGER, calls INTEGER NOT NULL, estimated INTEGER NOT NULL,
            prompt INTEGER NOT NULL, completion INTEGER NOT NULL, milliseconds INTEGER NOT NULL,
            PRIMARY KEY (task, model, opening)
        ) WITHOUT ROWID
        """,
    ),
)
"""The schema: answers and costs were paid for, so every step keeps them."""
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
_USED = (
    "SELECT calls, estimated, prompt, completion, milliseconds FROM usage WHERE task = ? AND model = ? AND opening = ?"
)
_FORGET_OLDEST = "DELETE FROM answers WHERE key IN (SELECT key FROM answers ORDER BY expires DESC LIMIT -1 OFFSET ?)"


class SqliteJournal:
    """An ``AnswerJournal`` in a file, or in memory."""

    def __init__(self, path: Path | None) -> None:
        """Opens nothing yet.

        Args:
            path: The file; None keeps everything in memory, which ends with the process.
        """
        self._path = path
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="llm-answers")
        self._database: sqlite3.Connection | None = None
        self._kept = 0

    async def get(self, key: str, now: float) -> str | None:
        """The answer that was kept, as JSON; None where there is none."""

        def read(database: sqlite3.Connection) -> str | None:
            query = "SELECT answer FROM answers WHERE key = ? AND expires > ?"
            row = database.execute(query, (key, now)).fetchone()
            return None if row is None else str(row[0])

        return await self._do(read)

    async def keep(
        self, key: str, answer: str, now: float, seconds: float, day: str, usd: float, used: Used | None = None
    ) -> float:
        """Keeps an answer for so long, books costs and notes what the call took; returns the day's costs then."""

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

        return await self._do(write)

    async def book(self, day: str, usd: float, most: float | None) -> tuple[bool, float]:
        """Books costs unless the day's would come above ``most``; returns whether, and the day's costs then."""

        def write(database: sqlite3.Connection) -> tuple[bool, float]:
            with transaction(database):
                before = _booked(database, day, 0.0)
                if most is not None and usd > 0 and before + usd > most:
                    return False, before
                return True, _booked(database, day, usd)

        return await self._do(write)

    async def experience(self, task: str, model: str) -> Experience:
        """What the task's calls of the model have taken so far."""

        def read(database: sqlite3.Connection) -> Experience:
            rows = (database.execute(_USED, (task, model, opening)).fetchone() for opening in (True, False))
            return Experience(*(Usage() if row is None else Usage(*row) for row in rows))

        return await self._do(read)

    async def aclose(self) -> None:
        """Closes the file, after what is under way."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close, True)
        self._thread.shutdown(wait=False)

    async def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Does one thing in the thread; what has been handed over is done even if the caller is cancelled."""
        running = asyncio.get_running_loop().run_in_executor(self._thread, self._run, work)
        return await asyncio.shield(running)

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            if self._database is None:
                self._database = _opened(self._path)
            return work(self._database)
        except (sqlite3.Error, OSError) as error:
            self._close()
            raise JournalError(f"{self._path}: {error}") from error

    def _close(self, for_good: bool = False) -> None:
        # After trouble a file is opened anew; what is in memory would be lost.
        if for_good or self._path is not None:
            database, self._database = self._database, None
        else:
            database = None
        if database is not None:
            with contextlib.suppress(sqlite3.Error):
                database.close()


def make_store(cache_path: Path | None, redis_url: str) -> AnswerJournal:
    """Redis where one is named, else the file.

    Raises:
        JournalError: Redis is named and its client is not installed.
    """
    if not redis_url:
        return SqliteJournal(cache_path)
    from streams.llm.redis_journal import RedisJournal

    return RedisJournal(redis_url)


def _booked(database: sqlite3.Connection, day: str, usd: float) -> float:
    [(total,)] = database.execute(_BOOK, (day, usd)).fetchall()
    return float(total)


def _opened(path: Path | None) -> sqlite3.Connection:
    if path is not None:
        make_private_file(path)
    database = sqlite3.connect(
        path or ":memory:", check_same_thread=False, timeout=_LOCKED_SECONDS, isolation_level=None
    )
    # An answer that was damaged is none; it must not keep its question from being asked.
    database.text_factory = lambda text: text.decode("utf-8", "replace")
    try:
        _made_ready(database, path)
    except sqlite3.Error:
        database.close()
        raise
    return database


def _made_ready(database: sqlite3.Connection, path: Path | None) -> None:
    """Makes the file what it has to be; replicas that open a new one at a time wait for each other.

    SQLite does not wait where a file becomes one with a write-ahead log, whatever the timeout says.
    """
    for left in reversed(range(_OPENINGS)):
        try:
            refuse_newer(database, STEPS, VARIABLE)
            database.execute("PRAGMA journal_mode = WAL")
            # An answer that was given out must be there after a power cut too.
            database.execute("PRAGMA synchronous = FULL")
            upgrade(database, STEPS, VARIABLE, path)
        except sqlite3.OperationalError as error:
            if not left or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            time.sleep(_OPENING_PAUSE_SECONDS)
        else:
            return
