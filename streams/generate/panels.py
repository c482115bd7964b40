"""What a dashboard is made of: panels over declared metrics, in rows.

A panel is declared once, with title, note, unit and expressions. ``streams.generate.grafana`` makes Grafana's JSON from
it, and the tests run each expression on a real Prometheus.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from streams.generate.promql import Aggregate, legend, level, quantile, rate
from streams.telemetry.metrics import MetricDef

PICKED = "~$handler"
"""The handlers that the reader of a dashboard picked."""

Form = Literal["lines", "stack", "bars", "figure"]


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
        form: Lines; stacked lines; one bar for each series, or one number, over the whole time range.
        signed: Whether values may be negative.
        objective: A line that values should stay under, in the panel's unit.
    """

    title: str
    note: str
    unit: str
    queries: tuple[Query, ...]
    form: Form = "lines"
    signed: bool = False
    objective: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of a dashboard: panels under a heading."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """A dashboard.

    Attributes:
        name: Its file's stem; with ``assay-`` before it, its uid, which never changes, so links stay good.
        title: Its heading.
        note: What it is for, in one sentence.
        rows: From the top.
        by_handler: Whether its reader can pick handlers.
    """

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


def single(expression: str, says: str) -> tuple[Query, ...]:
    """The queries of a panel with one."""
    return (Query(expression, says),)


def counted(
    title: str, note: str, metric: MetricDef, *by: str, form: Form = "lines", unit: str = "cps", **where: str
) -> Panel:
    """The rate of a counter, by labels."""
    query = Query(rate(metric, *by, **_picked(metric), **where), legend(by) or title)
    return Panel(title=title, note=note, unit=unit, queries=(query,), form=form)


def gauge(
    title: str, note: str, aggregate: Aggregate, metric: MetricDef, *by: str, unit: str = "short", form: Form = "lines"
) -> Panel:
    """The value of a gauge, by labels."""
    query = Query(level(aggregate, metric, *by, **_picked(metric)), legend(by) or title)
    return Panel(title=title, note=note, unit=unit, queries=(query,), form=form)


def durations(title: str, note: str, metric: MetricDef, *by: str, shares: tuple[float, ...] = (0.99,)) -> Panel:
    """Quantiles of a duration, by labels."""
    queries = tuple(
        Query(quantile(share, metric, *by, **_picked(metric)), f"{legend(by)} {share * 100:.0f} in 100".strip())
        for share in shares
    )
    return Panel(title=title, note=note, unit="s", queries=queries)


def _picked(metric: MetricDef) -> dict[str, str]:
    return {"handler": PICKED} if "handler" in metric.labels else {}
