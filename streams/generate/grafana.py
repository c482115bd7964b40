"""The Grafana dashboards as JSON, in the order of their links, with the provisioning of their data source.

``templates/dashboards.yaml`` has the content, and ``templates/grafana.yaml`` the parts of the JSON, which is never
edited.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from streams.generate.prometheus import refuse_undeclared
from streams.generate.templates import filled, read_data
from streams.topology import HANDLERS
from streams.topology.text import to_json, to_yaml

FOLDER = Path("config/generated/grafana")
COLUMNS, HEIGHT, FIGURE_HEIGHT = 24, 8, 4
"""Grafana's grid, and panels on it."""
ABREAST, FIGURES_ABREAST = 3, 6
_SHOWN = re.compile(r"\{\{(\w+)\}\}")
"""A label in a legend."""


@dataclass(frozen=True, slots=True)
class Query:
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
        return f"assay-{self.name}"

    @property
    def panels(self) -> tuple[Panel, ...]:
        return tuple(panel for row in self.rows for panel in row.panels)


@cache
def dashboards() -> tuple[Dashboard, ...]:
    """The dashboards; the first is where Grafana opens."""
    return tuple(
        Dashboard(**{**entry, "rows": tuple(row for declared in entry["rows"] for row in _rows(declared))})
        for entry in read_data("dashboards.yaml")
    )


def _rows(declared: Mapping[str, Any]) -> Iterator[Row]:
    of_handlers = (
        {
            "handler": handler.name,
            "lane": handler.lane,
            "topic": handler.consumes.name,
            "slo": handler.slo_seconds,
            "concurrency": handler.concurrency,
        }
        for handler in HANDLERS
    )
    for values in of_handlers if "for_each" in declared else [{}]:
        row = filled(declared, values)
        yield Row(row["title"], tuple(map(_declared_panel, row["panels"])))


def _declared_panel(entry: Mapping[str, Any]) -> Panel:
    kept = {key: value for key, value in entry.items() if key not in ("expr", "legend", "queries")}
    queries = tuple(Query(query["expr"], query["legend"]) for query in entry.get("queries", [entry]))
    return Panel(**kept, queries=queries)


def grafana() -> dict[Path, str]:
    """The dashboards and their provisioning. Raises ValueError if a panel asks for what is not declared."""
    shown = dashboards()
    for dashboard in shown:
        for panel in dashboard.panels:
            for query in panel.queries:
                place = f"dashboard {dashboard.name}: {panel.title}"
                refuse_undeclared(query.expression, place, _SHOWN.findall(query.legend))
    provisioning = read_data("grafana.yaml")["provisioning"]
    return {
        **{FOLDER / f"dashboards/{dashboard.name}.json": to_json(as_json(dashboard)) for dashboard in shown},
        **{FOLDER / "provisioning" / name: to_yaml(content) for name, content in provisioning.items()},
    }


def as_json(shown: Dashboard) -> dict[str, Any]:
    variables = filled(
        read_data("grafana.yaml")["variables"], {"handlers": ",".join(handler.name for handler in HANDLERS)}
    )
    return _part(
        "dashboard",
        uid=shown.uid,
        title=shown.title,
        note=shown.note,
        links=[_link(other) for other in dashboards() if other.name != shown.name],
        variables=variables if shown.by_handler else variables[:1],
        panels=[{"id": number, **panel} for number, panel in enumerate(_placed(shown), start=1)],
    )


def _part(name: str, **values: Any) -> dict[str, Any]:
    return dict(filled(read_data("grafana.yaml")[name], values))


def _link(other: Dashboard) -> dict[str, Any]:
    return _part("link", uid=other.uid, title=other.title.removeprefix("Assay: ").capitalize(), note=other.note)


def _placed(shown: Dashboard) -> Iterator[dict[str, Any]]:
    """Rows and panels with their place on the grid, from the top."""
    top = 0
    for row in shown.rows:
        yield {**_part("row", title=row.title), "gridPos": {"x": 0, "y": top, "w": COLUMNS, "h": 1}}
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
    named = any("{{" in query.legend for query in panel.queries)
    form = filled(
        read_data("grafana.yaml")["forms"][panel.form if panel.objective is None else "objective"],
        {"objective": panel.objective, "text_mode": "value_and_name" if named else "value"},
    )
    least = {} if panel.signed else {"min": 0}
    return _part(
        "panel",
        type=form["type"],
        title=panel.title,
        note=panel.note,
        defaults={"unit": panel.unit, **least, **form["defaults"]},
        targets=[_target(panel, letter, query) for letter, query in zip(ascii_uppercase, panel.queries, strict=False)],
        options=form["options"],
    )


def _target(panel: Panel, letter: str, query: Query) -> dict[str, Any]:
    bars = panel.form == "bars"
    # Grafana takes cumulative buckets apart for this format, so that a bar is what lies between two bounds.
    by_bucket = bars and query.legend == "{{le}}"
    return _part(
        "target",
        letter=letter,
        expr=query.expression,
        legend=query.legend,
        instant=bars,
        range=not bars,
        format="heatmap" if by_bucket else "time_series",
    )
