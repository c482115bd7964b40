"""``assay capacity`` and the forecast behind it."""

import json
from math import isclose
from pathlib import Path
from typing import Any

import pytest

from streams.capacity.costs import Costs, read_costs
from streams.capacity.forecast import UTILISATION, Load, Setup, forecast
from streams.cli.commands import run_command_line
from streams.generate.capacity_tables import BEGIN, PAGE, capacity_page
from streams.runtime.settings_files import SettingsError, read_document
from streams.settings.model import load_settings
from streams.topology import HANDLERS, TOPICS, handler_named
from tests.samples import ROOT

COSTS = read_costs(ROOT / "config")


def load(pages: float = 1e6, **more: float) -> Load:
    return Load(pages=pages, page_bytes=COSTS.page_bytes, **more)  # type: ignore[arg-type]


def setup(**sections: Any) -> Setup:
    return Setup.of(load_settings(**sections))


def test_costs_name_handlers_and_topics_of_the_topology() -> None:
    assert set(COSTS.handlers) == {handler.name for handler in HANDLERS}
    assert set(COSTS.models) == {handler.name for handler in HANDLERS if handler.asks_models}
    assert set(COSTS.topics) <= {topic.name for topic in TOPICS}


def test_every_kind_of_input_has_a_forecast() -> None:
    found = forecast(load(batches=10, sources=10, claims=10, queries=10), COSTS, setup())
    assert {its.handler for its in found.handlers} == {handler.name for handler in HANDLERS} - {"request_snippets"}
    assert {asked.handler for asked in found.models} == set(COSTS.models)


def test_needs_are_linear_in_the_load() -> None:
    small, large = (forecast(load(pages), COSTS, setup()) for pages in (1e6, 1e9))
    for name in ("cpu_seconds", "broker_cores", "kafka_bytes", "kafka_bytes_a_second", "index_points", "index_bytes"):
        assert isclose(getattr(large, name), 1000 * getattr(small, name), rel_tol=1e-6)


def test_replicas_have_room_at_the_peak_and_partitions_for_each() -> None:
    found = forecast(load(1e8, peak=3), COSTS, setup())
    for its in found.handlers:
        assert its.cores / its.replicas <= UTILISATION
        assert its.cores / (its.replicas - 1) > UTILISATION
        handler = handler_named(its.handler)
        assert handler is not None
        assert its.partitions >= its.replicas
        assert its.partitions % handler.consumes.partitions == 0


def test_a_backlog_is_worked_off_by_what_the_load_leaves() -> None:
    found = forecast(load(1e8, peak=2, outage_hours=2, burst=10, burst_hours=3), COSTS, setup())
    scoring = found.handlers[0]
    average = scoring.inputs / 86_400
    most = scoring.replicas / (scoring.cpu_seconds / scoring.inputs)
    assert scoring.outage_catch_up_hours is not None
    assert scoring.burst_catch_up_hours is not None
    assert isclose((most - average) * scoring.outage_catch_up_hours, 2 * average)
    assert isclose((most - average) * scoring.burst_catch_up_hours, 3 * (10 * average - most))
    # A burst below what the replicas can do leaves no backlog.
    assert forecast(load(1e8, burst=2), COSTS, setup()).handlers[0].burst_catch_up_hours == 0


def test_limits_of_a_model_bound_what_can_be_caught_up() -> None:
    limits = {"requests_per_minute": 600, "tokens_per_minute": 10**9}
    models = setup(models={"limits": {"default": limits}})
    # Its share is a sixth of nine tenths, 90 a minute: 129,600 a day.
    [claims, _] = forecast(load(0, claims=64_800), COSTS, models).handlers
    assert claims.outage_catch_up_hours is not None
    assert isclose(claims.outage_catch_up_hours, 2, rel_tol=1e-6)
    [claims, _] = forecast(load(0, claims=130_000), COSTS, models).handlers
    assert (claims.outage_catch_up_hours, claims.burst_catch_up_hours) == (None, None)


def test_larger_pages_cost_more() -> None:
    small, large = (forecast(Load(pages=1e6, page_bytes=size), COSTS, setup()) for size in (50_000, 500_000))
    assert large.handlers[0].cpu_seconds > 2 * small.handlers[0].cpu_seconds
    assert large.kafka_bytes > 2 * small.kafka_bytes


def test_copies_of_topics_are_those_of_the_settings() -> None:
    one, three = (forecast(load(), COSTS, setup(kafka={"replication_factor": copies})) for copies in (1, 3))
    assert isclose(three.kafka_bytes, 3 * one.kafka_bytes)


def test_money_and_limits_are_those_of_the_model() -> None:
    limits = {"price_in": 1.0, "price_out": 4.0, "requests_per_minute": 1000, "tokens_per_minute": 10_000_000}
    priced = setup(models={"limits": {"default": limits}})
    found = forecast(load(0, claims=100_000), COSTS, priced)
    [asked] = found.models
    cost = COSTS.models["decontextualize_claim"]
    assert found.usd is not None
    assert isclose(found.usd, 100_000 * (cost.tokens_in + 4 * cost.tokens_out) / 1e6)
    # Its share is a sixth of nine tenths, 150 a minute; it needs 139.
    assert asked.within_limits
    [more] = forecast(load(0, claims=120_000), COSTS, priced).models
    assert not more.within_limits
    assert forecast(load(0, claims=1), COSTS, setup()).usd is None


def test_the_command_prints_tables_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["capacity", "--pages", "1e9", "--claims", "1000"]) == 0
    shown = capsys.readouterr().out
    assert "1,000,000,000" in shown
    assert "cores of workers" in shown
    assert run_command_line(["capacity", "--pages", "1e9", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["handlers"][0]["handler"] == "score_page"
    assert document["cores"] == sum(its["replicas"] for its in document["handlers"])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--pages", "2e9"], "--pages takes a number from 0 to 1,000,000,000"),
        (["--pages", "0"], "has to be above 0"),
        (["--peak", "0.5"], "--peak takes a number of at least 1"),
        (["--burst", "-1"], "--burst takes a number of at least 0"),
        (["--mix", "1/2"], "--mix takes three percentages"),
        (["--pages", "nan"], "--pages takes a number"),
    ],
)
def test_wrong_options_are_refused(options: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["capacity", *options]) == 2
    assert told in capsys.readouterr().err


def test_costs_of_your_own_are_checked(tmp_path: Path) -> None:
    text = "page_bytes: -1\nhandlers: {score_page: {milliseconds: 0}}\n"
    (tmp_path / "costs.yaml").write_text(text, "utf-8")
    with pytest.raises(SettingsError) as refused:
        read_costs(tmp_path)
    assert "page_bytes" in str(refused.value)
    assert "score_page.milliseconds" in str(refused.value)


def test_the_tables_of_the_page_follow_the_costs(tmp_path: Path) -> None:
    document = read_document(ROOT / "config")
    (tmp_path / "config").mkdir()
    (tmp_path / "docs").mkdir()
    text = (ROOT / "config/costs.yaml").read_text("utf-8")
    assert isinstance(COSTS, Costs)
    (tmp_path / "config/costs.yaml").write_text(text.replace("worker_megabytes: ", "worker_megabytes: 1"), "utf-8")
    page = (ROOT / PAGE).read_text("utf-8")
    (tmp_path / PAGE).write_text(page, "utf-8")
    changed = capacity_page(tmp_path, document)[PAGE]
    assert changed != page
    assert changed.partition(BEGIN)[0] == page.partition(BEGIN)[0]
    (tmp_path / PAGE).write_text("no marks", "utf-8")
    with pytest.raises(ValueError, match="marks"):
        capacity_page(tmp_path, document)
    (tmp_path / PAGE).unlink()
    assert capacity_page(tmp_path, document) == {}
