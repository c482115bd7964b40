"""Only the owner may read the files that Assay keeps."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.replies import FetchFailure, FetchRefused
from streams.fetch.cache import FetchCache
from streams.fetch.settings import FetchSettings
from streams.llm.sqlite_journal import SqliteJournal
from streams.runtime.files import make_private_file
from tests.streams.doubles import VirtualClock


@pytest.fixture(autouse=True)
def generous() -> Iterator[None]:
    """Whatever a file's maker does not forbid is allowed."""
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    """Of a folder and the files in it."""
    return {path.name: path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())}


async def test_the_journal_and_what_sqlite_puts_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "of"
    store = SqliteJournal(folder / "llm.sqlite")
    await store.keep("key", "{}", 0, 100, "2026-01-01", 0.5)
    assert modes(folder) == {"of": 0o700, "llm.sqlite": 0o600, "llm.sqlite-wal": 0o600, "llm.sqlite-shm": 0o600}
    await store.aclose()


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
