"""All dashboards, in the order of their links."""

from __future__ import annotations

from streams.generate.dashboards.decisions import results, trust
from streams.generate.dashboards.flow import handlers, overview
from streams.generate.dashboards.outside import fetching, models
from streams.generate.dashboards.queries import queries
from streams.generate.dashboards.replays import replays
from streams.generate.panels import Dashboard


def dashboards() -> tuple[Dashboard, ...]:
    """The dashboards; the first is where Grafana opens."""
    return overview(), handlers(), trust(), results(), queries(), models(), fetching(), replays()
