"""The scrape configuration and the recording rules, checked by reading them."""

import re

import yaml

from streams.generate.alerts import AGE_P99, IN_TIME, LATE, TIER_SHARE, recording_rules
from streams.generate.compose_workers import HTTP_PORT
from streams.generate.promql import LAG_READER, WORKERS, scraping, services
from streams.telemetry.metrics import AGE_BUCKETS
from streams.topology import HANDLERS
from tests.samples import ROOT


def test_every_service_of_workers_is_scraped() -> None:
    workers = yaml.safe_load((ROOT / "config/generated/compose.workers.yml").read_text("utf-8"))["services"]
    jobs = {job["job_name"]: job for job in scraping([])["scrape_configs"]}
    look_up = jobs[WORKERS]["dns_sd_configs"][0]
    assert tuple(look_up["names"]) == services()
    assert set(services()) == set(workers)
    assert look_up["port"] == HTTP_PORT
    assert LAG_READER in jobs


def test_the_rules_that_are_named_are_there() -> None:
    folder = ROOT / "config/generated/prometheus"
    named = yaml.safe_load((folder / "prometheus.yml").read_text("utf-8"))["rule_files"]
    assert {path.name for path in folder.iterdir()} == {*named, "prometheus.yml"}


def test_every_objective_is_a_bound_of_the_age_histogram() -> None:
    """Otherwise the share within the objective could not be told from the buckets."""
    assert {float(handler.slo_seconds) for handler in HANDLERS} <= set(AGE_BUCKETS)


def test_each_handler_has_its_own_objective() -> None:
    rules = recording_rules()
    assert {rule["record"] for rule in rules} == {AGE_P99, IN_TIME, LATE, TIER_SHARE}
    for name in (IN_TIME, LATE):
        held = {rule["labels"]["handler"]: rule["expr"] for rule in rules if rule["record"] == name}
        assert list(held) == [handler.name for handler in HANDLERS]
        for handler in HANDLERS:
            assert re.findall(r'handler="(\w+)"', held[handler.name]) == [handler.name] * 2
            assert f'le="{float(handler.slo_seconds)}"' in held[handler.name]
