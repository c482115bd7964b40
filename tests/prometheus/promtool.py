"""Runs ``promtool test rules`` over cases, with the generated rules or with rules that a test has changed."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from streams.generate.prometheus import Alert, recording_rules
from tests.prometheus.cases import Case
from tests.prometheus.worlds import MINUTES, healthy

needs_prometheus = pytest.mark.skipif(
    shutil.which("promtool") is None or shutil.which("prometheus") is None,
    reason="needs Prometheus and promtool on the PATH: apt-get install --no-install-recommends prometheus",
)


def promtool(folder: Path, alerts: Sequence[Alert], cases: Sequence[Case]) -> str:
    """What promtool finds wrong; empty if every case fires exactly its alerts."""
    groups = [
        {"name": "recording", "rules": recording_rules()},
        {"name": "alerts", "rules": [alert.rule for alert in alerts]},
    ]
    (folder / "rules.yml").write_text(yaml.safe_dump({"groups": groups}), "utf-8")
    tests = [_test(case, alerts) for case in cases]
    order = [group["name"] for group in groups]
    document = {"rule_files": ["rules.yml"], "evaluation_interval": "1m", "group_eval_order": order, "tests": tests}
    (folder / "tests.yml").write_text(yaml.safe_dump(document), "utf-8")
    done = subprocess.run(["promtool", "test", "rules", "tests.yml"], cwd=folder, capture_output=True, text=True)
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
