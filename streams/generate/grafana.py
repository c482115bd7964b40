"""The Grafana dashboard as JSON, and what provisions it and its data source.

Nobody edits the JSON by hand: ``streams.generate.panels`` says what is shown. The data source is a variable, and the
uid is fixed, so links to the dashboard stay good.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from streams.generate.documents import to_json, to_yaml
from streams.generate.panels import Panel, rows
from streams.topology import HANDLERS

FOLDER = Path("config/generated/grafana")
UID = "assay-overview"
SOURCE_UID = "assay-prometheus"
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH, HEIGHT, ABREAST = 8, 8, 3
"""Of a panel, on Grafana's grid of 24 columns."""


def grafana() -> dict[Path, str]:
    """The dashboard and its provisioning."""
    provider = {
        "name": "assay",
        "type": "file",
        "allowUiUpdates": False,
        "options": {"path": "/var/lib/grafana/dashboards"},
    }
    source = {
        "name": "Prometheus",
        "uid": SOURCE_UID,
        "type": "prometheus",
        "access": "proxy",
        "url": "http://prometheus:9090",
        "isDefault": True,
        "editable": False,
    }
    return {
        FOLDER / "dashboards/assay.json": to_json(dashboard()),
        FOLDER / "provisioning/dashboards/assay.yml": _provisioning("providers", provider),
        FOLDER / "provisioning/datasources/assay.yml": _provisioning("datasources", source),
    }


def dashboard() -> dict[str, Any]:
    """The dashboard as Grafana reads it."""
    return {
        "uid": UID,
        "title": "Assay",
        "tags": ["assay"],
        "schemaVersion": 39,
        "timezone": "browser",
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "editable": False,
        "templating": {"list": [_source_variable(), _handler_variable()]},
        "panels": [{"id": number, **item} for number, item in enumerate(_placed(), start=1)],
    }


def _placed() -> Iterator[dict[str, Any]]:
    """Rows and panels with their place on the grid, from the top."""
    top = 0
    for title, panels in rows():
        yield {
            "type": "row",
            "title": title,
            "collapsed": False,
            "panels": [],
            "gridPos": {"x": 0, "y": top, "w": WIDTH * ABREAST, "h": 1},
        }
        top += 1
        for position, panel in enumerate(panels):
            down, across = divmod(position, ABREAST)
            place = {"x": across * WIDTH, "y": top + down * HEIGHT, "w": WIDTH, "h": HEIGHT}
            yield {**_panel(panel), "gridPos": place}
        top += -(-len(panels) // ABREAST) * HEIGHT


def _panel(panel: Panel) -> dict[str, Any]:
    defaults: dict[str, Any] = {"unit": panel.unit}
    if not panel.signed:
        defaults["min"] = 0
    if panel.form == "bars":
        return {
            "type": "bargauge",
            **_shown(panel, defaults),
            "options": {"orientation": "horizontal", "reduceOptions": {"calcs": ["lastNotNull"]}},
        }
    stacked = panel.form == "stack"
    defaults["custom"] = {
        "fillOpacity": 30 if stacked else 10,
        "stacking": {"mode": "normal" if stacked else "none"},
    }
    return {
        "type": "timeseries",
        **_shown(panel, defaults),
        "options": {"legend": {"displayMode": "list", "placement": "bottom", "showLegend": True}},
    }


def _shown(panel: Panel, defaults: dict[str, Any]) -> dict[str, Any]:
    bars = panel.form == "bars"
    targets = [
        {
            "refId": chr(ord("A") + position),
            "datasource": SOURCE,
            "expr": expression,
            "legendFormat": legend,
            "instant": bars,
            "range": not bars,
            # Grafana takes cumulative buckets apart for this format, so that a bar is what lies between two bounds.
            "format": "heatmap" if bars else "time_series",
        }
        for position, (expression, legend) in enumerate(panel.queries)
    ]
    return {
        "title": panel.title,
        "datasource": SOURCE,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "targets": targets,
    }


def _source_variable() -> dict[str, Any]:
    return {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "current": {"text": "Prometheus", "value": SOURCE_UID},
    }


def _handler_variable() -> dict[str, Any]:
    return {
        "name": "handler",
        "label": "Handler",
        "type": "custom",
        "query": ",".join(handler.name for handler in HANDLERS),
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def _provisioning(key: str, entry: dict[str, Any]) -> str:
    return to_yaml({"apiVersion": 1, key: [entry]})
