"""The doctor's findings about the index, the folders and the models."""

import asyncio
import json
import math
import pickle
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Gauge, make_asgi_app
from qdrant_client import QdrantClient, models

from streams.doctor import services as doctor_services
from streams.doctor.services import check_index, check_models
from streams.http.server import HttpServer
from streams.index.settings import IndexSettings
from streams.llm.checks import Check
from streams.llm.settings import LlmSettings
from streams.llm.sqlite_journal import make_journal
from streams.pipeline.services import LiveServices
from streams.runtime.clock import SystemClock
from streams.settings.model import HttpSettings, load_settings
from streams.telemetry.metrics import Metrics
from tests.streams.query.indexes import fill, settings_at

NOBODY = HttpSettings(port=9)
Damage = Callable[[Path], object]


def test_an_index_is_looked_at_without_being_made(tmp_path: Path) -> None:
    path = tmp_path / "index"
    assert check_index(IndexSettings(path=path), NOBODY).state == "ok"
    assert not path.exists()
    path.mkdir()
    finding = check_index(IndexSettings(path=path), NOBODY)
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
        monkeypatch.setattr(doctor_services, "FREE_BYTES", 1 << 62)
    finding = check_index(settings.index, NOBODY)
    assert finding.state == "fail"
    assert "move the folder away" in finding.detail


def test_documents_are_counted_and_a_full_disk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_at(tmp_path)
    asyncio.run(fill(settings))
    finding = check_index(settings.index, NOBODY)
    assert (finding.state, "3 documents (A 1, B 1, C 1)" in finding.detail) == ("ok", True)
    monkeypatch.setattr(doctor_services, "FREE_BYTES", 1 << 62)
    finding = check_index(settings.index, NOBODY)
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
        there = HttpSettings(port=int(server.address.rpartition(":")[2]))
        finding = await asyncio.to_thread(check_index, owned, there)
        assert finding.state == "ok"
        assert server.address in finding.detail
        assert "7 points of 2 documents (" in finding.detail
    finding = await asyncio.to_thread(check_index, owned, there)
    assert (finding.state, "another process owns the index" in finding.detail) == ("warn", True)
    assert "ASSAY_HTTP__PORT" in finding.todo


@pytest.mark.parametrize(("told", "value"), [("up", 1.0), ("assay_index_points", math.inf)])
async def test_foreign_metrics_server_is_not_taken_for_the_application(
    owned: IndexSettings, told: str, value: float
) -> None:
    registry = CollectorRegistry()
    Gauge(told, "Of something else.", registry=registry).set(value)
    async with HttpServer(make_asgi_app(registry), HttpSettings(port=0)) as server:
        there = HttpSettings(port=int(server.address.rpartition(":")[2]))
        finding = await asyncio.to_thread(check_index, owned, there)
    assert (finding.state, "another process owns the index" in finding.detail) == ("warn", True)


def test_index_of_another_embedder_is_reported(tmp_path: Path) -> None:
    owner = QdrantClient(path=str(tmp_path))
    owner.create_collection("documents", models.VectorParams(size=8, distance=models.Distance.COSINE))
    owner.close()
    finding = check_index(IndexSettings(path=tmp_path), NOBODY)
    assert finding.state == "warn"
    assert "with 8 dimensions" in finding.detail


@pytest.fixture(autouse=True)
def _without_models_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BASE_URL", "API_KEY", "MODEL", "REDIS_URL", "BUDGET_USD_PER_DAY", "CACHE_PATH"):
        monkeypatch.delenv(f"ASSAY_LLM__{name}", raising=False)


def found(ask: bool = False, limits: dict[str, Any] | None = None, **llm: Any) -> dict[str, Check]:
    settings = load_settings(llm=llm, models={"limits": limits or {}})
    return {finding.what: finding for finding in check_models(settings, ask=ask)}


def test_without_a_model_the_offline_judge_answers() -> None:
    findings = found()
    assert list(findings) == ["models"]
    assert findings["models"].state == "ok"
    assert "offline judge" in findings["models"].detail


def test_spending_of_the_day_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    bound: dict[str, Any] = {"api_key": "k", "model": "m", "cache_path": path, "budget_usd_per_day": 2}
    assert found(**bound)["spent"].detail == "$0 of $2.00 are spent today"
    assert not path.exists()

    async def spend(usd: float) -> None:
        store = make_journal(LlmSettings(cache_path=path))
        await store.book({SystemClock().now().date().isoformat(): None}, usd)
        await store.aclose()

    asyncio.run(spend(1.5))
    assert (found(**bound)["spent"].state, found(**bound)["spent"].detail) == ("ok", "$1.50 of $2.00 are spent today")
    asyncio.run(spend(0.5))
    assert found(**bound)["spent"].state == "warn"


def test_where_paid_answers_are_kept_is_looked_at(tmp_path: Path) -> None:
    assert found(api_key="k", model="m", cache_path=tmp_path / "a.sqlite")["paid answers"].state == "ok"
    assert found(api_key="k", model="m", cache_path=None)["paid answers"].state == "warn"
    (tmp_path / "file").write_text("no database at all, but long enough to be looked at as one")
    for path in (tmp_path / "file" / "a.sqlite", tmp_path / "file"):
        assert found(api_key="k", model="m", cache_path=path)["paid answers"].state == "fail"


def test_missing_redis_is_reported_without_its_password() -> None:
    finding = found(api_key="k", model="m", redis_url="redis://:secret@127.0.0.1:1/0")["paid answers"]
    assert finding.state == "fail"
    assert "secret" not in finding.detail + finding.todo


@contextmanager
def server(status: int, body: bytes) -> Iterator[str]:
    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/v1/models" else 404)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as http:
        Thread(target=http.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_address[1]}/v1"
        http.shutdown()


@pytest.mark.parametrize(
    ("status", "body", "state", "word"),
    [
        (200, json.dumps({"data": [{"id": "m"}, {"id": "n"}]}).encode(), "ok", "has the model"),
        (200, json.dumps({"data": [{"id": "n"}]}).encode(), "fail", "such as n"),
        (200, b"<html>", "warn", "lists no models"),
        (200, b"[" * 100_000, "warn", "lists no models"),
        (401, b"{}", "fail", "refuses the key"),
        (404, b"{}", "warn", "404"),
    ],
)
def test_a_server_is_asked_for_its_models_where_that_is_wished(
    status: int, body: bytes, state: str, word: str, tmp_path: Path
) -> None:
    with server(status, body) as address:
        findings = found(True, base_url=address, model="m", cache_path=tmp_path / "a.sqlite")
    assert (findings["model server"].state, word in findings["model server"].detail) == (state, True)


def test_missing_model_server_is_reported(tmp_path: Path) -> None:
    findings = found(True, base_url="http://127.0.0.1:1/v1", model="m", cache_path=tmp_path / "a.sqlite")
    assert findings["model server"].state == "fail"
    quiet = found(False, base_url="http://127.0.0.1:1/v1", model="m", cache_path=tmp_path / "a.sqlite")
    assert "model server" not in quiet
