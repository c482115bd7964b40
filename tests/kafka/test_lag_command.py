"""``assay lag`` against a real Kafka: once, for scripts, and scraped."""

import json
import socket
from typing import Any

import httpx2
import pytest

from streams.cli.lag_server import lag_exporter
from streams.http.server import HttpServer
from streams.runtime.clock import SystemClock
from streams.settings.model import HttpSettings, load_settings
from streams.topology import HANDLERS
from tests.kafka.installation import Installation, command, page, scorer


async def test_lag_command_reports_the_same_as_text_and_json(
    assay: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    async def lag(*words: str) -> tuple[int, str]:
        return (await command(assay.settings, capsys, "lag", *words))[:2]

    await assay.feed(page(number) for number in range(12))
    status, out = await lag()
    assert (status, out.splitlines()[1].split()[:3]) == (0, ["score_page", "pages.crawled.v1", "12"])
    status, out = await lag("score_page", "index_page", "--json", "--max-records", "5")
    told = json.loads(out)
    assert status == 1
    assert {one["handler"] for one in told["groups"]} == {"score_page", "index_page"}
    assert told["groups"][0]["records"] == 12
    assert told["exceeded"] == ["score_page: 12 records wait on pages.crawled.v1, limit 5"]
    await assay.drain(scorer())
    assert (await lag("score_page", "--max-records", "0", "--max-seconds", "0"))[0] == 0


async def answer_of(settings: Any, path: str) -> httpx2.Response:
    exporter = lag_exporter(settings, HANDLERS, SystemClock())
    async with HttpServer(exporter, HttpSettings(port=0)) as http, httpx2.AsyncClient() as client:
        return await client.get(f"http://{http.address}{path}", timeout=20)


async def test_where_kafka_does_not_answer_the_target_is_down() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    settings = load_settings(kafka={"bootstrap_servers": f"127.0.0.1:{port}"})
    answer = await answer_of(settings, "/metrics")
    assert answer.status_code == 503
    assert "no Kafka at" in answer.text
    assert (await answer_of(settings, "/healthz")).status_code == 200
    assert (await answer_of(settings, "/")).status_code == 404
