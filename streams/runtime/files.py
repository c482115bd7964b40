"""Files and locks of one machine: locks by key, private files, and versioned SQLite files in a thread of their own.

A SQLite schema is a list of steps. Step n turns a file of version n - 1 (``user_version``) into one of version n, and a
new file goes through all steps. A released step never changes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

import structlog

log = structlog.get_logger(__name__)


class KeyedLocks:
    """Locks by key, first come, first served. Not safe across event loops."""

    def __init__(self, holders: int = 1) -> None:
        """``holders`` is the number of tasks that may hold a key at the same time."""
        self._holders = holders
        self._locks: dict[str, tuple[asyncio.Semaphore, int]] = {}

    def __len__(self) -> int:
        return len(self._locks)

    @asynccontextmanager
    async def hold(self, key: str) -> AsyncIterator[None]:
        """Waits for the key and holds it."""
        lock, users = self._locks.get(key, (asyncio.Semaphore(self._holders), 0))
        self._locks[key] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks[key]
            if users == 1:
                del self._locks[key]
            else:
                self._locks[key] = (lock, users - 1)


PRIVATE_FOLDER = 0o700
_PRIVATE_FILE = 0o600


def make_private_file(file: Path) -> None:
    """Creates an empty file, and its folder, with access for the owner only. Existing files keep content and mode.

    SQLite gives its ``-wal`` and ``-shm`` files the mode of the database.
    """
    file.parent.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
    os.close(os.open(file, os.O_CREAT | os.O_RDONLY, _PRIVATE_FILE))


Steps = Sequence[Sequence[str]]  # the SQL statements of each version


class NewerFileError(sqlite3.DatabaseError):
    """A newer Assay wrote the file; this one would misread it and leaves it unchanged."""


@contextlib.contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """A write transaction: all of the block or nothing.

    Raises sqlite3.OperationalError if another process writes for longer than the connection waits, or the disk is full.
    """
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        # A full disk ends the transaction by itself.
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def upgrade(database: sqlite3.Connection, steps: Steps, variable: str, path: object = None) -> None:
    """Upgrades a file to the schema of this Assay in one transaction, and logs the upgrade of an older file.

    The arguments are those of ``SqliteFile``; ``path`` is for the log.

    Raises:
        NewerFileError: The file is of a later version; it was not changed.
        sqlite3.Error: The file can't be read or written.
    """
    if refuse_newer(database, steps, variable) == len(steps):
        return
    with transaction(database):
        # Another process may have upgraded the file while this one waited for the lock.
        version = refuse_newer(database, steps, variable)
        for step in steps[version:]:
            for statement in step:
                database.execute(statement)
        database.execute(f"PRAGMA user_version = {len(steps)}")
    if 0 < version < len(steps):
        log.info("file upgraded to this version's schema", path=str(path), before=version, now=len(steps))


def refuse_newer(database: sqlite3.Connection, steps: Steps, variable: str) -> int:
    """Returns the version of a file that this Assay can read or upgrade.

    Raises NewerFileError if the file is of a later version. The message says what to do.
    """
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version > len(steps):
        raise NewerFileError(
            f"a newer Assay wrote this file (schema {version}, this one knows {len(steps)}): "
            f"install that version again, or name another file with {variable}"
        )
    return int(version)


_OPENING_PAUSE_SECONDS = 0.05  # pause between attempts to open a file that another process is just creating
T = TypeVar("T")


@dataclass(eq=False)
class SqliteFile:
    """A private file in WAL mode with the schema of this Assay, or a database in memory.

    One thread does all work on it. The first work opens it, which creates or upgrades a file. After an error a file is
    closed, and the next work opens it again; the contents of memory would be lost.

    Attributes:
        path: The file; None for a database in memory.
        steps: The schema.
        variable: The environment variable that names the file.
        synchronous: FULL if a commit must survive a power cut.
        locked_seconds: How long to wait for another process's lock.
        read_only: Whether a file is neither created nor upgraded; what writes fails.
        opens: False if the last attempt to open it failed.
    """

    path: Path | None
    steps: Steps
    variable: str
    synchronous: Literal["FULL", "NORMAL"]
    locked_seconds: float
    read_only: bool = False
    opens: bool = field(default=True, init=False)
    _database: sqlite3.Connection | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=self.variable)

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Does the work in the order of the calls. What was handed over is finished even if the caller is cancelled.

        Raises:
            OSError, sqlite3.Error: The file can't be created, read or written.
            NewerFileError: The file is of a later version; it was not changed.
        """
        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._thread, self._do, work))

    async def aclose(self) -> None:
        """Closes it after all work that was handed over."""
        await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._thread, self._close))
        self._thread.shutdown(wait=False)

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        if self._database is None:
            self.opens = False
            self._database = self._opened()
            self.opens = True
        try:
            return work(self._database)
        except (OSError, sqlite3.Error):
            if self.path is not None:
                self._close()
            raise

    def _close(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            with contextlib.suppress(sqlite3.Error):
                database.close()

    def _opened(self) -> sqlite3.Connection:
        name = ":memory:"
        if self.path is not None:
            if not self.read_only:
                make_private_file(self.path)
            name = f"{self.path.absolute().as_uri()}?mode={'ro' if self.read_only else 'rw'}"
        # Without an isolation level sqlite3 begins no transactions by itself; ``transaction`` does.
        database = sqlite3.connect(
            name, uri=True, check_same_thread=False, timeout=self.locked_seconds, isolation_level=None
        )
        # A damaged text is for its reader to find; a decoding error would look like a damaged file.
        database.text_factory = lambda text: text.decode("utf-8", "replace")
        try:
            self._prepare(database)
        except sqlite3.Error:
            database.close()
            raise
        return database

    def _prepare(self, database: sqlite3.Connection) -> None:
        """Brings a file to the schema of this Assay.

        Processes that open a new file at the same time wait for each other. SQLite itself does not wait while a file
        gets its write-ahead log, whatever its timeout is.
        """
        until = time.monotonic() + self.locked_seconds
        while True:
            try:
                refuse_newer(database, self.steps, self.variable)
                if not self.read_only:
                    database.execute("PRAGMA journal_mode = WAL")
                    database.execute(f"PRAGMA synchronous = {self.synchronous}")
                    upgrade(database, self.steps, self.variable, self.path)
            except sqlite3.OperationalError as error:
                if time.monotonic() >= until or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
                time.sleep(_OPENING_PAUSE_SECONDS)
            else:
                return
