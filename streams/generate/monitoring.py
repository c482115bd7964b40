"""The files of Prometheus and Grafana: scraping, alerts and recording rules, and the dashboards as JSON.

``templates/rules.yaml`` has the rules. Thresholds come from the section ``alerts`` of the configuration and from the
objectives of the topology. Alerts cover live traffic only, not replays and backfills. ``templates/dashboards.yaml`` has
the content of the dashboards, and ``templates/dashboard.yaml.j2`` the form of their JSON, which is never edited.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from streams.generate.templates import HTTP_PORT, filled, read_data, rendered, service_name
from streams.settings.model import PipelineSettings
from streams.telemetry.metrics import METRICS
from streams.telemetry.settings import AlertSettings
from streams.topology import HANDLERS
from streams.topology.text import to_json, to_yaml

PROMETHEUS = Path("config/generated/prometheus")
_RULES = "rules.yaml"
_STALL_LASTS_SECONDS = 120  # how long a stall lasts before its alert fires (``for`` of AssayHandlerStalled)
_SERIES = re.compile(r"(?<![\w:])((?:\w+:)?assay_\w+(?::\w+)?)(?:\{([^}]*)\})?")
_MATCHED = re.compile(r"(\w+) *(?:!=|=~|!~|=)")
_GROUPED = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right) *\(([^)]*)\)")
_ANNOTATED = re.compile(r"\$labels\.(\w+)")
_OF_TARGETS = frozenset({"job", "instance", "service"})  # labels that Prometheus adds to every series when it scrapes


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of an alert: ``when`` compared by ``holds``, but not for handlers with a series of ``unless``."""

    when: str
    holds: str
    unless: str = ""

    @property
    def expression(self) -> str:
        condition = f"{self.when} {self.holds}"
        return f"({condition}\n  unless on (handler) {self.unless})" if self.unless else condition


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """An alert; ``page`` needs an operator now, ``ticket`` can wait. One of the conditions is enough."""

    name: str
    severity: str
    lasting: str
    conditions: tuple[Condition, ...]
    summary: str
    description: str

    @property
    def expression(self) -> str:
        return "\nor ".join(condition.expression for condition in self.conditions)

    @property
    def rule(self) -> dict[str, Any]:
        runbook = f"docs/operations.md#{self.name.lower()}"
        return {
            "alert": self.name,
            "expr": self.expression,
            "for": self.lasting,
            "labels": {"severity": self.severity},
            "annotations": {"summary": self.summary, "description": self.description, "runbook": runbook},
        }


def services(not_run: tuple[str, ...] = ()) -> tuple[str, ...]:
    return tuple(dict.fromkeys(service_name(handler) for handler in HANDLERS if handler.name not in not_run))


def alerts(settings: AlertSettings) -> tuple[Alert, ...]:
    not_run = f'handler!~"{"|".join(settings.not_run)}"' if settings.not_run else ""
    values: dict[str, Any] = {
        name: value if isinstance(value, str) else f"{value:g}"
        for name, value in settings.model_dump(exclude={"not_run"}).items()
    }
    values |= {"deployed": f"{not_run}, " if not_run else "", "only_deployed": f"{{{not_run}}}" if not_run else ""}
    return tuple(
        Alert(
            name=entry["alert"],
            severity=entry["severity"],
            lasting=entry["for"],
            conditions=tuple(
                Condition(found["when"], found["is"], found.get("unless", ""))
                for condition in entry["any"]
                for found in _filled_entries(condition, values, settings.not_run)
            ),
            summary=entry["summary"],
            description=entry["description"],
        )
        for entry in read_data(_RULES)["alerts"]
    )


def recording_rules() -> list[dict[str, Any]]:
    return [rule for entry in read_data(_RULES)["recording"] for rule in _filled_entries(entry, {})]


def scraping() -> dict[str, Any]:
    """``prometheus.yml``; a service with several replicas answers the name look-up with each of them."""
    return dict(filled(read_data(_RULES)["scraping"], {"services": list(services()), "port": HTTP_PORT}))


def prometheus(document: dict[str, Any]) -> dict[Path, str]:
    """The scrape configuration and the rules, by path in the checkout.

    Raises ValueError if a threshold of the configuration is invalid, if a rule asks for what is not declared, or if a
    stalled worker would end itself before the alert fires.
    """
    settings = AlertSettings.model_validate(document.get("alerts", {}))
    pipeline = PipelineSettings.model_validate(document.get("pipeline", {}))
    if settings.stalled_seconds + _STALL_LASTS_SECONDS >= pipeline.stalled_seconds:
        raise ValueError(
            f"alerts.stalled_seconds has to be at least {_STALL_LASTS_SECONDS} s below pipeline.stalled_seconds"
            f" ({pipeline.stalled_seconds:g} s), when a worker ends itself; it is {settings.stalled_seconds} s"
        )
    groups = {
        "recording.yml": ("assay-recording", recording_rules()),
        "alerts.yml": ("assay", [alert.rule for alert in alerts(settings)]),
    }
    for name, rules in groups.values():
        for rule in rules:
            annotations = " ".join(rule.get("annotations", {}).values())
            place = f"{name}: {rule.get('alert') or rule.get('record')}"
            refuse_undeclared(rule["expr"], place, _ANNOTATED.findall(annotations))
    return {
        PROMETHEUS / "prometheus.yml": to_yaml(scraping()),
        **{
            PROMETHEUS / file: to_yaml({"groups": [{"name": name, "rules": rules}]})
            for file, (name, rules) in groups.items()
        },
    }


def refuse_undeclared(expression: str, place: str, shown: Iterable[str] = ()) -> None:
    """Raises ValueError if a series or a label of an expression is not that of a declared metric or recording rule.

    ``place`` is for the error; ``shown`` are labels of the result that a legend or an annotation shows.
    """
    declared, known = _declared_series(), set(_OF_TARGETS)
    for name, selector in _SERIES.findall(expression):
        if name not in declared:
            raise ValueError(f"{place}: no metric {name} is declared")
        if unknown := set(_MATCHED.findall(selector)) - declared[name] - _OF_TARGETS:
            raise ValueError(f"{place}: {name} has no label {', '.join(sorted(unknown))}")
        known |= declared[name]
    grouped = {label.strip() for labels in _GROUPED.findall(expression) for label in labels.split(",") if label.strip()}
    if unknown := {*grouped, *shown} - known:
        raise ValueError(f"{place}: no metric of the expression has the label {', '.join(sorted(unknown))}")


@cache
def _declared_series() -> dict[str, frozenset[str]]:
    """The labels of each series that can be asked for, by name. The name of a recording rule begins with its labels."""
    series = {
        entry["record"]: frozenset({entry["record"].partition(":")[0]}) for entry in read_data(_RULES)["recording"]
    }
    for metric in METRICS:
        labels = frozenset(metric.labels)
        if metric.kind == "histogram":
            series |= {f"{metric.name}_sum": labels, f"{metric.name}_count": labels}
            series[f"{metric.name}_bucket"] = labels | {"le"}
        else:
            series[metric.name] = labels
    return series


def _filled_entries(
    entry: Mapping[str, Any], values: Mapping[str, Any], not_run: tuple[str, ...] = ()
) -> Iterator[dict[str, Any]]:
    """An entry with its names filled in: once, or for each handler or worker service."""
    of_each: dict[str, list[dict[str, Any]]] = {
        "": [{}],
        "handler": [{"handler": handler.name, "slo": float(handler.slo_seconds)} for handler in HANDLERS],
        "service": [{"service": service} for service in services(not_run)],
    }
    for own in of_each[entry.get("for_each", "")]:
        yield filled(entry, {**values, **own})


GRAFANA = Path("config/generated/grafana")
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
        **{GRAFANA / f"dashboards/{dashboard['name']}.json": to_json(as_json(dashboard)) for dashboard in shown},
        **{GRAFANA / "provisioning" / name: to_yaml(content) for name, content in provisioning.items()},
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
