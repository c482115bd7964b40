"""Every expression of every dashboard and rule, queried from a real Prometheus that has scraped a real installation."""

import asyncio
import uuid
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from streams.generate.grafana import dashboards
from streams.generate.prometheus import Alert, alerts
from streams.telemetry.metrics import METRICS
from streams.telemetry.settings import AlertSettings
from streams.topology import HANDLERS
from tests.prometheus.promtool import needs_prometheus
from tests.prometheus.scene import Scene, places, play
from tests.prometheus.server import Prometheus

pytestmark = [needs_prometheus, pytest.mark.kafka, pytest.mark.timeout(600), pytest.mark.slow]

IN_TIME, TIER_SHARE = "handler:assay_event_age_seconds:in_time10m", "tier:assay_pages_scored_total:share1h"
NOTHING_SEEN = {"AssayTierMixDrift": "compares with the day before, and Prometheus has watched for minutes"}
"""Alerts whose expressions have nothing to look at after the scene, and why; promtool shows that they work."""
SILENT = {"AssayCommitsInDoubt", "AssayRetentionNear", "AssayLagUnknown", "AssayBudgetNear", "AssayTierMixDrift"}
"""Alerts without a reason in the scene. Whether others are late or slow depends on the machine."""
PANELS = [
    (shown.name, row.title, panel, query)
    for shown in dashboards()
    for row in shown.rows
    for panel in row.panels
    for query in panel.queries
]
TOLD = alerts(AlertSettings())


@dataclass(frozen=True)
class Watched:
    server: Prometheus
    scene: Scene

    def now(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """Labels and values at the end of the scene."""
        return [(dict(sample.labels), sample.value) for sample in self.server.query(expression, self.scene.ended)]


@pytest.fixture(scope="module")
def watched(kafka: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    here = places()
    with Prometheus(tmp_path_factory.mktemp("prometheus"), here.targets()) as server:
        folder = tmp_path_factory.mktemp("scene")
        yield Watched(server, asyncio.run(play(kafka, f"t{uuid.uuid4().hex[:11]}.", folder, here, server)))


def test_every_panel_shows_what_was_played(watched: Watched) -> None:
    wrong = []
    for shown, row, panel, query in PANELS:
        values = [value for _, value in watched.now(query.expression)]
        low = values and not panel.signed and min(values) < 0
        high = values and not panel.signed and panel.unit == "percentunit" and max(values) > 1.0 + 1e-9
        if not values or low or high:
            wrong.append((shown, row, panel.title, query.expression, values[:3]))
    assert wrong == []


@pytest.mark.parametrize("alert", TOLD, ids=lambda alert: alert.name)
def test_alert_has_data_and_is_silent_without_a_reason(watched: Watched, alert: Alert) -> None:
    seen = [
        bool(watched.now(condition.when)) for condition in alert.conditions if not condition.when.startswith("absent(")
    ]
    assert (alert.name in NOTHING_SEEN) != any(seen)
    if alert.name in SILENT:
        assert watched.now(alert.expression) == []


def test_dead_letter_alert_names_handler_and_reason(watched: Watched) -> None:
    [dead] = [alert for alert in TOLD if alert.name == "AssayDeadLetters"]
    told = {(labels["handler"], labels["reason"]) for labels, _ in watched.now(dead.expression)}
    assert told >= {(handler.name, "undecodable") for handler in HANDLERS} | {("score_page", "unreadable_page")}
    firing = watched.now('ALERTS{alertname="AssayDeadLetters", alertstate="firing"}')
    assert {(labels["handler"], labels["reason"]) for labels, _ in firing} == told


def test_prometheus_finds_no_fault_with_any_rule(watched: Watched) -> None:
    rules = watched.server.rules()
    assert {rule["name"] for rule in rules} >= {alert.name for alert in TOLD}
    assert {(rule["health"], rule.get("lastError", "")) for rule in rules} == {("ok", "")}
    assert {labels["handler"] for labels, _ in watched.now(IN_TIME)} == {handler.name for handler in HANDLERS}
    assert sum(value for _, value in watched.now(TIER_SHARE)) == pytest.approx(1.0)


def test_prometheus_has_what_the_workers_counted(watched: Watched) -> None:
    """Nothing is lost, doubled or renamed between a counter and an expression."""
    counters = {metric.name for metric in METRICS if metric.kind == "counter"}
    counted: dict[str, dict[tuple[tuple[str, str], ...], float]] = defaultdict(lambda: defaultdict(float))
    for registry in watched.scene.registries:
        for family in registry.collect():
            for sample in family.samples:
                if sample.name in counters and sample.value:
                    # Prometheus treats an empty label as absent.
                    labels = tuple(sorted((label, value) for label, value in sample.labels.items() if value))
                    counted[sample.name][labels] += sample.value
    assert counted.keys() >= {"assay_handler_events_total", "assay_llm_cost_usd_total", "assay_fetches_total"}
    for name, by_labels in counted.items():
        by = next(metric.labels for metric in METRICS if metric.name == name)
        grouped = f"sum by ({', '.join(by)}) " if by else "sum"
        told = {
            tuple(sorted(found.items())): value for found, value in watched.now(f'{grouped}({name}{{job="assay"}}) > 0')
        }
        assert told == pytest.approx(dict(by_labels)), name
