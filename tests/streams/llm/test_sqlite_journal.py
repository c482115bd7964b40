"""The journal of answers and costs."""

import asyncio
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from streams.llm import sqlite_journal
from streams.llm.journal import AnswerJournal, Experience, JournalError, Usage, Used, from_journal
from streams.llm.sqlite_journal import SqliteJournal

DAY = "2025-01-02"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "llm.sqlite"


async def test_an_answer_is_there_after_a_restart(path: Path) -> None:
    store = SqliteJournal(path)
    assert await store.get("k", 0) is None
    assert await store.keep("k", "{}", 0, 100, DAY, 0.5) == 0.5
    await store.aclose()
    store = SqliteJournal(path)
    assert await store.get("k", 99) == "{}"
    assert await store.get("k", 100) is None
    assert await store.book(DAY, 0.0, None) == (True, 0.5)
    await store.aclose()


async def test_what_calls_took_is_summed_up_over_restarts(path: Path) -> None:
    for took in (10, 30):
        store = SqliteJournal(path)
        await store.keep(f"k{took}", "{}", 0, 9, DAY, 0.0, Used("t", "m", True, Usage(1, 100, 90, took, 500)))
        await store.keep(f"l{took}", "{}", 0, 9, DAY, 0.0, Used("t", "m", False, Usage(1, 200, 190, took, 600)))
        await store.aclose()
    store = SqliteJournal(path)
    assert await store.experience("t", "m") == Experience(Usage(2, 200, 180, 40, 1000), Usage(2, 400, 380, 40, 1200))
    assert await store.experience("t", "another") == Experience()
    await store.aclose()


async def test_replicas_share_one_file(path: Path) -> None:
    """None of them books what the others have left nothing for."""
    stores = [SqliteJournal(path) for _ in range(3)]

    async def books(store: AnswerJournal) -> int:
        return sum([(await store.book(DAY, 1.0, 50.0))[0] for _ in range(30)])

    assert sum(await asyncio.gather(*(books(store) for store in stores))) == 50
    await asyncio.gather(*(store.aclose() for store in stores))


async def test_old_answers_are_forgotten(path: Path) -> None:
    store = SqliteJournal(path)
    await store.keep("old", "{}", 0, 10, DAY, 0)
    await store.aclose()
    store = SqliteJournal(path)
    await store.keep("new", "{}", 20, 10, DAY, 0)
    await store.aclose()
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT key FROM answers").fetchall() == [("new",)]
    database.close()


def test_invalid_journal_file_is_reported_and_opened_again(path: Path) -> None:
    path.write_bytes(b"no database at all" * 100)
    store = SqliteJournal(path)
    with asyncio.Runner() as runner:
        with pytest.raises(JournalError):
            runner.run(store.get("k", 0))
        path.unlink()
        assert runner.run(store.get("k", 0)) is None
        runner.run(store.aclose())


_UNTIL_FULL = """
import asyncio, resource, sys
from pathlib import Path
from streams.llm import sqlite_journal
from streams.llm.journal import from_journal
from streams.llm.sqlite_journal import SqliteJournal
from streams.llm.journal import JournalError

async def main(path):
    store = SqliteJournal(path)
    await store.keep("paid", "{}", 0, 100, "day", 0.5)
    size = max(each.stat().st_size for each in path.parent.iterdir())
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, unlimited[1]))
    said = []
    for work in (store.book("day", 1.0, None), store.keep("new", "x" * 500_000, 0, 100, "day", 1.0)):
        try:
            said.append(await work)
        except JournalError as error:
            said.append("refused")
    said.append(await store.get("paid", 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    said.append(await store.book("day", 0.25, None))
    said.append(await store.get("new", 0))
    await store.aclose()
    print(said)

asyncio.run(main(Path(sys.argv[1])))
"""


def test_full_disk_refuses_new_writes_until_there_is_room(path: Path) -> None:
    """What was paid before can still be read; nothing of a refused write is left behind."""
    ended = subprocess.run(
        [sys.executable, "-c", _UNTIL_FULL, str(path)], capture_output=True, text=True, check=False, timeout=60
    )
    assert ended.stdout.strip() == "['refused', 'refused', '{}', (True, 0.75), None]", ended.stderr


async def test_unreadable_kept_answer_is_ignored(path: Path) -> None:
    store = SqliteJournal(path)
    await store.keep("k", "{}", 0, 100, DAY, 0.0)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE answers SET answer = CAST(x'ff00fe' AS TEXT)")
    database.close()
    kept = await store.get("k", 0)
    assert kept is not None
    assert from_journal(kept) is None
    await store.aclose()


async def test_what_is_kept_in_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_journal, "_MOST_IN_MEMORY", 10)
    monkeypatch.setattr(sqlite_journal, "_FORGET_EVERY", 5)
    store = SqliteJournal(None)
    for number in range(50):
        await store.keep(f"k{number}", "{}", number, 100, DAY, 0.0)
    there = [number for number in range(50) if await store.get(f"k{number}", 0) is not None]
    assert there == list(range(there[0], 50))
    assert len(there) <= 15
    await store.aclose()
