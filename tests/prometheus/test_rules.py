"""Each alert fires in its situation and is silent otherwise, according to Prometheus' own tool; ``cases.yaml``."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
import yaml

from streams.generate.monitoring import Alert, alerts, dashboards, panels_of, recording_rules, services
from streams.telemetry.settings import AlertSettings
from tests.prometheus.worlds import MINUTES, World, healthy, then, up
from tests.samples import ROOT

pytestmark = pytest.mark.skipif(
    shutil.which("promtool") is None or shutil.which("prometheus") is None,
    reason="needs Prometheus and promtool on the PATH: apt-get install --no-install-recommends prometheus",
)
OTHERWISE = {">": "<=", "<": ">=", "==": "!="}


@dataclass(frozen=True)
class Told:
    """An alert that fires: its labels beside the severity, and what is read."""

    alert: str
    labels: dict[str, str]
    summary: str
    description: str


@dataclass(frozen=True)
class Case:
    """A world in which something is wrong, or only looks so.

    Attributes:
        name: What is the matter.
        differs: How it differs from the healthy world.
        told: What fires; all other alerts are silent.
    """

    name: str
    differs: World
    told: tuple[Told, ...] = ()


def cases() -> tuple[Case, ...]:
    """All of them; the first is the healthy world."""
    rows = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text("utf-8"))
    stored = (
        Case(row["name"], row.get("differs", {}), tuple(Told(*told) for told in row.get("told", ()))) for row in rows
    )
    return (*stored, _no_worker())


def _no_worker() -> Case:
    told = (
        Told(
            "AssayWorkerDown",
            {"job": "assay", "service": service},
            f"{service} does not answer",
            f"No answer from a worker of {service} for 2 minutes. Its records wait; nothing is lost as long as"
            " retention is.",
        )
        for service in services()
    )
    return Case("no worker is known", {up(service): then("1", 10, "_") for service in services()}, tuple(told))


def promtool(folder: Path, alerts: Sequence[Alert], cases: Sequence[Case]) -> str:
    """What promtool finds wrong; empty if every case fires exactly its alerts."""
    told = [alert.rule for alert in alerts]
    asked = str(told)
    recorded = [rule for rule in recording_rules() if rule["record"] in asked]
    groups = [{"name": "recording", "rules": recorded}, {"name": "alerts", "rules": told}]
    (folder / "rules.yml").write_text(yaml.safe_dump({"groups": groups}), "utf-8")
    tests = [_test(case, alerts) for case in cases]
    order = [group["name"] for group in groups]
    document = {"rule_files": ["rules.yml"], "evaluation_interval": "1m", "group_eval_order": order, "tests": tests}
    (folder / "tests.yml").write_text(yaml.safe_dump(document), "utf-8")
    command = ["promtool", "test", "rules", "tests.yml"]
    # Rarer collections of its garbage take a sixth off its time.
    done = subprocess.run(command, cwd=folder, env=os.environ | {"GOGC": "400"}, capture_output=True, text=True)
    said = done.stdout + done.stderr
    return said if done.returncode or "SUCCESS" not in said else ""


def _test(case: Case, alerts: Sequence[Alert]) -> dict[str, Any]:
    services = {name: values for name, values in (healthy() | dict(case.differs)).items() if values}
    return {
        "name": case.name,
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in services.items()],
        "alert_rule_test": [
            {"eval_time": f"{MINUTES}m", "alertname": alert.name, "exp_alerts": _expected(case, alert)}
            for alert in alerts
        ],
    }


def _expected(case: Case, alert: Alert) -> list[dict[str, Any]]:
    return [
        {
            "exp_labels": told.labels | {"severity": alert.severity},
            "exp_annotations": {
                "summary": told.summary,
                "description": told.description,
                "runbook": f"docs/operations.md#{alert.name.lower()}",
            },
        }
        for told in case.told
        if told.alert == alert.name
    ]


TOLD = alerts(AlertSettings())
CASES = cases()
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
    told = [case for case in CASES if alert.name in {told.alert for told in case.told}]
    rules = [replace(alert, conditions=conditions)]
    assert any("got" in promtool(tmp_path, rules, [case]) for case in (*told, CASES[0]))
