"""The dashboards, checked by reading them; tests/prometheus queries a real Prometheus."""

import re
from pathlib import Path

import pytest
import yaml

from streams.generate.grafana import FOLDER, Dashboard, as_json, dashboards, grafana
from streams.telemetry.metrics import METRICS
from streams.topology import HANDLERS
from tests.samples import ROOT

SHOWN = dashboards()
EACH = pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown.name)


def test_every_metric_is_shown() -> None:
    asked = " ".join(query.expression for shown in SHOWN for panel in shown.panels for query in panel.queries)
    assert {metric.name for metric in METRICS if metric.name not in asked} == set()


def test_every_handler_has_a_row_of_its_own_with_its_objective() -> None:
    rows = SHOWN[1].rows
    assert [row.title.split(" · ")[0] for row in rows] == [handler.name for handler in HANDLERS]
    for row, handler in zip(rows, HANDLERS, strict=True):
        assert [panel.objective for panel in row.panels if panel.objective] == [handler.slo_seconds]
        for panel in row.panels:
            assert all(f'handler="{handler.name}"' in query.expression for query in panel.queries)


@EACH
def test_a_panel_says_what_is_seen_and_is_declared_once(shown: Dashboard) -> None:
    for row in shown.rows:
        titles = [panel.title for panel in row.panels]
        assert len(set(titles)) == len(titles)
    for panel in shown.panels:
        assert panel.note.endswith(".")
        assert panel.queries
        assert len({query.legend for query in panel.queries}) == len(panel.queries)
        assert all(query.legend.strip() == query.legend != "" for query in panel.queries)


@EACH
def test_live_traffic_and_replays_are_apart(shown: Dashboard) -> None:
    for panel in shown.panels:
        for query in panel.queries:
            for name, selector in re.findall(r"(?<!:)(assay_[a-z_]+)(\{[^}]*\})?", query.expression):
                live = 'lane="live"' in selector or 'job!="assay-replay"' in selector
                assert live == (shown.name != "replays" and not re.match("assay_(group|topic)_", name))


@EACH
def test_panels_lie_beside_each_other(shown: Dashboard) -> None:
    content = as_json(shown)
    identities = [panel["id"] for panel in content["panels"]]
    assert identities == sorted(set(identities))
    taken: set[tuple[int, int]] = set()
    for panel in content["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {(place["x"] + i, place["y"] + j) for i in range(place["w"]) for j in range(place["h"])}
        assert not cells & taken
        taken |= cells
        for target in panel.get("targets", ()):
            assert target["datasource"]["uid"] == "${datasource}"


@EACH
def test_a_dashboard_leads_to_all_others_and_knows_its_variables(shown: Dashboard) -> None:
    content = as_json(shown)
    assert content["uid"] == f"assay-{shown.name}"
    assert content["editable"] is False
    assert {link["url"] for link in content["links"]} == {f"/d/{other.uid}" for other in SHOWN if other is not shown}
    variables = {variable["name"] for variable in content["templating"]["list"]}
    asked = " ".join(query.expression for panel in shown.panels for query in panel.queries)
    used = set(re.findall(r"\$(\w+)", asked)) - {"__rate_interval", "__range"}
    assert variables == used | {"datasource"}


def test_provisioning_points_at_what_the_composition_mounts() -> None:
    provisioning = ROOT / FOLDER / "provisioning"
    provider = yaml.safe_load((provisioning / "dashboards/assay.yml").read_text("utf-8"))["providers"][0]
    source = yaml.safe_load((provisioning / "datasources/assay.yml").read_text("utf-8"))["datasources"][0]
    composition = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))["services"]
    folder = provider["options"]["path"]
    assert f"./{FOLDER}/dashboards:{folder}:ro" in composition["grafana"]["volumes"]
    assert provider["allowUiUpdates"] is False
    home = Path(composition["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
    assert home.parent == Path(folder)
    assert FOLDER / "dashboards" / home.name in grafana()
    assert source["url"] == "http://prometheus:9090"
    assert source["uid"] == as_json(SHOWN[0])["templating"]["list"][0]["current"]["value"]
    assert "prometheus" in composition
