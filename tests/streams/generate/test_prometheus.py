"""The scrape configuration and the recording rules, checked by reading them."""

import pytest
import yaml

from streams.generate.prometheus import refuse_undeclared, scraping, services
from streams.generate.templates import HTTP_PORT
from streams.telemetry.metrics import AGE_BUCKETS
from streams.topology import HANDLERS
from tests.samples import ROOT
from tests.tables import tables

TABLES = tables(__file__)


def test_every_service_of_workers_is_scraped() -> None:
    workers = yaml.safe_load((ROOT / "config/generated/compose.workers.yml").read_text("utf-8"))["services"]
    jobs = {job["job_name"]: job for job in scraping()["scrape_configs"]}
    look_up = jobs["assay"]["dns_sd_configs"][0]
    assert tuple(look_up["names"]) == services()
    assert set(services()) == set(workers)
    assert look_up["port"] == HTTP_PORT
    assert "assay-lag" in jobs


def test_the_rules_that_are_named_are_there() -> None:
    folder = ROOT / "config/generated/prometheus"
    named = yaml.safe_load((folder / "prometheus.yml").read_text("utf-8"))["rule_files"]
    assert {path.name for path in folder.iterdir()} == {*named, "prometheus.yml"}


def test_every_objective_is_a_bound_of_the_age_histogram() -> None:
    """Otherwise the share within the objective could not be told from the buckets."""
    assert {float(handler.slo_seconds) for handler in HANDLERS} <= set(AGE_BUCKETS)


@pytest.mark.parametrize(("expression", "why"), TABLES["an_expression_over_what_is_not_declared_is_refused"])
def test_an_expression_over_what_is_not_declared_is_refused(expression: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        refuse_undeclared(expression, "place")


def test_a_label_that_the_result_does_not_have_cannot_be_shown() -> None:
    refuse_undeclared("sum by (handler) (assay_group_lag_records)", "place", ["handler"])
    with pytest.raises(ValueError, match="place: no metric of the expression has the label tier"):
        refuse_undeclared("sum by (handler) (assay_group_lag_records)", "place", ["tier"])
