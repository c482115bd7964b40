"""The Grafana dashboards as JSON, in the order of their links, with the provisioning of their data source.

``templates/dashboards.yaml`` has the content, and ``templates/dashboard.yaml.j2`` the form of the JSON, which is never
edited.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from streams.generate.prometheus import refuse_undeclared
from streams.generate.templates import filled, read_data, rendered
from streams.topology import HANDLERS
from streams.topology.text import to_json, to_yaml

FOLDER = Path("config/generated/grafana")
Declared = dict[str, Any]  # a dashboard, a row, a panel or a query of ``dashboards.yaml``
COLUMNS, HEIGHT, FIGURE_HEIGHT = 24, 8, 4  # Grafana's grid, and panels on it
ABREAST, FIGURES_ABREAST = 3, 6
_SHOWN = re.compile(r"\{\{(\w+)\}\}")  # a label in a legend


@cache
def dashboards() -> tuple[Declared, ...]:
    """The dashboards with their names filled in; the first is where Grafana opens.

    A dashboard's name never changes, so links stay good; with ``by_handler`` its reader can pick handlers. A panel has
    a title, a note (the normal picture, and what a change of it means), a unit as Grafana names it, and ``queries``.
    Its form is ``lines``; ``stack``, stacked lines; ``bars``, one for each series, or ``figure``, one number, over the
    whole time range. ``signed`` values may be negative, and lines should stay under an ``objective``.
    """
    return tuple(
        entry | {"rows": [row for declared in entry["rows"] for row in _rows(declared)]}
        for entry in read_data("dashboards.yaml")
    )


def panels_of(dashboard: Declared) -> list[Declared]:
    return [panel for row in dashboard["rows"] for panel in row["panels"]]


def _rows(declared: Declared) -> Iterator[Declared]:
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
        for panel in row["panels"]:
            panel.setdefault("form", "lines")
            panel.setdefault("queries", [panel])
        yield row


def grafana() -> dict[Path, str]:
    """The dashboards and their provisioning. Raises ValueError if a panel asks for what is not declared."""
    shown = dashboards()
    for dashboard in shown:
        for panel in panels_of(dashboard):
            for query in panel["queries"]:
                place = f"dashboard {dashboard['name']}: {panel['title']}"
                refuse_undeclared(query["expr"], place, _SHOWN.findall(query["legend"]))
    provisioning = read_data("grafana.yaml")
    return {
        **{FOLDER / f"dashboards/{dashboard['name']}.json": to_json(as_json(dashboard)) for dashboard in shown},
        **{FOLDER / "provisioning" / name: to_yaml(content) for name, content in provisioning.items()},
    }


def as_json(shown: Declared) -> dict[str, Any]:
    others = [other for other in dashboards() if other["name"] != shown["name"]]
    [document] = rendered(
        "dashboard.yaml.j2",
        shown=shown,
        others=others,
        handlers=HANDLERS,
        panels=_placed(shown),
        letters=ascii_uppercase,
    )
    return dict(document)


def _placed(shown: Declared) -> Iterator[tuple[Declared, dict[str, int]]]:
    """The rows and panels, each with its place."""
    top = 0
    for row in shown["rows"]:
        yield row | {"form": "row"}, {"x": 0, "y": top, "w": COLUMNS, "h": 1}
        top += 1
        figures = all(panel["form"] == "figure" for panel in row["panels"])
        abreast, height = (FIGURES_ABREAST, FIGURE_HEIGHT) if figures else (ABREAST, HEIGHT)
        width = COLUMNS // abreast
        for position, panel in enumerate(row["panels"]):
            down, across = divmod(position, abreast)
            yield panel, {"x": across * width, "y": top + down * height, "w": width, "h": height}
        top += -(-len(row["panels"]) // abreast) * height
