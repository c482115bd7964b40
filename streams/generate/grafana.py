"""The Grafana dashboards as JSON, in the order of their links, with the provisioning of their data source.

``templates/dashboards.yaml`` has the content; the JSON is never edited. The data source is a variable, and uids are
fixed, so links to a dashboard stay valid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams.generate.prometheus import refuse_undeclared
from streams.generate.templates import filled, read_data
from streams.topology import HANDLERS
from streams.topology.text import to_json, to_yaml


@dataclass(frozen=True, slots=True)
class Query:
    """An expression and the legend of its series."""

    expression: str
    legend: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A panel.

    Attributes:
        title: Its heading.
        note: The normal picture, and what a change of it means.
        unit: As Grafana names it.
        queries: The expressions.
        form: ``lines``; ``stack``, stacked lines; ``bars``, one for each series, or ``figure``, one number, over the
            whole time range.
        signed: Whether values may be negative.
        objective: A line that values should stay under, in the panel's unit.
    """

    title: str
    note: str
    unit: str
    queries: tuple[Query, ...]
    form: str = "lines"
    signed: bool = False
    objective: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a dashboard: panels under a heading."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """A dashboard; its uid never changes, so links stay good. ``by_handler``: its reader can pick handlers."""

    name: str
    title: str
    note: str
    rows: tuple[Row, ...]
    by_handler: bool = False

    @property
    def uid(self) -> str:
        """Grafana's fixed name of it."""
        return f"assay-{self.name}"

    @property
    def panels(self) -> tuple[Panel, ...]:
        """All panels, row after row."""
        return tuple(panel for row in self.rows for panel in row.panels)


def dashboards() -> tuple[Dashboard, ...]:
    """The dashboards; the first is where Grafana opens."""
    return tuple(
        Dashboard(**{**entry, "rows": tuple(row for declared in entry["rows"] for row in _rows(declared))})
        for entry in read_data("dashboards.yaml")
    )


def _rows(declared: Mapping[str, Any]) -> Iterator[Row]:
    """A row, or with ``for_each`` one for each handler."""
    if "for_each" not in declared:
        yield Row(declared["title"], tuple(_declared_panel(panel) for panel in declared["panels"]))
        return
    for handler in HANDLERS:
        values = {
            "handler": handler.name,
            "lane": handler.lane,
            "topic": handler.consumes.name,
            "slo": handler.slo_seconds,
            "concurrency": handler.concurrency,
        }
        panels = (_declared_panel(filled(panel, values)) for panel in declared["panels"])
        yield Row(filled(declared["title"], values), tuple(panels))


def _declared_panel(entry: Mapping[str, Any]) -> Panel:
    kept = {key: value for key, value in entry.items() if key not in ("expr", "legend", "queries")}
    queries = tuple(Query(query["expr"], query["legend"]) for query in entry.get("queries", [entry]) if "expr" in query)
    return Panel(**kept, queries=queries)


FOLDER = Path("config/generated/grafana")
MOUNTED = "/var/lib/grafana/dashboards"
TAG = "assay"
SOURCE_UID = "assay-prometheus"
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
COLUMNS, HEIGHT, FIGURE_HEIGHT = 24, 8, 4
"""Grafana's grid, and panels on it."""
ABREAST, FIGURES_ABREAST = 3, 6


def grafana() -> dict[Path, str]:
    """The dashboards and their provisioning."""
    provider = {
        "name": "assay",
        "folder": "Assay",
        "type": "file",
        "allowUiUpdates": False,
        "disableDeletion": True,
        "options": {"path": MOUNTED},
    }
    source = {
        "name": "Prometheus",
        "uid": SOURCE_UID,
        "type": "prometheus",
        "access": "proxy",
        "url": "http://prometheus:9090",
        "isDefault": True,
        "editable": False,
        "jsonData": {"timeInterval": "15s"},
    }
    for shown in dashboards():
        for panel in shown.panels:
            for query in panel.queries:
                refuse_undeclared(query.expression, f"dashboard {shown.name}: {panel.title}")
    return {
        **{FOLDER / f"dashboards/{shown.name}.json": to_json(as_json(shown)) for shown in dashboards()},
        FOLDER / "provisioning/dashboards/assay.yml": _provisioning("providers", provider),
        FOLDER / "provisioning/datasources/assay.yml": _provisioning("datasources", source),
    }


def as_json(shown: Dashboard) -> dict[str, Any]:
    """A dashboard as Grafana reads it."""
    return {
        "uid": shown.uid,
        "title": shown.title,
        "description": shown.note,
        "tags": [TAG],
        "schemaVersion": 39,
        "timezone": "browser",
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "editable": False,
        "graphTooltip": 1,  # one cursor over all panels
        "links": [_link(other) for other in dashboards() if other.name != shown.name],
        "templating": {"list": [_source_variable(), *([_handler_variable()] if shown.by_handler else [])]},
        "panels": [{"id": number, **item} for number, item in enumerate(_placed(shown), start=1)],
    }


def _placed(shown: Dashboard) -> Iterator[dict[str, Any]]:
    """Rows and panels with their place on the grid, from the top."""
    top = 0
    for row in shown.rows:
        yield {
            "type": "row",
            "title": row.title,
            "collapsed": False,
            "panels": [],
            "gridPos": {"x": 0, "y": top, "w": COLUMNS, "h": 1},
        }
        top += 1
        figures = all(panel.form == "figure" for panel in row.panels)
        abreast, height = (FIGURES_ABREAST, FIGURE_HEIGHT) if figures else (ABREAST, HEIGHT)
        width = COLUMNS // abreast
        for position, panel in enumerate(row.panels):
            down, across = divmod(position, abreast)
            place = {"x": across * width, "y": top + down * height, "w": width, "h": height}
            yield {**_panel(panel), "gridPos": place}
        top += -(-len(row.panels) // abreast) * height


def _panel(panel: Panel) -> dict[str, Any]:
    defaults: dict[str, Any] = {"unit": panel.unit}
    if not panel.signed:
        defaults["min"] = 0
    latest = {"calcs": ["lastNotNull"]}
    if panel.form == "figure":
        named = any("{{" in query.legend for query in panel.queries)
        options: dict[str, Any] = {"reduceOptions": latest, "colorMode": "none", "graphMode": "area"}
        options["textMode"] = "value_and_name" if named else "value"
        return {"type": "stat", **_shown(panel, defaults), "options": options}
    if panel.form == "bars":
        options = {"orientation": "horizontal", "reduceOptions": latest}
        return {"type": "bargauge", **_shown(panel, defaults), "options": options}
    stacked = panel.form == "stack"
    defaults["custom"] = {
        "fillOpacity": 30 if stacked else 10,
        "stacking": {"mode": "normal" if stacked else "none"},
    }
    if panel.objective is not None:
        steps = [{"color": "green", "value": None}, {"color": "red", "value": panel.objective}]
        defaults["thresholds"] = {"mode": "absolute", "steps": steps}
        defaults["custom"]["thresholdsStyle"] = {"mode": "line"}
    legend = {"displayMode": "list", "placement": "bottom", "showLegend": True}
    return {
        "type": "timeseries",
        **_shown(panel, defaults),
        "options": {"legend": legend, "tooltip": {"mode": "multi", "sort": "desc"}},
    }


def _shown(panel: Panel, defaults: dict[str, Any]) -> dict[str, Any]:
    bars = panel.form == "bars"
    targets = [
        {
            "refId": chr(ord("A") + position),
            "datasource": SOURCE,
            "expr": query.expression,
            "legendFormat": query.legend,
            "instant": bars,
            "range": not bars,
            # Grafana takes cumulative buckets apart for this format, so that a bar is what lies between two bounds.
            "format": "heatmap" if bars and query.legend == "{{le}}" else "time_series",
        }
        for position, query in enumerate(panel.queries)
    ]
    return {
        "title": panel.title,
        "description": panel.note,
        "datasource": SOURCE,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "targets": targets,
    }


def _link(other: Dashboard) -> dict[str, Any]:
    return {
        "type": "link",
        "title": other.title.removeprefix("Assay: ").capitalize(),
        "tooltip": other.note,
        "url": f"/d/{other.uid}",
        "keepTime": True,
        "includeVars": True,
        "targetBlank": False,
        "asDropdown": False,
        "icon": "dashboard",
        "tags": [],
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
