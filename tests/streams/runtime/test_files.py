"""The journal and the fetch cache refuse files of newer versions; a step of a schema is applied whole or not at all."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from schemas.replies import FetchedPage, FetchFailure, FetchRefused
from streams.fetch.cache import STEPS as FETCH_STEPS
from streams.fetch.cache import FetchCache
from streams.fetch.checks import check_fetching
from streams.fetch.settings import FetchSettings
from streams.llm.journal import JournalError
from streams.llm.sqlite_journal import STEPS as JOURNAL_STEPS
from streams.llm.sqlite_journal import SqliteJournal
from streams.runtime.files import Steps, make_private_file, upgrade
from tests.streams.doubles import VirtualClock

DAY, URL = "2025-01-02", "http://a.example/x"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kept.sqlite"


def write(file: Path, script: str, version: int = 0) -> None:
    with closing(sqlite3.connect(file)) as database:
        database.executescript(f"{script}; PRAGMA user_version = {version};")


def content_of(file: Path) -> bytes:
    return file.read_bytes()


def version_of(file: Path) -> int:
    with closing(sqlite3.connect(file)) as database:
        return int(database.execute("PRAGMA user_version").fetchone()[0])


async def test_a_newer_journal_is_refused_and_not_changed(file: Path) -> None:
    newer = len(JOURNAL_STEPS) + 1
    write(file, "CREATE TABLE answers (key TEXT, codec TEXT, answer BLOB)", newer)
    content = content_of(file)
    store = SqliteJournal(file)
    expected = rf"kept.sqlite: a newer Assay .*\(schema {newer}, .* name another file with ASSAY_LLM__CACHE_PATH"
    with pytest.raises(JournalError, match=expected):
        await store.get("k", 0)
    with pytest.raises(JournalError, match=expected):
        await store.book({DAY: None}, 1.0)
    await store.aclose()
    assert content_of(file) == content


async def test_newer_fetch_cache_is_replaced_by_memory_and_reported(file: Path) -> None:
    write(file, "CREATE TABLE fetches (url TEXT, page BLOB)", len(FETCH_STEPS) + 1)
    content = content_of(file)
    time, settings = VirtualClock(), FetchSettings(cache_path=file)
    page = FetchedPage(URL, URL, 200, "text/html", b"<p>x", time.now())
    cache = FetchCache(settings, time)
    with capture_logs() as logs:
        await cache.put("q", URL, page)
    assert await cache.get("q", URL) == page
    await cache.aclose()
    [logged] = logs
    assert logged["log_level"] == "warning"
    assert "name another file with ASSAY_FETCH__CACHE_PATH" in logged["error"]
    [finding] = [one for one in check_fetching(settings) if one.what == "fetched pages"]
    assert finding.state == "warn"
    assert "a newer Assay wrote this file" in finding.detail
    assert "ASSAY_FETCH__CACHE_PATH" in finding.todo
    assert content_of(file) == content


def test_a_failed_step_leaves_the_older_file_as_it_was(file: Path) -> None:
    write(file, ";".join(JOURNAL_STEPS[0]), 1)
    steps: Steps = (*JOURNAL_STEPS, ("ALTER TABLE answers ADD COLUMN codec TEXT", "INSERT INTO missing VALUES (1)"))
    with closing(sqlite3.connect(file)) as database:
        with pytest.raises(sqlite3.OperationalError, match="no such table: missing"):
            upgrade(database, steps, "V", file)
        columns = [row[1] for row in database.execute("PRAGMA table_info (answers)")]
    assert columns == ["key", "expires", "answer"]
    assert version_of(file) == 1


def test_upgrade_applies_only_the_missing_steps(file: Path) -> None:
    steps: Steps = (("CREATE TABLE a (x)",), ("ALTER TABLE a ADD COLUMN y",), ("ALTER TABLE a ADD COLUMN z",))
    for known in (1, 3, 3):
        with closing(sqlite3.connect(file)) as database:
            upgrade(database, steps[:known], "V")
            columns = [row[1] for row in database.execute("PRAGMA table_info (a)")]
        assert columns == ["x", "y", "z"][:known]


_OPENED = """
import asyncio, sys
from pathlib import Path
from streams.llm.sqlite_journal import SqliteJournal

async def main():
    store = SqliteJournal(Path(sys.argv[1]))
    print(await store.book({"2025-01-02": None}, 0.25))
    await store.aclose()

asyncio.run(main())
"""


def test_replicas_make_a_new_journal_together(file: Path) -> None:
    command = [sys.executable, "-c", _OPENED, str(file)]
    replicas = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    totals = sorted(replica.communicate(timeout=60)[0].splitlines()[-1] for replica in replicas)
    assert totals == ["('', 0.25)", "('', 0.5)", "('', 0.75)"]


# --- modes of files --------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def generous() -> Iterator[None]:
    """Whatever a file's maker does not forbid is allowed."""
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    """Of a folder and the files in it."""
    return {path.name: path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())}


async def test_fetch_cache_and_its_sqlite_files_are_private(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    cache = FetchCache(FetchSettings(cache_path=folder / "fetch.sqlite"), VirtualClock())
    await cache.put("", "https://a.example/", FetchRefused("https://a.example/", FetchFailure.NOT_HTML, "a picture"))
    named = {"fetch.sqlite": 0o600, "fetch.sqlite-wal": 0o600, "fetch.sqlite-shm": 0o600}
    assert modes(folder) == {"state": 0o700, **named}
    await cache.aclose()


def test_what_is_there_keeps_its_mode_and_content(tmp_path: Path) -> None:
    """Replicas of several users may share a file by its group."""
    tmp_path.chmod(0o770)
    file = tmp_path / "shared"
    file.write_text("content")
    file.chmod(0o660)
    make_private_file(file)
    assert file.read_text() == "content"
    assert modes(tmp_path) == {tmp_path.name: 0o770, "shared": 0o660}
