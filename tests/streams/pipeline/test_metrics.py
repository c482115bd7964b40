import json
from pathlib import Path
from typing import Any

import pytest
import structlog
from prometheus_client import CollectorRegistry

from schemas.claims import ClaimEvaluated
from schemas.documents import DocumentIndexed
from schemas.event import Event
from schemas.extraction import ExtractionCompleted, ExtractionNeeded, ExtractionTrigger
from schemas.outcome import DeadReason, RetryReason, Stage
from schemas.pages import ScoredPage
from schemas.queries import RankingRequested
from schemas.relevance import RelevanceJudged, SnippetExtracted
from schemas.retrieval import ResultsClassified, RetrievalEvaluated
from schemas.search import SearchEvaluated, SearchScoreSource
from streams.pipeline.metrics import PipelineMetrics
from streams.telemetry.labels import Lane
from streams.telemetry.metrics import Metrics
from tests.samples import EXAMPLES
from tests.streams.query.toys import completed, ranked
from tests.tables import tables

TABLES = tables(__file__)

COUNTED = json.loads(Path(__file__).with_name("counted_events.json").read_bytes())
"""Events with outcomes that no generated example has."""


def example(kind: type[Event], name: str) -> Any:
    """An example, or one of ``COUNTED``."""
    if (path := EXAMPLES / f"{name}.json").exists():
        return kind.model_validate_json(path.read_bytes())
    return kind.model_validate(COUNTED[name])


def told(*events: Event, replayed: bool = False) -> dict[str, float]:
    """What is counted of these events, by metric and labels, without what stayed at nothing."""
    registry = CollectorRegistry()
    PipelineMetrics(Metrics(registry), "toy").emitted(events, replayed, 0.25)
    return {
        " ".join([sample.name, *sample.labels.values()]): sample.value
        for metric in registry.collect()
        for sample in metric.samples
        if sample.value and not sample.name.endswith(("_created", "_bucket"))
    }


def test_scores_are_counted_by_tier_and_label() -> None:
    page: ScoredPage = example(ScoredPage, "pages.scored.v1/wire_report_zh")
    assert page.cts_score is not None
    assert told(page, page) == {
        f"assay_page_states_total {page.state} live": 2,
        f"assay_pages_scored_total {page.tier} {page.trust_label} live": 2,
        "assay_cts_score_count": 2,
        "assay_cts_score_sum": 2 * page.cts_score,
        **{
            f"assay_page_features_total {name} live": 2
            for name in ("has_byline", "has_date", "has_headings", "has_references_section", "is_wire_report")
        },
    }


def test_replayed_scores_do_not_change_the_live_tier_mix() -> None:
    page: ScoredPage = example(ScoredPage, "pages.scored.v1/wire_report_zh")
    counted = told(page, replayed=True)
    assert {key: value for key, value in counted.items() if "pages_scored" in key} == {
        f"assay_pages_scored_total {page.tier} {page.trust_label} replay": 1
    }
    features = [key for key in counted if "features" in key]
    assert features
    assert all(key.endswith(" replay") for key in features)


def test_documents_are_counted_by_tier_and_change_with_points() -> None:
    document = example(DocumentIndexed, "documents.indexed.v1/tier_change")
    assert told(document) == {
        "assay_documents_indexed_total C written": 1,
        "assay_index_points_written_total": 1,
        "assay_index_points_removed_total": 12,
    }


def test_results_are_counted_by_type_with_their_improvement() -> None:
    first: ResultsClassified = example(ResultsClassified, "results.classified.v1/aarhus_listing")
    assert told(first) == {"assay_results_classified_total AGGREGATOR": 1}
    second = first.model_copy(update={"improvement": 0.5, "actionable_information": 0.75})
    worse = first.model_copy(update={"improvement": -0.25, "actionable_information": 0.5})
    counted = told(second, worse)
    assert counted["assay_actionable_improvement_count"] == 2
    assert "assay_actionable_improvement_sum" not in counted, "a histogram with values below zero has none"
    assert counted["assay_actionable_before_total"] == 0.25 + 0.75
    assert counted["assay_actionable_after_total"] == 0.75 + 0.5


def test_listing_to_follow_is_logged_as_the_required_warning() -> None:
    event: ResultsClassified = example(ResultsClassified, "results.classified.v1/aarhus_listing")
    with structlog.testing.capture_logs() as logs:
        told(event)
        told(event.model_copy(update={"extraction_reason": None}))
    [entry] = logs
    assert entry["log_level"] == "warning"
    assert entry["event"] == f"Extraction needed: {event.extraction_reason}"


def test_extractions_are_counted_by_what_triggered_them() -> None:
    event: ExtractionNeeded = example(ExtractionNeeded, "extraction.needed.v1/aarhus_listing")
    assert told(event) == {"assay_extractions_triggered_total aggregator_detected": 1}
    assert told(event.model_copy(update={"follow": False})) == {}, "an item that is sent on was triggered before"
    asked = event.model_copy(update={"follow": False, "reason": ExtractionTrigger.SNIPPET_REQUESTED})
    assert told(asked) == {"assay_extractions_triggered_total snippet_requested": 1}


@pytest.mark.parametrize(("passed", "label"), [(True, "passed"), (False, "failed")])
def test_batches_are_counted_by_their_verdict(passed: bool, label: str) -> None:
    event: RetrievalEvaluated = example(RetrievalEvaluated, "retrieval.evaluated.v1/minimal")
    assert told(event.model_copy(update={"passed": passed})) == {f"assay_batches_total {label}": 1}


@pytest.mark.parametrize(("name", "level", "says"), TABLES["judgments_are_counted_and_logged_by_outcome"])
def test_judgments_are_counted_and_logged_by_outcome(name: str, level: str, says: str) -> None:
    """R-122."""
    event: RelevanceJudged = example(RelevanceJudged, f"relevance.judged.v1/{name}")
    with structlog.testing.capture_logs() as logs:
        assert told(event) == {f"assay_relevance_judgments_total {event.outcome}": 1}
    [entry] = logs
    assert entry["log_level"] == level
    assert says in entry["event"]
    assert entry["url"] == event.url


def test_failed_judgment_is_logged_with_bounded_detail() -> None:
    timeout: RelevanceJudged = example(RelevanceJudged, "relevance.judged.v1/timeout")
    failed = timeout.model_copy(update={"outcome": "error", "detail": "status 500 " + "x" * 1000})
    unparsed: RelevanceJudged = example(RelevanceJudged, "relevance.judged.v1/unparsed")
    assert unparsed.llm is not None
    unparsed = unparsed.model_copy(update={"llm": unparsed.llm.model_copy(update={"call_id": "5f0c1a2b"})})
    with structlog.testing.capture_logs() as logs:
        told(timeout, failed, unparsed)
    assert [(entry.get("milliseconds"), entry.get("detail", "")[:10], entry.get("call_id")) for entry in logs] == [
        (2900, "", None),
        (None, "status 500", None),
        (None, "", "5f0c1a2b"),
    ]
    assert len(logs[1]["detail"]) == 200


def test_unreadable_summary_is_logged_as_a_warning() -> None:
    event: RelevanceJudged = example(RelevanceJudged, "relevance.judged.v1/irrelevant_zh")
    with structlog.testing.capture_logs() as logs:
        told(event.model_copy(update={"summary_failure": "elements 600 deep"}))
    assert [(entry["log_level"], entry.get("detail")) for entry in logs] == [
        ("info", None),
        ("warning", "elements 600 deep"),
    ]


def test_snippets_are_counted_with_the_reason_for_a_missing_one() -> None:
    said = example(SnippetExtracted, "snippets.extracted.v1/shared_care")
    assert told(said) == {"assay_snippets_total ": 1}
    nothing = example(SnippetExtracted, "snippets.extracted.v1/nothing_said")
    assert told(nothing) == {"assay_snippets_total no_meaningful_content": 1}


def test_searches_are_counted_with_the_models_drift() -> None:
    event: SearchEvaluated = example(SearchEvaluated, "search.evaluated.v1/minimal")
    rubric = event.rubric.model_copy(update={"total": 0.75})
    judged = {"quality_score": 0.5, "rubric": rubric, "recommendation": "continue"}
    model = event.model_copy(update={**judged, "score_source": SearchScoreSource.MODEL})
    alone = event.model_copy(update={**judged, "score_source": SearchScoreSource.RUBRIC})
    assert told(model, alone) == {
        "assay_searches_evaluated_total continue model": 1,
        "assay_searches_evaluated_total continue rubric": 1,
        "assay_search_judge_drift_count": 1,
        "assay_search_judge_drift_sum": 0.25,
    }


def test_claims_are_counted_and_logged_with_their_ids() -> None:
    judged: ClaimEvaluated = example(ClaimEvaluated, "claims.evaluated.v1/promotable")
    failed: ClaimEvaluated = example(ClaimEvaluated, "claims.evaluated.v1/no_score")
    with structlog.testing.capture_logs() as logs:
        counted = told(judged, failed.model_copy(update={"claim_id": "c" * 1000, "source_id": None}))
    assert counted == {
        f"assay_claims_evaluated_total {judged.status} {judged.band}": 1,
        f"assay_claims_evaluated_total {failed.status} failed": 1,
    }
    told_of = [(entry["log_level"], entry["claim_id"], entry["source_id"], entry["status"]) for entry in logs]
    assert told_of == [
        ("info", judged.claim_id, judged.source_id, "success"),
        ("warning", "c" * 200, None, failed.status),
    ]


def test_what_no_dashboard_shows_is_not_counted() -> None:
    assert told(example(ExtractionCompleted, "extraction.completed.v1/minimal")) == {}


def test_held_records_and_lag_are_gauges() -> None:
    registry = CollectorRegistry()
    observer = PipelineMetrics(Metrics(registry), "toy")
    for records in (5, 3):
        observer.holds("pages.crawled.v1", records, 1000 * records, records - 1, 0.5)
        observer.lags("pages.crawled.v1", 10 * records)
    observer.holds("pages.crawled.v1.assay.toy.retry.1m", 2, 10, 1, 0.25)
    observer.rebalanced()
    observer.committed("in_doubt", 0.25)

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"assay_{name}", {"handler": "toy", **labels})

    assert (value("records_held"), value("bytes_held"), value("handler_in_flight")) == (5, 3010, 3)
    assert value("oldest_unfinished_seconds", lane="live") == 0.5
    assert value("consumer_lag_records", topic="pages.crawled.v1", lane="live") == 30
    assert value("rebalances_total") == 1
    assert value("transactions_total", result="in_doubt", lane="live") == 1
    assert value("transaction_seconds_sum") == 0.25


@pytest.mark.parametrize(
    ("group", "replayed", "lane"),
    [("live", False, "live"), ("live", True, "replay"), ("replay", False, "replay"), ("replay", True, "replay")],
)
def test_replayed_records_are_counted_in_their_own_lane(group: Lane, replayed: bool, lane: str) -> None:
    registry = CollectorRegistry()
    observer = PipelineMetrics(Metrics(registry), "toy", group)
    observer.handled("dead", "invalid", 0.25, 3600.0, replayed)
    observer.died(DeadReason.INVALID, Stage.DECODE, replayed)
    observer.retried(RetryReason.UNAVAILABLE, replayed)
    observer.committed("committed", 0.1)
    observer.lags("pages.crawled.v1" if group == "live" else "pages.crawled.v1.replay.after-the-fix", 7)
    observer.breaker(closed=False)
    labels = {"handler": "toy", "topic": "pages.crawled.v1", "lane": group}
    assert registry.get_sample_value("assay_consumer_lag_records", labels) == 7, "no label has a plan's name in it"
    lanes = {
        sample.name.removeprefix("assay_"): sample.labels["lane"]
        for metric in registry.collect()
        for sample in metric.samples
        if sample.value and "lane" in sample.labels and not sample.name.endswith(("_created", "_bucket"))
    }
    of_the_record = ("handler_events_total", "handler_duration_seconds_count", "dead_events_total", "retries_total")
    assert [lanes.pop(name) for name in of_the_record] == [lane] * 4
    assert lanes.pop("handler_duration_seconds_sum") == lane
    assert lanes == dict.fromkeys(("transactions_total", "consumer_lag_records", "breaker_open"), group)
    ages = registry.get_sample_value("assay_event_age_seconds_count", {"handler": "toy"})
    assert ages == (lane == "live"), "what is done again is as old as it is, and late for nobody"


def test_queries_are_counted_with_time_labels_and_stages() -> None:
    request = RankingRequested(request_id="q", query="x")
    counted = told(completed(request, ranked(1), ranked(2, trust_label="LOW")))
    assert counted == {
        "assay_queries_total answered BALANCED kafka": 1,
        "assay_query_seconds_count kafka": 1,
        "assay_query_seconds_sum kafka": 0.25,
        "assay_query_stages_total retrieval ran": 1,
        "assay_query_stages_total bm25 ran": 1,
        "assay_query_results_total HIGH score": 1,
        "assay_query_results_total LOW score": 1,
        "assay_query_high_share_count": 1,
        "assay_query_high_share_sum": 0.5,
    }


def test_replayed_query_is_not_counted() -> None:
    request = RankingRequested(request_id="q", query="x")
    assert told(completed(request, ranked(1)), replayed=True) == {}


def test_a_breaker_that_opens_says_why() -> None:
    observer = PipelineMetrics(Metrics(CollectorRegistry()), "toy")
    with structlog.testing.capture_logs() as logs:
        observer.breaker(False, "OSError: No space left on device")
        observer.breaker(True)
    assert [entry.get("cause") for entry in logs] == ["OSError: No space left on device", None]
