"""Each alert fires in its situation and is silent otherwise, according to Prometheus' own tool."""

import subprocess
from dataclasses import replace
from functools import reduce
from pathlib import Path

import pytest
import yaml

from streams.generate.grafana import dashboards, panels_of
from streams.generate.prometheus import Alert, alerts
from streams.telemetry.settings import AlertSettings
from tests.prometheus.cases import Case, cases
from tests.prometheus.promtool import needs_prometheus, promtool
from tests.samples import ROOT

pytestmark = needs_prometheus

TOLD = alerts(AlertSettings())
CASES = cases()
OTHERWISE = {">": "<=", "<": ">=", "==": "!="}
CONDITIONS = [(alert, number) for alert in TOLD for number in range(len(alert.conditions))]


def test_prometheus_takes_the_generated_files() -> None:
    for command in (["config"], ["rules", "--lint-fatal"]):
        files = ["prometheus.yml"] if command == ["config"] else ["recording.yml", "alerts.yml"]
        done = subprocess.run(
            ["promtool", "check", *command, *files],
            cwd=ROOT / "config/generated/prometheus",
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "FAILED" not in done.stdout


def test_prometheus_takes_the_expressions_of_all_panels(tmp_path: Path) -> None:
    queries = [query for shown in dashboards() for panel in panels_of(shown) for query in panel["queries"]]
    variables = {"$__rate_interval": "5m", "$__range": "1h", "$handler": ".*"}
    expressions = {
        reduce(lambda text, name: text.replace(name, variables[name]), variables, query["expr"]) for query in queries
    }
    rules = [{"record": f"panel:{number}", "expr": each} for number, each in enumerate(sorted(expressions))]
    (tmp_path / "panels.yml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}), "utf-8")
    done = subprocess.run(["promtool", "check", "rules", "panels.yml"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_cases_have_a_world_for_each_alert() -> None:
    assert {told.alert for case in CASES for told in case.told} == {alert.name for alert in TOLD}
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_expected_alerts_fire_and_no_others(case: Case, tmp_path: Path) -> None:
    assert promtool(tmp_path, TOLD, [case]) == ""


@pytest.mark.slow
@pytest.mark.parametrize(("alert", "number"), CONDITIONS, ids=[f"{alert.name} {n}" for alert, n in CONDITIONS])
def test_a_condition_that_is_turned_round_is_found(alert: Alert, number: int, tmp_path: Path) -> None:
    """Otherwise the cases would show nothing."""
    condition = alert.conditions[number]
    comparison, bound = condition.holds.split()
    turned = replace(condition, holds=f"{OTHERWISE[comparison]} {bound}")
    conditions = (*alert.conditions[:number], turned, *alert.conditions[number + 1 :])
    cases_of_it = [case for case in CASES if not case.differs or alert.name in {told.alert for told in case.told}]
    assert "got" in promtool(tmp_path, [replace(alert, conditions=conditions)], cases_of_it)
