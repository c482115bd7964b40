"""The configuration of Prometheus: scraping, recording rules and alerts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streams.generate.alerts import STALL_LASTS_SECONDS, Alert, alerts, recording_rules
from streams.generate.promql import scraping
from streams.generate.text import to_yaml
from streams.settings import PipelineSettings
from streams.telemetry.settings import AlertSettings

FOLDER = Path("config/generated/prometheus")
RECORDING, ALERTS = "recording.yml", "alerts.yml"


def prometheus(document: dict[str, Any]) -> dict[Path, str]:
    """The scrape configuration and the rules, by path in the checkout.

    Args:
        document: The configuration; its section ``alerts`` has the thresholds.

    Raises:
        pydantic.ValidationError: A threshold is invalid.
        ValueError: A stalled worker would end itself before the alert fires.
    """
    settings = AlertSettings.model_validate(document.get("alerts", {}))
    _check_stall(settings, PipelineSettings.model_validate(document.get("pipeline", {})))
    return {
        FOLDER / "prometheus.yml": to_yaml(scraping([RECORDING, ALERTS])),
        FOLDER / RECORDING: to_yaml(_group("assay-recording", recording_rules())),
        FOLDER / ALERTS: to_yaml(_group("assay", [alert_rule(alert) for alert in alerts(settings)])),
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


def _check_stall(settings: AlertSettings, pipeline: PipelineSettings) -> None:
    if settings.stalled_seconds + STALL_LASTS_SECONDS >= pipeline.stalled_seconds:
        raise ValueError(
            f"alerts.stalled_seconds has to be at least {STALL_LASTS_SECONDS} s below pipeline.stalled_seconds"
            f" ({pipeline.stalled_seconds:g} s), when a worker ends itself; it is {settings.stalled_seconds} s"
        )


def _group(name: str, rules: list[dict[str, Any]]) -> dict[str, Any]:
    return {"groups": [{"name": name, "rules": rules}]}
