"""The store: embedded in memory, embedded in files, and on a server it behaves alike; faults have their own error."""

from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from handlers.indexing.points import MEMORY
from streams.index.ports import IndexDownError, IndexOwnedError, IndexSettingsError, StoredPoint
from streams.index.qdrant import QdrantStore
from streams.index.settings import IndexSettings, has_collection
from tests.streams.index.qdrant_server import QdrantServer

# The client forgets the lock file that it could not lock.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
ONE, TWO, THREE = (f"{number:08}-0000-5000-8000-000000000000" for number in (1, 2, 3))
EAST, NORTH = [1.0] + [0.0] * 7, [0.0] * 7 + [1.0]


def store(**settings: Any) -> QdrantStore:
    return QdrantStore(IndexSettings(**{"path": None, "timeout_seconds": 1.0, **settings}), "maker", 8)


@pytest.fixture(params=["memory", "files", "server"])
async def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[QdrantStore]:
    with ExitStack() as stack:
        settings: dict[str, Any] = {"path": tmp_path / "index"} if request.param == "files" else {}
        if request.param == "server":
            settings = {"url": stack.enter_context(QdrantServer().listening()).url}
        made = store(**settings)
        yield made
        await made.aclose()


async def test_points_are_written_read_amended_counted_and_removed(any_store: QdrantStore) -> None:
    assert await any_store.read([ONE, TWO]) == {}
    await any_store.write(
        [
            StoredPoint(ONE, EAST, {"tier": "A", "text": "one", MEMORY: {"chunks": 1}}),
            StoredPoint(TWO, NORTH, {"tier": "A", "text": "two"}),
            StoredPoint(THREE, NORTH, {"tier": "C", "text": "three", MEMORY: {"chunks": 0}}),
        ]
    )
    found = await any_store.read([ONE, TWO])
    assert found[ONE] == {"tier": "A", "text": "one", MEMORY: {"chunks": 1}, "embedder": "maker"}
    assert found[TWO]["text"] == "two"
    counts = await any_store.count()
    assert (counts.points, counts.documents) == (3, {"A": 1, "B": 0, "C": 1})
    await any_store.amend(ONE, {MEMORY: {"chunks": 0}})
    assert (await any_store.read([ONE]))[ONE][MEMORY] == {"chunks": 0}
    await any_store.write([StoredPoint(TWO, EAST, {"tier": "A", "text": "two again"})])
    assert (await any_store.read([TWO]))[TWO]["text"] == "two again"
    await any_store.remove([TWO, THREE])
    await any_store.remove([TWO])
    assert set(await any_store.read([ONE, TWO, THREE])) == {ONE}


async def test_two_copies_can_not_own_the_same_files(tmp_path: Path) -> None:
    first, second = store(path=tmp_path), store(path=tmp_path)
    await first.open()
    with pytest.raises(IndexOwnedError, match="another process owns the index"):
        await second.open()
    await first.aclose()
    await second.open()
    await second.aclose()


async def test_a_collection_of_another_embedder_is_not_mixed_with_ours(tmp_path: Path) -> None:
    first = store(path=tmp_path)
    await first.write([StoredPoint(ONE, EAST, {})])
    await first.aclose()
    for name, dimensions in (("maker", 16), ("other", 8)):
        other = QdrantStore(IndexSettings(path=tmp_path), name, dimensions)
        with pytest.raises(IndexSettingsError, match="holds vectors of maker with 8 dimensions"):
            await other.open()
        await other.aclose()


async def test_files_that_can_not_be_made_are_trouble(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    made = store(path=tmp_path / "file" / "index")
    with pytest.raises(IndexDownError, match="NotADirectoryError"):
        await made.open()
    await made.aclose()


@pytest.mark.parametrize(
    ("status", "headers", "after"), [(503, {}, None), (429, {"retry-after": "7"}, 7.0), (401, {}, None)]
)
async def test_a_server_in_trouble_is_down_and_may_say_for_how_long(
    status: int, headers: dict[str, str], after: float | None
) -> None:
    with QdrantServer().listening() as server:
        made = store(url=server.url)
        await made.open()
        server.status, server.headers = status, headers
        with pytest.raises(IndexDownError) as raised:
            await made.read([ONE])
        assert raised.value.after_seconds == after
        await made.aclose()


async def test_deleted_collection_is_created_again() -> None:
    with QdrantServer().listening() as server:
        made = store(url=server.url)
        await made.write([StoredPoint(ONE, EAST, {})])
        server.client.delete_collection("documents")
        with pytest.raises(IndexDownError, match="404"):
            await made.read([ONE])
        assert await made.read([ONE]) == {}
        await made.write([StoredPoint(ONE, EAST, {})])
        assert set(await made.read([ONE])) == {ONE}
        await made.aclose()


@pytest.mark.parametrize("name", ["meta.json", "collection/documents/storage.sqlite"])
async def test_damaged_files_stop_the_start_and_say_what_to_do(tmp_path: Path, name: str) -> None:
    path = tmp_path / "index"
    first = store(path=path)
    await first.write([StoredPoint(ONE, EAST, {"text": "one"})])
    await first.aclose()
    file = path / name
    file.write_bytes(b"\x00damaged" * (file.stat().st_size // 8 + 1))
    assert has_collection(IndexSettings(path=path))
    second = store(path=path)
    for make in (True, False):
        with pytest.raises(IndexSettingsError, match=r"damaged .*move the folder away") as told:
            await second.open(make=make)
        assert not isinstance(told.value, IndexOwnedError)
    await second.aclose()
