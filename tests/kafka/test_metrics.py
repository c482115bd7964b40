"""The metrics of a real run (R-129, R-270): every declared metric, no other, and no label value from an input."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import httpx
import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from schemas.dead import dead_letter_topic
from schemas.retrieval import ResultType
from streams.app.application import Application
from streams.cli.run import summary_of
from streams.demo.run import running
from streams.http.server import HttpServer
from streams.kafka.clients import make_producer, opened
from streams.settings.model import HttpSettings, load_settings
from streams.telemetry.labels import TASKS
from streams.telemetry.metrics import METRICS, MetricDef
from streams.topology import HANDLERS
from tests.kafka.installation import CRAWLED, Installation, installed
from tests.kafka.malformed import good_page, malformed
from tests.streams.llm.model_server import model_server, says
from tests.streams.telemetry.labels import label_rows
from tests.streams.telemetry.setters import ELSEWHERE
from tests.tables import tables

PREFIX = "assay_"


def strays(families: Iterable[Metric], models: Mapping[str, str]) -> list[str]:
    """Samples of Assay's own metrics that are not declared, or whose labels take values that are not allowed."""
    declared = {name: metric for metric in METRICS for name in (metric.name, metric.name.removesuffix("_total"))}
    found = []
    for family in families:
        # Read back from the text form, the moment since when a metric counts is a family of its own.
        name = family.name.removesuffix("_created")
        if not name.startswith(PREFIX):
            continue
        metric = declared.get(name)
        for sample in family.samples:
            if metric is None or not _is_allowed(metric, sample.labels, models):
                found.append(f"{sample.name} {dict(sorted(sample.labels.items()))}")
    return found


def _is_allowed(metric: MetricDef, labels: Mapping[str, str], models: Mapping[str, str]) -> bool:
    if set(labels) - {"le"} != set(metric.labels):
        return False
    rows = label_rows(metric, models).items()
    return all(tuple(labels[label] for label in group) in allowed for group, allowed in rows)


TABLES = tables(__file__)

WITH_MODELS = set(TABLES["with_models"])
"""What the demonstration doesn't need, since it asks no model; a judge that does shows all of it."""
SECOND_TIME = {"assay_retries_total", "assay_index_points_removed_total", "assay_fetches_cached_total"}
"""What takes a handler that fails once, a page that crosses tiers, and a page that is asked for again."""
FAULTS = {"assay_child_processes_ended_total", "assay_dead_letter_pauses_total"}
"""What takes a page that ends its child process, or a bad deploy (``test_worker_processes``, ``test_retries``)."""


def shown(families: Iterable[Metric]) -> set[str]:
    """The declared metrics that have counted or been set; counters and histograms are 0 before."""
    declared = {metric.name: metric for metric in METRICS}
    found = set()
    for family in families:
        name = family.name + "_total" if family.type == "counter" else family.name
        samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
        if name in declared and any(sample.value or (sample.labels and family.type == "gauge") for sample in samples):
            found.add(name)
    return found


async def scraped(application: Application) -> list[Metric]:
    """What Prometheus is given of a worker."""
    async with (
        HttpServer(application.asgi, HttpSettings(port=0)) as server,
        httpx.AsyncClient(base_url=f"http://{server.address}", follow_redirects=True) as client,
    ):
        answer = await client.get("/metrics")
    assert answer.status_code == 200
    return list(text_string_to_metric_families(answer.text))


def models(application: Application) -> dict[str, str]:
    return {task: application.settings.model_of(task) for task in TASKS}


@pytest.mark.slow
async def test_demo_does_the_whole_job_and_shows_its_metrics(kafka: str, topic_prefix: str) -> None:
    """Every handler has work, the whole extraction loop runs, and only models and faults have metrics beside these."""
    settings = load_settings(kafka={"bootstrap_servers": kafka, "topic_prefix": topic_prefix}, http={"enabled": False})
    async with running(settings, lambda _: None) as demo:
        await demo.work(lambda _: None)
    registry = list(demo.application.registry.collect())
    assert not strays(registry, models(demo.application))
    elsewhere = WITH_MODELS | SECOND_TIME | FAULTS | ELSEWHERE.keys()
    assert shown(registry) == {metric.name for metric in METRICS} - elsewhere
    figures = demo.tally.summary()
    events, decisions = figures["events"], figures["decisions"]
    assert all(decisions["pages.scored.v1"]["tier"][tier] for tier in "ABC")
    assert all(decisions["results.classified.v1"]["type"][kind] for kind in ResultType)
    assert events["extraction.needed.v1"] == events["extraction.completed.v1"] > 0
    assert figures["dead_letters"] == 1
    passed = decisions["retrieval.evaluated.v1"]["passed"]
    assert passed["no"] > 0, "listings"
    assert passed["yes"] > 0, "their details"
    assert events["documents.indexed.v1"] > 0
    assert set(decisions["search.evaluated.v1"]["outcome"]) > {"satisfied"} or events["search.evaluated.v1"] > 1
    assert events["ranking.completed.v1"] == 2
    for name, done in summary_of(demo.application.metrics, [handler.name for handler in HANDLERS]).items():
        assert done["in"] == sum(done["outcomes"].values()) > 0, f"{name} is idle"


async def write_hostile(place: Installation) -> int:
    """Malformed records whose headers name invented lanes, reasons, topics and handlers."""
    odd = "https://evil.example/?q=" + "x" * 200
    forged: list[tuple[str, bytes | None]] = [
        ("assay_run", odd.encode()),
        ("x-reason", odd.encode()),
        ("x-stage", b"\xff\xfe"),
        ("x-handler", b"nobody"),
        ("x-orig-topic", odd.encode()),
        ("ce_type", odd.encode()),
        ("traceparent", b"00-zz-zz-zz"),
    ]
    sent = 0
    async with opened(make_producer(place.settings.kafka, None, "hostile")) as producer:
        for number, its in enumerate(malformed(11, 150, good_page)):
            headers = [*its.headers, *forged] if number % 2 else its.headers
            if any(value is None for _, value in headers):
                headers = [(name, value or b"") for name, value in headers]
            await producer.send_and_wait(place.prefix + CRAWLED, its.value, its.key, headers=headers)
            sent += 1
        for handler in HANDLERS[1:]:
            for value in (b"{", json.dumps({"batchId": odd, "query": odd, "url": odd, "tier": odd}).encode()):
                topic = place.prefix + handler.consumes.name
                await producer.send_and_wait(topic, value, odd.encode(), headers=forged)
    return sent


async def test_no_input_makes_a_series(kafka: str, topic_prefix: str, tmp_path: Path) -> None:
    """A model of an odd name, too: it is the configuration's, and no more than one a task."""
    async with model_server(says("<script>", headers={"x-ratelimit-limit-requests": "1e9"})) as server:
        place = await installed(
            kafka,
            topic_prefix,
            HANDLERS,
            llm={"base_url": server.base_url, "model": 'odd "model" \n\\', "cache_path": tmp_path / "llm.sqlite"},
            fetch={"cache_path": tmp_path / "fetch.sqlite", "attempts": 1},
        )
        sent = await write_hostile(place)
        async with place.running(*HANDLERS) as application:
            await place.quiet(application, seconds=100)
            families = await scraped(application)
    assert not strays(families, models(application))
    by_name = {family.name: family for family in families}
    lanes: Counter[str] = Counter()
    for sample in by_name["assay_handler_events"].samples:
        if sample.labels["handler"] == "score_page":
            lanes[sample.labels["lane"]] += int(sample.value)
    assert sum(lanes.values()) == sent
    assert lanes["replay"] >= sent // 2 - 1, "who calls itself a run is one, and wakes nobody"
    topics = {place.prefix + handler.consumes.name for handler in HANDLERS}
    topics |= {place.prefix + tier.topic for handler in HANDLERS for tier in handler.retry_topics}
    groups = {place.prefix + group for h in HANDLERS for group in (h.group, *(tier.group for tier in h.retry_topics))}
    for family in families:
        if family.name.startswith("faststream"):
            assert {sample.labels["handler"] for sample in family.samples} <= topics
            assert {sample.labels["consumer_group"] for sample in family.samples} <= groups
    dead = await place.read(*(dead_letter_topic(h.consumes.name, h.group) for h in HANDLERS))
    counted = sum(sample.value for sample in by_name["assay_dead_events"].samples)
    assert counted == len(dead) > 50
