"""``assay lag`` against a real Kafka: once, for scripts, and scraped."""

import asyncio
import json
import socket
from typing import Any

import httpx2
import pytest

from streams.cli.lag import LagOptions, _report, run_lag
from streams.cli.lag_server import lag_exporter
from streams.http.server import HttpServer
from streams.runtime.clock import SystemClock
from streams.settings.model import HttpSettings, load_settings
from streams.topology import HANDLERS
from tests.kafka.installation import Installation, page, scorer, until


async def lag(assay: Installation, *names: str, **options: Any) -> int:
    return await asyncio.to_thread(run_lag, names, assay.settings, LagOptions(**options))


async def test_lag_command_reports_the_same_as_text_and_json(
    assay: Installation, capfd: pytest.CaptureFixture[str]
) -> None:
    await assay.feed(page(number) for number in range(12))
    assert await lag(assay) == 0
    row = capfd.readouterr().out.splitlines()[1].split()
    assert row[:3] == ["score_page", "pages.crawled.v1", "12"]
    assert await lag(assay, "score_page", "index_page", as_json=True, max_records=5) == 1
    told = json.loads(capfd.readouterr().out)
    assert {one["handler"] for one in told["groups"]} == {"score_page", "index_page"}
    assert told["groups"][0]["records"] == 12
    assert told["exceeded"] == ["score_page: 12 records wait on pages.crawled.v1, limit 5"]
    await assay.drain(scorer())
    assert await lag(assay, "score_page", max_records=0, max_seconds=0) == 0


async def test_lag_watch_repeats_until_it_is_stopped(assay: Installation, capfd: pytest.CaptureFixture[str]) -> None:
    told = ""

    def twice() -> bool:
        nonlocal told
        told += capfd.readouterr().out
        return told.count("\n") >= 2

    options = LagOptions(watch_seconds=0.05, as_json=True)
    watching = asyncio.create_task(_report(assay.settings, HANDLERS[:1], options))
    await until(twice)
    watching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watching
    assert json.loads(told.splitlines()[0])["groups"][0]["records"] == 0


async def answer_of(settings: Any, path: str) -> httpx2.Response:
    exporter = lag_exporter(settings, HANDLERS, SystemClock())
    async with HttpServer(exporter, HttpSettings(port=0)) as http, httpx2.AsyncClient() as client:
        return await client.get(f"http://{http.address}{path}", timeout=20)


async def test_lag_exporter_reports_groups_without_members(assay: Installation) -> None:
    await assay.feed(page(number) for number in range(12))
    answer = await answer_of(assay.settings, "/metrics")
    assert answer.status_code == 200
    assert 'assay_group_lag_records{handler="score_page",topic="pages.crawled.v1"} 12.0' in answer.text
    assert 'assay_group_members{handler="score_page",topic="pages.crawled.v1"} 0.0' in answer.text
    # Whatever the cluster's names bear, labels bear the topology's alone.
    assert assay.prefix not in answer.text


async def test_where_kafka_does_not_answer_the_target_is_down() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    settings = load_settings(kafka={"bootstrap_servers": f"127.0.0.1:{port}"})
    answer = await answer_of(settings, "/metrics")
    assert answer.status_code == 503
    assert "no Kafka at" in answer.text
    assert (await answer_of(settings, "/healthz")).status_code == 200
    assert (await answer_of(settings, "/")).status_code == 404
