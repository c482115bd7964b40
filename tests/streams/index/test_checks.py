"""The check of the index: damage, a full disk, and an application that owns the files."""

import asyncio
import math
import pickle
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Gauge, make_asgi_app
from qdrant_client import QdrantClient, models

from streams.http.checks import ask_index
from streams.http.server import HttpServer
from streams.index.checks import check_index
from streams.index.settings import IndexSettings
from streams.pipeline.services import LiveServices
from streams.runtime.checks import Check
from streams.settings.model import HttpSettings
from streams.telemetry.metrics import Metrics
from tests.streams.query.indexes import fill, settings_at

FREE = "streams.runtime.checks.FREE_BYTES"
Damage = Callable[[Path], object]


def found(index: IndexSettings, application: str = "http://127.0.0.1:9") -> Check:
    return check_index(index, application, ask_index)


def test_an_index_is_looked_at_without_being_made(tmp_path: Path) -> None:
    path = tmp_path / "index"
    assert found(IndexSettings(path=path)).state == "ok"
    assert not path.exists()
    path.mkdir()
    finding = found(IndexSettings(path=path))
    assert finding.state == "ok"
    assert "; empty" in finding.detail
    owner = QdrantClient(path=str(path))
    assert owner.get_collections().collections == []
    owner.close()


def points_as(content: bytes) -> Damage:
    """Writes this in the place of every point."""

    def damage(index: Path) -> None:
        with closing(sqlite3.connect(index / "collection" / "documents" / "storage.sqlite")) as file, file:
            file.execute("UPDATE points SET point = ?", (content,))

    return damage


def cut(index: Path) -> None:
    file = index / "collection" / "documents" / "storage.sqlite"
    file.write_bytes(file.read_bytes()[:5000])


DAMAGES: dict[str, Damage] = {
    "no JSON": lambda index: (index / "meta.json").write_text("{"),
    "other JSON": lambda index: (index / "meta.json").write_text("[]"),
    "cut": cut,
    "no pickle": points_as(b"garbage"),
    "another object": points_as(pickle.dumps({"x": 1})),
    "a class that there is not": points_as(b"cno_such_module\nName\n."),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("disk_is_full", [False, True])
def test_a_damaged_index_is_found_also_where_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: Damage, disk_is_full: bool
) -> None:
    settings = settings_at(tmp_path)
    asyncio.run(fill(settings))
    damage(tmp_path / "index")
    if disk_is_full:
        monkeypatch.setattr(FREE, 1 << 62)
    finding = found(settings.index)
    assert finding.state == "fail"
    assert "move the folder away" in finding.detail


def test_documents_are_counted_and_a_full_disk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_at(tmp_path)
    asyncio.run(fill(settings))
    finding = found(settings.index)
    assert (finding.state, "3 documents (A 1, B 1, C 1)" in finding.detail) == ("ok", True)
    monkeypatch.setattr(FREE, 1 << 62)
    finding = found(settings.index)
    assert finding.state == "warn"
    assert "make room" in finding.todo


@pytest.fixture
async def owned(tmp_path: Path) -> AsyncIterator[IndexSettings]:
    """An index that an application has."""
    settings = settings_at(tmp_path)
    await fill(settings)
    owner = LiveServices(settings)
    await owner.open_index()
    yield settings.index
    await owner.aclose()


async def test_index_of_a_running_application_is_checked_over_http(owned: IndexSettings) -> None:
    registry = CollectorRegistry()
    metrics = Metrics(registry)
    metrics.index_points.set(7)
    metrics.index_documents.labels("B").set(2)
    async with HttpServer(make_asgi_app(registry), HttpSettings(port=0)) as server:
        there = f"http://{server.address}"
        finding = await asyncio.to_thread(found, owned, there)
        assert finding.state == "ok"
        assert server.address in finding.detail
        assert "7 points of 2 documents (" in finding.detail
    finding = await asyncio.to_thread(found, owned, there)
    assert (finding.state, "another process owns the index" in finding.detail) == ("warn", True)
    assert "ASSAY_HTTP__PORT" in finding.todo


@pytest.mark.parametrize(("told", "value"), [("up", 1.0), ("assay_index_points", math.inf)])
async def test_foreign_metrics_server_is_not_taken_for_the_application(
    owned: IndexSettings, told: str, value: float
) -> None:
    registry = CollectorRegistry()
    Gauge(told, "Of something else.", registry=registry).set(value)
    async with HttpServer(make_asgi_app(registry), HttpSettings(port=0)) as server:
        there = f"http://{server.address}"
        finding = await asyncio.to_thread(found, owned, there)
    assert (finding.state, "another process owns the index" in finding.detail) == ("warn", True)


def test_index_of_another_embedder_is_reported(tmp_path: Path) -> None:
    owner = QdrantClient(path=str(tmp_path))
    owner.create_collection("documents", models.VectorParams(size=8, distance=models.Distance.COSINE))
    owner.close()
    finding = found(IndexSettings(path=tmp_path))
    assert finding.state == "warn"
    assert "with 8 dimensions" in finding.detail
