"""Queries over HTTP and over Kafka, to one application that indexes real records and owns the index."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted, StageName
from streams.http.server import HttpServer
from streams.settings.model import HttpSettings
from streams.topology import HANDLERS, RANKING_COMPLETED, RANKING_REQUESTED
from tests.kafka.installation import SCORED, Installation, Installing, until
from tests.streams.query.indexes import GOV, pages

pytestmark = pytest.mark.usefixtures("children")

BY_NAME = {handler.name: handler for handler in HANDLERS}
TEXT = "when does the river bridge open"
STAGES = [StageName.RETRIEVAL, StageName.BM25, StageName.RANKING, StageName.MMR, StageName.REASONING]


@pytest.fixture
async def place(installing: Installing, tmp_path: Path) -> Installation:
    used = [BY_NAME[name] for name in ("score_page", "index_page", "rank_results")]
    assay = await installing(used, index={"path": tmp_path / "index"})
    await assay.feed([(page.url.encode(), page.to_json()) for page in pages()], SCORED)
    return assay


def asked(settings_path: Path, port: int, *arguments: str) -> Any:
    """``assay query`` as a process of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
    environment = kept | {"ASSAY_INDEX__PATH": str(settings_path), "ASSAY_HTTP__PORT": str(port)}
    command = Path(sys.executable).parent / "assay"
    return asyncio.create_subprocess_exec(
        command,
        "query",
        TEXT,
        *arguments,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def test_one_application_answers_by_kafka_http_and_command(place: Installation, tmp_path: Path) -> None:
    with capture_logs() as logs:
        async with place.running(BY_NAME["index_page"], BY_NAME["rank_results"]) as application:
            await until(application.caught_up, times=2)
            request = RankingRequested(request_id="over-kafka", query=TEXT)
            await place.feed([(b"over-kafka", request.to_json())], RANKING_REQUESTED.name)
            async with (
                HttpServer(application.asgi, HttpSettings(port=0)) as server,
                httpx.AsyncClient(base_url=f"http://{server.address}", trust_env=False, timeout=30) as client,
            ):
                answer = await client.post("/query", json={"query": TEXT, "request_id": "over-http"})
                process = await asked(tmp_path / "index", int(server.address.rpartition(":")[2]), "--json")
                out, err = await process.communicate()
                assert process.returncode == 0, err
                await until(application.caught_up, times=2)
                metrics = (await client.get("/metrics")).text
    over_http = RankingCompleted.model_validate_json(answer.content)
    by_command = RankingCompleted.model_validate_json(out)
    [record] = await place.read(RANKING_COMPLETED.name)
    assert record.value is not None
    over_kafka = RankingCompleted.model_validate_json(record.value)
    for completed in (over_http, by_command, over_kafka):
        assert list(completed.stages) == STAGES
        assert completed.results[0].url == GOV
        assert [result.cts_score for result in completed.results[:1]] == [83]
        assert "[TRUST_TIER: HIGH]" in completed.context
        assert "83" not in completed.context
    assert [result.url for result in over_http.results] == [result.url for result in over_kafka.results]
    lines = {line["request_id"]: line for line in logs if line["event"] == "query answered"}
    assert {"over-http", "over-kafka"} <= set(lines)
    for name, via in (("over-http", "http"), ("over-kafka", "kafka")):
        assert lines[name]["via"] == via
        assert lines[name]["stages"] == [str(stage) for stage in STAGES]
        assert lines[name]["cts_scores"][0] == 83
        assert lines[name]["trust_labels"][0] == "HIGH"
    intent = over_http.intent.intent
    assert f'assay_queries_total{{intent="{intent}",outcome="answered",via="http"}} 2.0' in metrics
    assert f'assay_queries_total{{intent="{intent}",outcome="answered",via="kafka"}} 1.0' in metrics
