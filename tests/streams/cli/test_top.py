"""``assay top`` for given workers and clusters, and its layout on the terminal."""

import httpx2
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from streams.cli.top import AGE_BUCKETS, View, Worker, look_at, make_view, read_metrics, worker_url
from streams.kafka.groups import GroupLag
from streams.settings.model import load_settings
from streams.telemetry.metrics import Metrics
from streams.views.flow import quantiles, rate, total
from tests.streams.fetch.web import response, serving
from tests.tables import tables

TABLES = tables(__file__)

SCORED = (Metrics.handler_events_total.name, "score_page")
EVENTS = {"handler": "score_page", "outcome": "emit", "reason": "", "lane": "live"}


def exposition(events: float = 0, ages: tuple[float, ...] = (), cost: float = 0, left: float | None = None) -> str:
    metrics = Metrics(CollectorRegistry())
    metrics.handler_events_total.labels(**EVENTS).inc(events)
    metrics.handler_in_flight.labels("score_page").set(3)
    metrics.retries_total.labels("score_page", "timeout", "live").inc(2)
    metrics.dead_events_total.labels("score_page", "handler_bug", "handle", "live").inc(1)
    metrics.breaker_open.labels("judge_relevance", "live").set(1)
    metrics.llm_breaker_open.labels("m").set(1)
    for age in ages:
        metrics.event_age_seconds.labels("score_page").observe(age)
    if cost:
        metrics.llm_cost_usd_total.labels("judge_relevance", "m").inc(cost)
    if left is not None:
        metrics.llm_budget_left_usd.set(left)
    return generate_latest(metrics.registry).decode()


def worker(*looks: tuple[float, str]) -> Worker:
    its = Worker("http://worker-1:8080/metrics")
    for at, text in looks:
        its.add(at, read_metrics(text))
    return its


def test_rate_is_the_increase_over_time_and_survives_a_restart() -> None:
    steady = worker((0.0, exposition(100)), (10.0, exposition(150)))
    assert rate([steady], *SCORED) == 5
    restarted = worker((0.0, exposition(100)), (10.0, exposition(20)))
    assert rate([steady, restarted], *SCORED) == 7
    assert rate([worker((0.0, exposition(100)))], *SCORED) is None
    assert rate([], *SCORED) is None
    assert total([steady, restarted], *SCORED) == 170


def test_what_a_run_has_published_is_in_the_rate_too() -> None:
    metrics = Metrics(CollectorRegistry())
    looks = []
    for at, live, replayed in ((0.0, 10, 0), (10.0, 20, 40)):
        metrics.handler_events_total.labels(**EVENTS).inc(live)
        metrics.handler_events_total.labels(**EVENTS | {"lane": "replay"}).inc(replayed)
        metrics.handler_in_flight.labels("score_page").set(3)
        looks.append((at, generate_latest(metrics.registry).decode()))
    view = make_view(load_settings(), [worker(*looks)], [], "")
    [row] = [row for row in view.rows if row.handler == "score_page"]
    assert row.rate_per_second == 6


def test_rates_forget_what_is_over() -> None:
    its = worker((0.0, exposition(0)), (10.0, exposition(1000)), (39.0, exposition(1000)), (50.0, exposition(1000)))
    assert its.seconds == 40
    assert rate([its], *SCORED) == 0


def test_ages_are_those_of_the_window_else_of_all_time() -> None:
    old, new = (0.2,) * 100, (40.0,) * 50
    moving = worker((0.0, exposition(ages=old)), (10.0, exposition(ages=old + new)))
    [median] = quantiles([moving], [0.5], AGE_BUCKETS, "score_page")
    assert median is not None
    assert 30 < median < 60
    resting = worker((0.0, exposition(ages=old)), (10.0, exposition(ages=old)))
    [median] = quantiles([resting], [0.5], AGE_BUCKETS, "score_page")
    assert median is not None
    assert 0.1 < median <= 0.25
    assert quantiles([resting], [0.5, 0.99], AGE_BUCKETS, "index_page") == [None, None]


def view(**budget: float) -> View:
    late = exposition(10, ages=(100.0,) * 10, cost=1.25, left=0.5)
    lag = GroupLag("score_page", "pages.crawled.v1", "assay.score_page", True, 123_456, 700.0, 100.0, 0)
    retry = GroupLag("index_page", "retry", "g", True, 5, 630.0, 100.0, 1, delay_seconds=600)
    own = GroupLag("index_page", "pages.scored.v1", "g", True, 0, 0.0, None, 1)
    settings = load_settings(llm={"budget_usd_per_day": 2.0, **budget})
    workers = [worker((0.0, late), (2.0, late)), Worker("http://worker-2:8080/metrics", problem="ConnectError")]
    return make_view(settings, workers, [lag, own, retry], "")


def test_a_view_has_what_workers_and_cluster_said() -> None:
    seen = view()
    rows = {row.handler: row for row in seen.rows}
    score = rows["score_page"]
    assert (score.lag_records, score.lag_seconds, score.members) == (123_456, 700.0, 0)
    assert (score.in_flight, score.retries, score.dead, score.cost_usd) == (3, 2, 1, None)
    assert score.age_p99_seconds is not None
    assert score.age_p99_seconds > score.slo_seconds
    # What waits in a retry topic is late only beyond its delay.
    assert (rows["index_page"].lag_records, rows["index_page"].lag_seconds) == (5, 30.0)
    assert rows["index_page"].rate_per_second is None
    assert (rows["judge_relevance"].breaker_open, rows["judge_relevance"].cost_usd) == (True, 1.25)
    assert (seen.cost_usd, seen.cost_today_usd, seen.budget_usd) == (1.25, 1.5, 2.0)
    assert (seen.workers, seen.models_left_alone) == (1, ("m",))


@pytest.mark.parametrize(
    ("status", "body", "problem"),
    [
        *((status, body.encode(), problem) for status, body, problem in TABLES["useless_worker_response_is_reported"]),
        (200, exposition(1).encode(), ""),
        (200, exposition(1).encode() + b'assay_handler_in_flight{handler="index_page"} NaN\n', ""),
    ],
)
async def test_useless_worker_response_is_reported(status: int, body: bytes, problem: str) -> None:
    async with serving() as web, httpx2.AsyncClient(trust_env=False) as client:
        web.routes["/metrics"] = response(body, status)
        there = Worker(worker_url(str(web.port)))
        await look_at([there], client)
    assert (there.problem, bool(there.values)) == (problem, not problem)
