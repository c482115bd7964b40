"""Scraping, recording rules and alerts, checked by reading; promtool makes each alert fire in tests/prometheus."""

import re

import pytest
from pydantic import ValidationError

from streams.generate.monitoring import Alert, alerts, prometheus, refuse_undeclared
from streams.telemetry.metrics import AGE_BUCKETS, METRICS
from streams.telemetry.settings import AlertSettings
from streams.topology import HANDLERS
from tests.samples import ROOT
from tests.tables import tables

TABLES = tables(__file__)


def test_every_objective_is_a_bound_of_the_age_histogram() -> None:
    """Otherwise the share within the objective could not be told from the buckets."""
    assert {float(handler.slo_seconds) for handler in HANDLERS} <= set(AGE_BUCKETS)


@pytest.mark.parametrize(("expression", "why"), TABLES["an_expression_over_what_is_not_declared_is_refused"])
def test_an_expression_over_what_is_not_declared_is_refused(expression: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        refuse_undeclared(expression, "place")


def test_a_label_that_the_result_does_not_have_cannot_be_shown() -> None:
    refuse_undeclared("sum by (handler) (assay_group_lag_records)", "place", ["handler"])
    with pytest.raises(ValueError, match="place: no metric of the expression has the label tier"):
        refuse_undeclared("sum by (handler) (assay_group_lag_records)", "place", ["tier"])


TOLD = alerts(AlertSettings())
EACH = pytest.mark.parametrize("alert", TOLD, ids=lambda alert: alert.name)
RUNBOOK = re.compile(r"^### (Assay\w+)$", re.MULTILINE)
METRIC = re.compile(r"\bassay_[a-z_]+")


def test_each_alert_has_a_runbook_entry_and_no_entry_is_orphaned() -> None:
    entries = RUNBOOK.findall((ROOT / "docs/operations.md").read_text("utf-8"))
    assert entries == [alert.name for alert in TOLD]


@EACH
def test_an_alert_asks_for_live_traffic(alert: Alert) -> None:
    declared = {metric.name: metric for metric in METRICS}
    for name in METRIC.findall(alert.expression):
        if "lane" in declared[name].labels and f":{name}:" not in alert.expression:
            assert f'{name}{{lane="live"' in alert.expression
    assert "replay" not in alert.expression.replace('job!="assay-replay"', "")


def test_stall_alert_fires_before_the_worker_exits() -> None:
    prometheus({"alerts": {"stalled_seconds": 400}})
    with pytest.raises(ValueError, match=r"at least 120 s below pipeline.stalled_seconds \(500 s\)"):
        prometheus({"alerts": {"stalled_seconds": 400}, "pipeline": {"stalled_seconds": 500}})


def test_handlers_that_are_not_run_raise_no_alert() -> None:
    told = {alert.name: alert.expression for alert in alerts(AlertSettings(not_run=("index_page", "fetch_page")))}
    assert "index-page" not in told["AssayWorkerDown"]
    assert "score-page" in told["AssayWorkerDown"]
    for name in ("AssayHandlerStalled", "AssayRetentionNear", "AssayRecordsLost"):
        assert 'handler!~"index_page|fetch_page"' in told[name]
    with pytest.raises(ValidationError, match="no handler 'score'"):
        AlertSettings(not_run=("score",))
