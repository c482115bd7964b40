"""The dashboards, checked by reading them; tests/prometheus queries a real Prometheus."""

import re
from pathlib import Path

import pytest
import yaml

from streams.generate.monitoring import GRAFANA, Declared, as_json, dashboards, grafana, panels_of
from streams.telemetry.metrics import METRICS
from streams.topology import HANDLERS
from tests.samples import ROOT

SHOWN = dashboards()
EACH = pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown["name"])


def test_every_metric_is_shown() -> None:
    asked = " ".join(query["expr"] for shown in SHOWN for panel in panels_of(shown) for query in panel["queries"])
    assert {metric.name for metric in METRICS if metric.name not in asked} == set()


def test_every_handler_has_a_row_of_its_own_with_its_objective() -> None:
    rows = SHOWN[1]["rows"]
    assert [row["title"].split(" · ")[0] for row in rows] == [handler.name for handler in HANDLERS]
    for row, handler in zip(rows, HANDLERS, strict=True):
        assert [panel["objective"] for panel in row["panels"] if "objective" in panel] == [handler.slo_seconds]
        for panel in row["panels"]:
            assert all(f'handler="{handler.name}"' in query["expr"] for query in panel["queries"])


@EACH
def test_live_traffic_and_replays_are_apart(shown: Declared) -> None:
    for panel in panels_of(shown):
        for query in panel["queries"]:
            for name, selector in re.findall(r"(?<!:)(assay_[a-z_]+)(\{[^}]*\})?", query["expr"]):
                live = 'lane="live"' in selector or 'job!="assay-replay"' in selector
                assert live == (shown["name"] != "replays" and not re.match("assay_(group|topic)_", name))


def test_provisioning_points_at_what_the_composition_mounts() -> None:
    provisioning = ROOT / GRAFANA / "provisioning"
    provider = yaml.safe_load((provisioning / "dashboards/assay.yml").read_text("utf-8"))["providers"][0]
    source = yaml.safe_load((provisioning / "datasources/assay.yml").read_text("utf-8"))["datasources"][0]
    composition = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))["services"]
    folder = provider["options"]["path"]
    assert f"./{GRAFANA}/dashboards:{folder}:ro" in composition["grafana"]["volumes"]
    assert provider["allowUiUpdates"] is False
    home = Path(composition["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
    assert home.parent == Path(folder)
    assert GRAFANA / "dashboards" / home.name in grafana()
    assert source["url"] == "http://prometheus:9090"
    assert source["uid"] == as_json(SHOWN[0])["templating"]["list"][0]["current"]["value"]
    assert "prometheus" in composition
