"""The alerts, checked by reading them; promtool makes each of them fire in tests/prometheus."""

import re

import pytest
import yaml
from pydantic import ValidationError

from streams.generate.grafana import dashboards, panels_of
from streams.generate.prometheus import Alert, alerts, prometheus
from streams.telemetry.metrics import METRICS
from streams.telemetry.settings import AlertSettings
from tests.samples import ROOT

TOLD = alerts(AlertSettings())
EACH = pytest.mark.parametrize("alert", TOLD, ids=lambda alert: alert.name)
RUNBOOK = re.compile(r"^### (Assay\w+)$", re.MULTILINE)
METRIC = re.compile(r"\bassay_[a-z_]+")


def test_each_alert_has_a_runbook_entry_and_no_entry_is_orphaned() -> None:
    entries = RUNBOOK.findall((ROOT / "docs/operations.md").read_text("utf-8"))
    assert entries == [alert.name for alert in TOLD]


def test_panels_that_the_runbook_points_at_are_there() -> None:
    section = (ROOT / "docs/operations.md").read_text("utf-8").partition("\n## Alerts\n")[2].partition("\n## ")[0]
    titles = {panel["title"] for shown in dashboards() for panel in panels_of(shown)}
    quoted = {" ".join(title.split()) for title in re.findall(r'(?<!\[)"([A-Z][^"]+)"', section)}
    assert len(quoted) > 5
    assert quoted <= titles


@EACH
def test_alert_describes_the_fault_with_its_value_and_runbook(alert: Alert) -> None:
    assert alert.severity in {"page", "ticket"}
    assert alert.rule["annotations"]["runbook"] == f"docs/operations.md#{alert.name.lower()}"
    assert not alert.summary.endswith(".")
    assert alert.description.endswith(".")
    by_value = {"AssayWorkerDown", "AssayLagUnknown"}  # these are or are not
    assert ("$value" in alert.description) != (alert.name in by_value)


@EACH
def test_an_alert_asks_for_live_traffic(alert: Alert) -> None:
    declared = {metric.name: metric for metric in METRICS}
    for name in METRIC.findall(alert.expression):
        if "lane" in declared[name].labels and f":{name}:" not in alert.expression:
            assert f'{name}{{lane="live"' in alert.expression
    assert "replay" not in alert.expression.replace('job!="assay-replay"', "")


def test_thresholds_come_from_the_configuration() -> None:
    [text] = [
        text for path, text in prometheus({"alerts": {"loop_lag_seconds": 7}}).items() if path.name == "alerts.yml"
    ]
    rules = {rule["alert"]: rule for rule in yaml.safe_load(text)["groups"][0]["rules"]}
    assert rules["AssayLoopLag"]["expr"].endswith("> 7")
    assert len(rules) == len(TOLD)


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
