"""The dashboards, checked by reading them; tests/prometheus queries a real Prometheus."""

import re

import pytest

from streams.generate.monitoring import Declared, dashboards, panels_of
from streams.telemetry.metrics import METRICS

SHOWN = dashboards()
EACH = pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown["name"])


def test_every_metric_is_shown() -> None:
    asked = " ".join(query["expr"] for shown in SHOWN for panel in panels_of(shown) for query in panel["queries"])
    assert {metric.name for metric in METRICS if metric.name not in asked} == set()


@EACH
def test_live_traffic_and_replays_are_apart(shown: Declared) -> None:
    for panel in panels_of(shown):
        for query in panel["queries"]:
            for name, selector in re.findall(r"(?<!:)(assay_[a-z_]+)(\{[^}]*\})?", query["expr"]):
                live = 'lane="live"' in selector or 'job!="assay-replay"' in selector
                assert live == (shown["name"] != "replays" and not re.match("assay_(group|topic)_", name))
