"""The demonstration on a real Kafka: the whole extraction loop, refused inputs, and the figures."""

import json

import pytest

from streams.cli.demo import run_demo
from streams.settings.model import load_settings
from streams.topology import HANDLERS

pytestmark = pytest.mark.slow


def test_the_whole_job_is_done_and_every_input_accounted_for(
    kafka: str, topic_prefix: str, capfd: pytest.CaptureFixture[str]
) -> None:
    settings = load_settings(
        kafka={"bootstrap_servers": kafka, "topic_prefix": topic_prefix}, http={"host": "127.0.0.1", "port": 0}
    )
    assert run_demo(settings, once=True, as_json=True, pages=None) == 0
    figures = json.loads(capfd.readouterr().out.strip().splitlines()[-1])
    assert list(figures) == [
        "pages_scored", "tiers", "documents_indexed", "index_points", "index_points_estimated",
        "index_points_without_tiers", "batches_classified", "result_types", "extractions_needed",
        "extractions_completed", "actionable_before", "actionable_after", "overall_before", "overall_after",
        "batches_evaluated", "batches_passed",
        "searches_evaluated", "searches_satisfied", "claims_evaluated", "claims_promotable", "sources_tried",
        "sources_relevant", "utterances_indexed", "queries_answered", "judged_by", "cost_usd", "dead_letters",
        "handlers", "seconds",
    ]  # fmt: skip
    assert figures["actionable_after"] >= figures["actionable_before"] + 0.3
    assert figures["overall_after"] >= figures["overall_before"] + 0.3
    assert all(figures["tiers"].values())
    assert all(figures["result_types"].values())
    assert figures["extractions_needed"] == figures["extractions_completed"] > 0
    assert figures["dead_letters"] == 1
    assert figures["pages_scored"] == sum(figures["tiers"].values())
    # A page that was brought home twice is one document.
    assert 0 < figures["documents_indexed"] <= figures["pages_scored"]
    assert figures["documents_indexed"] <= figures["index_points"] < figures["index_points_without_tiers"]
    assert 0 < figures["searches_satisfied"] < figures["searches_evaluated"]
    assert 0 < figures["claims_promotable"] < figures["claims_evaluated"]
    assert 0 < figures["sources_relevant"] < figures["sources_tried"]
    assert figures["queries_answered"] == 2
    assert figures["judged_by"]["offline"] > figures["judged_by"]["model"] == figures["cost_usd"] == 0
    assert list(figures["handlers"]) == [handler.name for handler in HANDLERS]
    for balance in figures["handlers"].values():
        # No handler is idle, and each input has one outcome.
        assert balance["taken"] == balance["answered"] + balance["dead"] + balance["dropped"] > 0
        assert balance["missing"] == balance["twice"] == 0
