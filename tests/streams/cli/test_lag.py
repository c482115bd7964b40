"""What ``assay lag`` prints for known lags, and where it serves them."""

import socket

import httpx
import pytest
from prometheus_client import generate_latest

from streams.cli.lag import LagCollector, lag_exporter, limits_exceeded
from streams.http.server import HttpServer
from streams.kafka.groups import DeadLettersStanding, GroupLag
from streams.runtime.clock import SystemClock
from streams.settings.model import HttpSettings, load_settings
from streams.topology import HANDLERS


def group(handler: str = "score_page", topic: str = "pages.crawled.v1", **fields: object) -> GroupLag:
    known: dict[str, object] = {
        "group": f"assay.{handler}",
        "exists": True,
        "records": 0,
        "seconds": 0.0,
        "retention_left_seconds": None,
        "members": 1,
    }
    return GroupLag(handler=handler, topic=topic, **known | fields)  # type: ignore[arg-type]


WAITING = group(records=1234, seconds=5400.0, retention_left_seconds=600.0, members=0)
RETRIED = group("index_page", "retry", records=2, seconds=50.0, delay_seconds=60)
QUIET = group("index_page", "pages.scored.v1")


@pytest.mark.parametrize(
    ("max_records", "max_seconds", "exceeded"),
    [
        (None, None, []),
        (1234, None, []),
        (1233, None, ["score_page: 1,234 records wait on pages.crawled.v1, limit 1,233"]),
        (None, 5400, []),
        (None, 60, ["score_page: 90 min behind on pages.crawled.v1, limit 60 s"]),
    ],
)
def test_lag_limits_apply_per_topic_beyond_its_delay(
    max_records: int | None, max_seconds: float | None, exceeded: list[str]
) -> None:
    assert limits_exceeded([WAITING, QUIET, RETRIED], max_records, max_seconds) == exceeded


def test_lag_metrics_cover_existing_topics_only() -> None:
    groups = [WAITING, QUIET, group("fetch_page", "x", exists=False)]
    text = generate_latest(LagCollector(groups, [DeadLettersStanding("score_page", "dlq", 3, 1.0)])).decode()
    samples = [line for line in text.splitlines() if not line.startswith("#")]
    place = 'handler="score_page",topic="pages.crawled.v1"'
    assert f"assay_group_lag_records{{{place}}} 1234.0" in samples
    assert f"assay_group_lag_seconds{{{place}}} 5400.0" in samples
    assert f"assay_group_retention_left_seconds{{{place}}} 600.0" in samples
    assert f"assay_group_members{{{place}}} 0.0" in samples
    assert f"assay_group_lost_records{{{place}}} {float(WAITING.lost)}" in samples
    assert 'assay_topic_dead_letters{handler="score_page"} 3.0' in samples
    # What has nothing unread has no end of its retention to fear, and what is not made has nothing at all.
    assert len(samples) == 5 + 4 + 1


async def test_where_kafka_does_not_answer_the_target_is_down() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = load_settings(kafka={"bootstrap_servers": f"127.0.0.1:{taken.getsockname()[1]}"})
    exporter = lag_exporter(settings, HANDLERS, SystemClock())
    async with (
        HttpServer(exporter, HttpSettings(port=0)) as http,
        httpx.AsyncClient(base_url=f"http://{http.address}", timeout=20) as client,
    ):
        answers = {path: (await client.get(path)).status_code for path in ("/metrics", "/healthz", "/")}
    assert answers == {"/metrics": 503, "/healthz": 200, "/": 404}
