"""What Prometheus scrapes, what it computes ahead, and what it tells somebody of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streams.generate.alerts import Alert, alerts
from streams.generate.documents import to_yaml
from streams.generate.recording import recording_rules
from streams.generate.scraping import scraping
from streams.telemetry.alert_settings import AlertSettings

FOLDER = Path("config/generated/prometheus")
RECORDING, ALERTS = "recording.yml", "alerts.yml"


def prometheus(document: dict[str, Any]) -> dict[Path, str]:
    """The scrape configuration and the rules.

    Args:
        document: The configuration; its section ``alerts`` has the thresholds.

    Returns:
        Content by path in the checkout.

    Raises:
        pydantic.ValidationError: A threshold can't be used.
    """
    told = alerts(AlertSettings.model_validate(document.get("alerts", {})))
    return {
        FOLDER / "prometheus.yml": to_yaml(scraping([RECORDING, ALERTS])),
        FOLDER / RECORDING: to_yaml(_group("assay-recording", recording_rules())),
        FOLDER / ALERTS: to_yaml(_group("assay", [alert_rule(alert) for alert in told])),
    }


def alert_rule(alert: Alert) -> dict[str, Any]:
    """An alert as Prometheus reads it."""
    return {
        "alert": alert.name,
        "expr": alert.expression,
        "for": alert.lasting,
        "labels": {"severity": alert.severity},
        "annotations": {"summary": alert.summary, "description": alert.description, "runbook": alert.runbook},
    }


def _group(name: str, rules: list[dict[str, Any]]) -> dict[str, Any]:
    return {"groups": [{"name": name, "rules": rules}]}
