import asyncio
import json
import signal
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from aiokafka import TopicPartition
from faststream.asgi import AsgiFastStream
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

import streams.app as package
from streams.app import application as module
from streams.app.application import Application
from streams.generate.asyncapi import asyncapi_document
from streams.http.server import HttpServer
from streams.pipeline.commit import committer_factory
from streams.pipeline.group import subscriptions
from streams.pipeline.metrics import PipelineMetrics
from streams.settings.model import LOCAL_KAFKA, HttpSettings, Settings, load_settings
from streams.telemetry.metrics import Metrics
from streams.topology import HANDLERS
from tests.streams.doubles import VirtualClock
from tests.streams.llm.questions import FREE

ALL = [subscription for handler in HANDLERS for subscription in subscriptions(handler)]
"""What the whole application reads."""

PATHS = ["/metrics", "/healthz", "/readyz", "/query", "/asyncapi.yaml"]  # what an application serves


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.delenv("ASSAY_KAFKA__BOOTSTRAP_SERVERS", raising=False)
    return load_settings(kafka={"bootstrap_servers": "kafka.invalid:9092", "topic_prefix": "shop."})


@pytest.fixture
async def client(settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    """An HTTP client of an application that serves, and is not connected to any Kafka."""
    application = Application(settings)
    async with (
        HttpServer(application.asgi, HttpSettings(port=0)) as server,
        httpx.AsyncClient(base_url=f"http://{server.address}", trust_env=False, follow_redirects=True) as client,
    ):
        yield client


async def test_prefixed_groups_read_committed_without_commits(settings: Settings) -> None:
    subscribers: list[Any] = list(Application(settings).broker.subscribers)
    topics = {topic.name for subscriber in subscribers for topic in subscriber.topics}
    assert topics == {f"shop.{one.topic}" for one in ALL}
    assert {subscriber.group_id for subscriber in subscribers} == {f"shop.{one.group}" for one in ALL}
    for options in [subscriber._connection_args for subscriber in subscribers]:
        assert (options["isolation_level"], options["auto_offset_reset"]) == ("read_committed", "earliest")
        assert options["enable_auto_commit"] is False
    assert len(subscribers) == len(ALL)


async def test_before_it_has_its_partitions_it_is_alive_and_not_ready(client: httpx.AsyncClient) -> None:
    alive, ready = await client.get("/healthz"), await client.get("/readyz")
    assert (alive.status_code, alive.json()) == (200, {"ok": True, "problems": []})
    assert ready.status_code == 503
    assert len(ready.json()["problems"]) == len(ALL)


async def test_any_other_path_is_answered_with_those_that_there_are(client: httpx.AsyncClient) -> None:
    for path in ("/", "/nothing", "/metrics/more"):
        answer = await client.get(path)
        assert answer.status_code == 404, path
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert answer.text.splitlines()[1:] == PATHS


async def test_no_path_is_answered_for_the_host_of_a_web_page(client: httpx.AsyncClient) -> None:
    """A web page whose own name points at this machine (DNS rebinding) reads nothing; scrapers beside it do."""
    host = client.base_url.netloc.decode().replace("127.0.0.1", "evil.example")
    for path in (*PATHS, "/", "/nothing"):
        answer = await client.get(path, headers={"host": host})
        assert answer.status_code == 421, path
        assert "evil.example" in answer.json()["detail"]
        assert "ASSAY_HTTP__ALLOWED_HOSTS" in answer.json()["detail"]
    for host in ("score-page:8080", "10.1.2.3:8080", "localhost"):
        assert (await client.get("/metrics", headers={"host": host})).status_code == 200


@pytest.mark.parametrize(
    ("delivery", "own_id"), [("exactly_once", "shop.assay.score_page.shop.pages.crawled.v1.0"), ("at_least_once", None)]
)
async def test_the_delivery_setting_decides_how_partitions_commit(
    settings: Settings, delivery: str, own_id: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.pipeline.commit.make_producer", lambda _, *names: names)
    made: Any = settings.model_copy(update={"delivery": delivery})
    observer = PipelineMetrics(Metrics(CollectorRegistry()), "score_page")
    make = committer_factory(made, HANDLERS[0].group, VirtualClock(), observer)
    consumer: Any = None
    writer: Any = make(TopicPartition("shop.pages.crawled.v1", 0), consumer).writer
    assert writer._make() == (own_id, "assay.score_page")


async def test_asgi_application_defaults_to_the_local_kafka(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_KAFKA__BOOTSTRAP_SERVERS", raising=False)
    served: list[Settings] = []
    real = Application

    def watched(settings: Settings) -> Application:
        served.append(settings)
        return real(settings)

    monkeypatch.setattr(module, "Application", watched)
    assert callable(package.app)
    assert served[0].kafka.bootstrap_servers == LOCAL_KAFKA
    with pytest.raises(AttributeError, match="no_such_name"):
        package.no_such_name  # noqa: B018


async def test_query_route_exists_with_a_ranker_or_an_embedded_index(settings: Settings) -> None:
    served = settings.model_copy(update={"index": settings.index.model_copy(update={"url": "http://qdrant.invalid"})})
    for configured, names, status in [
        (settings, {"rank_results"}, 400),
        (settings, {"index_page"}, 400),
        (settings, {"score_page"}, 404),
        (served, {"rank_results"}, 400),
        (served, {"index_page"}, 404),
    ]:
        application = Application(configured, [handler for handler in HANDLERS if handler.name in names])
        async with (
            HttpServer(application.asgi, HttpSettings(port=0)) as server,
            httpx.AsyncClient(base_url=f"http://{server.address}", trust_env=False) as client,
        ):
            assert (await client.get("/query")).status_code == status, (names, configured.index.url)


async def test_query_without_a_model_share_is_refused_at_once(settings: Settings, tmp_path: Path) -> None:
    """A replica without partitions would let a query wait for a turn that never comes."""
    model = settings.llm.model_copy(update={"base_url": "http://127.0.0.1:9/v1", "model": "small"})
    index = settings.index.model_copy(update={"path": tmp_path / "index"})
    models = settings.models.model_copy(update={"limits": {"default": FREE}})
    settings = settings.model_copy(update={"llm": model, "index": index, "models": models})
    body = {"query": "bridge", "candidates": [{"url": "https://a.example/", "content": "A bridge."}]}
    for share, said in ((0, "no part of the model's limits"), (1, "ConnectError")):
        application = Application(settings, [one for one in HANDLERS if one.name == "rank_results"])
        application.shares.on_assignment("rank_results", "ranking.requested.v1", share, 1)
        async with (
            HttpServer(application.asgi, HttpSettings(port=0)) as server,
            httpx.AsyncClient(base_url=f"http://{server.address}", trust_env=False, timeout=60) as client,
        ):
            answer = await client.post("/query", json=body)
        assert answer.status_code == 503
        assert said in answer.json()["detail"]
        assert answer.headers["retry-after"]


@pytest.mark.parametrize(
    ("handlers", "warned"), [(["rank_results"], 1), (["rank_results", "index_page"], 0), (["score_page"], 0)]
)
async def test_ranking_from_an_empty_embedded_index_warns(
    settings: Settings, tmp_path: Path, handlers: list[str], warned: int
) -> None:
    index = settings.index.model_copy(update={"path": tmp_path / "index"})
    application = Application(
        settings.model_copy(update={"index": index}), [one for one in HANDLERS if one.name in handlers]
    )
    with capture_logs() as logs:
        await application.open_index()
    told = [line["event"] for line in logs if line["log_level"] == "warning"]
    assert len(told) == warned
    assert all("ASSAY_INDEX__URL" in line for line in told)
    await application._own_services.aclose()


async def run_with_sigterm(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Runs the routes with a parent that raises SIGTERM at its end, as uvicorn does; the handlers before and after."""

    async def stopped(*_: Any, **__: Any) -> None:
        if threading.current_thread() is threading.main_thread():
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(AsgiFastStream, "run", stopped)
    before = signal.getsignal(signal.SIGTERM)
    await Application(settings).asgi.run()
    return [before, signal.getsignal(signal.SIGTERM)]


async def test_run_swallows_sigterm_only_while_it_runs(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = await run_with_sigterm(settings, monkeypatch)
    assert after is before


async def test_run_leaves_signals_alone_in_another_thread(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = await asyncio.to_thread(lambda: asyncio.run(run_with_sigterm(settings, monkeypatch)))
    assert after is before


async def test_the_asyncapi_document_has_the_names_of_the_cluster(client: httpx.AsyncClient) -> None:
    answer = await client.get("/asyncapi.yaml")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("application/yaml")
    assert yaml.safe_load(answer.text) == json.loads(json.dumps(asyncapi_document("shop.")))
