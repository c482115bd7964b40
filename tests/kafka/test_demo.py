"""The demonstration on a real Kafka: the whole extraction loop, refused inputs, and the figures."""

import json

import pytest

from schemas.retrieval import ResultType
from streams.cli.demo import run_demo
from streams.settings.model import load_settings
from streams.topology import HANDLERS

pytestmark = pytest.mark.slow


def test_the_whole_job_is_done_by_every_handler(
    kafka: str, topic_prefix: str, capfd: pytest.CaptureFixture[str]
) -> None:
    settings = load_settings(
        kafka={"bootstrap_servers": kafka, "topic_prefix": topic_prefix}, http={"host": "127.0.0.1", "port": 0}
    )
    assert run_demo(settings, once=True, as_json=True) == 0
    figures = json.loads(capfd.readouterr().out.strip().splitlines()[-1])
    events, decisions = figures["events"], figures["decisions"]
    assert all(decisions["pages.scored.v1"]["tier"][tier] for tier in "ABC")
    assert all(decisions["results.classified.v1"]["type"][kind] for kind in ResultType)
    assert events["extraction.needed.v1"] == events["extraction.completed.v1"] > 0
    assert figures["dead_letters"] == 1
    passed = decisions["retrieval.evaluated.v1"]["passed"]
    assert passed["no"] > 0, "listings"
    assert passed["yes"] > 0, "their details"
    assert events["documents.indexed.v1"] > 0
    assert set(decisions["search.evaluated.v1"]["outcome"]) > {"satisfied"} or events["search.evaluated.v1"] > 1
    assert events["ranking.completed.v1"] == 2
    assert list(figures["handlers"]) == [handler.name for handler in HANDLERS]
    for name, done in figures["handlers"].items():
        assert done["in"] == sum(done["outcomes"].values()) > 0, f"{name} is idle"
