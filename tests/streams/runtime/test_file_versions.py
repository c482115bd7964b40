"""The journal and the fetch cache open files of older versions of Assay, and refuse those of newer ones."""

import sqlite3
import subprocess
import sys
import zlib
from contextlib import closing
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from schemas.replies import FetchedPage
from streams.cli.doctor_checks import check_fetching
from streams.fetch.cache import STEPS as FETCH_STEPS
from streams.fetch.cache import FetchCache
from streams.fetch.settings import FetchSettings
from streams.llm.journal import Experience, JournalError, Usage, Used
from streams.llm.sqlite_journal import STEPS as JOURNAL_STEPS
from streams.llm.sqlite_journal import SqliteJournal
from streams.runtime.files import Steps, upgrade
from tests.streams.fetch.virtual import VirtualTime

DAY, URL = "2025-01-02", "http://a.example/x"

FIRST_JOURNAL = """
CREATE TABLE answers (key TEXT PRIMARY KEY, expires REAL NOT NULL, answer TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX answers_by_age ON answers (expires);
CREATE TABLE costs (day TEXT PRIMARY KEY, usd REAL NOT NULL) WITHOUT ROWID;
INSERT INTO answers VALUES ('paid', 100, '{"text": "yes"}');
INSERT INTO costs VALUES ('2025-01-02', 0.75);
"""
"""The schema of the journal before it kept what calls took."""
UNCOUNTED_JOURNAL = (
    FIRST_JOURNAL
    + """
CREATE TABLE usage (
    task TEXT, model TEXT, opening INTEGER, calls INTEGER NOT NULL, estimated INTEGER NOT NULL,
    prompt INTEGER NOT NULL, completion INTEGER NOT NULL, milliseconds INTEGER NOT NULL,
    PRIMARY KEY (task, model, opening)
) WITHOUT ROWID;
INSERT INTO usage VALUES ('t', 'm', 1, 1, 100, 90, 10, 500);
"""
)
"""The last schema before files had a version."""
FIRST_FETCHES = """
CREATE TABLE fetched (
  key TEXT PRIMARY KEY, expires REAL NOT NULL, size INTEGER NOT NULL,
  final_url TEXT, status INTEGER, content_type TEXT, fetched_at TEXT, body BLOB, reason TEXT, detail TEXT
) WITHOUT ROWID;
CREATE INDEX fetched_by_age ON fetched (expires, size);
INSERT INTO fetched VALUES ('k', 1e12, 9, 'u', 200, 'text/html', '2025-01-01T00:00:00+00:00', x'00', NULL, NULL);
"""
"""The schema of the fetch cache before it kept the versions of pages."""
UNCOUNTED_FETCHES = """
CREATE TABLE fetches (
  key TEXT PRIMARY KEY, expires REAL NOT NULL, kept_until REAL NOT NULL, size INTEGER NOT NULL,
  final_url TEXT, status INTEGER, content_type TEXT, fetched_at TEXT, etag TEXT, last_modified TEXT, body BLOB,
  reason TEXT, detail TEXT
) WITHOUT ROWID;
CREATE INDEX fetches_by_age ON fetches (kept_until, size);
CREATE INDEX fetches_by_place ON fetches (final_url, fetched_at);
"""
"""The last schema before files had a version."""


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


def schema_of(file: Path) -> set[tuple[str, str]]:
    """Names and columns of all tables and indexes; how a statement was spelt does not matter."""
    with closing(sqlite3.connect(file)) as database:
        rows = database.execute("SELECT name, coalesce(sql, '') FROM sqlite_master").fetchall()
    return {(name, " ".join(sql.replace("(", " ( ").replace(")", " ) ").split())) for name, sql in rows}


@pytest.mark.parametrize("old", [FIRST_JOURNAL, UNCOUNTED_JOURNAL], ids=["first", "uncounted"])
async def test_an_older_journal_keeps_its_answers_and_costs(file: Path, old: str) -> None:
    write(file, old)
    new = file.with_name("new.sqlite")
    for path in (file, new):
        store = SqliteJournal(path)
        with capture_logs() as logs:
            found = await store.get("paid", 0)
        if path is file:
            assert found == '{"text": "yes"}'
            assert [(entry["before"], entry["now"], entry["path"]) for entry in logs] == [
                (0, len(JOURNAL_STEPS), str(file))
            ]
            assert await store.book(DAY, 0.5, 1.0) == (False, 0.75)
            before = Usage(1, 100, 90, 10, 500) if old == UNCOUNTED_JOURNAL else Usage()
            assert await store.experience("t", "m") == Experience(before, Usage())
            assert await store.keep("new", "{}", 0, 9, DAY, 0.1, Used("t", "m", False, Usage(1, 1, 1, 1, 1))) == 0.85
        else:
            assert logs == [], "a new file is not an old one"
        await store.aclose()
    assert version_of(file) == version_of(new) == len(JOURNAL_STEPS)
    assert schema_of(file) == schema_of(new)


@pytest.mark.parametrize("old", [FIRST_FETCHES, UNCOUNTED_FETCHES], ids=["first", "uncounted"])
async def test_an_older_fetch_cache_is_used_or_started_over(file: Path, old: str) -> None:
    time = VirtualTime()
    page = FetchedPage(URL, URL, 200, "text/html", b"<p>x", time.now())
    new = file.with_name("new.sqlite")
    if old == UNCOUNTED_FETCHES:
        cache = FetchCache(FetchSettings(cache_path=file), time)
        await cache.put("q", URL, page)
        await cache.aclose()
        with closing(sqlite3.connect(file)) as database:
            rows = [tuple(row) for row in database.execute("SELECT * FROM fetches")]
        file = file.with_name("old.sqlite")
        write(file, old)
        with closing(sqlite3.connect(file)) as database, database:
            database.executemany("INSERT INTO fetches VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    else:
        write(file, old)
    for path in (file, new):
        cache = FetchCache(FetchSettings(cache_path=path), time)
        with capture_logs() as logs:
            found = await cache.get("q", URL)
        assert found == (page if path is file and old == UNCOUNTED_FETCHES else None)
        assert len(logs) == (path is file), "a new file is not an old one"
        await cache.put("q", URL, page)
        assert await cache.get("q", URL) == page
        await cache.aclose()
    assert version_of(file) == version_of(new) == len(FETCH_STEPS)
    assert schema_of(file) == schema_of(new)
    with closing(sqlite3.connect(file)) as database:
        assert zlib.decompress(database.execute("SELECT body FROM fetches").fetchone()[0]) == b"<p>x"


async def test_a_newer_journal_is_refused_and_not_changed(file: Path) -> None:
    newer = len(JOURNAL_STEPS) + 1
    write(file, "CREATE TABLE answers (key TEXT, codec TEXT, answer BLOB)", newer)
    content = content_of(file)
    store = SqliteJournal(file)
    expected = rf"kept.sqlite: a newer Assay .*\(schema {newer}, .* name another file with ASSAY_LLM__CACHE_PATH"
    with pytest.raises(JournalError, match=expected):
        await store.get("k", 0)
    with pytest.raises(JournalError, match=expected):
        await store.book(DAY, 1.0, None)
    await store.aclose()
    assert content_of(file) == content


async def test_newer_fetch_cache_is_replaced_by_memory_and_reported(file: Path) -> None:
    write(file, "CREATE TABLE fetches (url TEXT, page BLOB)", len(FETCH_STEPS) + 1)
    content = content_of(file)
    time, settings = VirtualTime(), FetchSettings(cache_path=file)
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


def test_doctor_reports_an_invalid_fetch_cache_without_making_it(file: Path) -> None:
    settings = FetchSettings(cache_path=file)
    assert [one.state for one in check_fetching(settings) if one.what == "fetched pages"] == ["ok"]
    assert not file.exists()
    file.write_bytes(b"not a database" * 100)
    [finding] = [one for one in check_fetching(settings) if one.what == "fetched pages"]
    assert (finding.state, "file is not a database" in finding.detail) == ("warn", True)


def test_a_failed_step_leaves_the_older_file_as_it_was(file: Path) -> None:
    write(file, UNCOUNTED_JOURNAL)
    steps: Steps = (*JOURNAL_STEPS, ("ALTER TABLE answers ADD COLUMN codec TEXT", "INSERT INTO missing VALUES (1)"))
    with closing(sqlite3.connect(file)) as database:
        with pytest.raises(sqlite3.OperationalError, match="no such table: missing"):
            upgrade(database, steps, "V", file)
        columns = [row[1] for row in database.execute("PRAGMA table_info (answers)")]
    assert columns == ["key", "expires", "answer"]
    assert version_of(file) == 0


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
    print(await store.book("2025-01-02", 0.25, None))
    await store.aclose()

asyncio.run(main())
"""


def test_replicas_upgrade_an_older_journal_together(file: Path) -> None:
    write(file, FIRST_JOURNAL)
    command = [sys.executable, "-c", _OPENED, str(file)]
    replicas = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    totals = sorted(replica.communicate(timeout=60)[0].splitlines()[-1] for replica in replicas)
    assert totals == ["(True, 1.0)", "(True, 1.25)", "(True, 1.5)"]
