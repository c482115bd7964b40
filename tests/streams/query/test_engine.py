from typing import Any

from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from schemas.needs import Ask, SearchVectors
from schemas.outcome import Dead, DeadReason, Emit, Outcome
from schemas.queries import RankingRequested
from schemas.ranking import StageName, StageNote, StageOutcome
from schemas.replies import ModelUnavailable
from streams.query.engine import QueryEngine, Refusal
from streams.telemetry.metrics import Metrics
from streams.topology import RANKING_COMPLETED, RANKING_REQUESTED
from tests.streams.doubles import VirtualClock, handler_of
from tests.streams.query.toys import Answers, completed, ranked, ranker, settings_with

REQUEST = RankingRequested(request_id="q1", query="which secret")


def engine(decide: Any = None, services: Any = None, metrics: Metrics | None = None, **query: Any) -> QueryEngine:
    settings = settings_with(**query)
    handler = ranker(decide)
    return QueryEngine(settings, services or Answers(), VirtualClock(), lambda: 0.5, metrics, "http", handler)


async def test_unavailable_model_is_refused_and_its_text_not_logged() -> None:
    unavailable = ModelUnavailable("status 500: you asked 'which secret'", 3.0, cause="status 500")
    outcome = unavailable.retry()
    settings, services = settings_with(), Answers(lambda _: unavailable)
    handler = handler_of(
        lambda *_: Ask(SearchVectors("documents", "x", 5)),
        lambda *_: outcome,
        1,
        (RANKING_COMPLETED,),
        RANKING_REQUESTED,
    )
    asked = QueryEngine(settings, services, VirtualClock(), lambda: 0.5, None, "http", handler)
    with capture_logs() as logs:
        answer = await asked.answer(REQUEST)
    assert answer == Refusal("unavailable", unavailable.detail, 3.0, no_model="status 500")
    [line] = [one for one in logs if one["event"] == "query refused"]
    assert line["detail"] == "status 500"


async def test_query_log_line_has_scores_and_labels_without_the_text() -> None:
    def decide(request: RankingRequested) -> Outcome | Ask:
        failed = StageNote(stage=StageName.RANKING, outcome=StageOutcome.FAILED)
        results = [ranked(1, cts_score=83), ranked(2, trust_label="LOW", cts_score=None)]
        return Emit((completed(request, *results, notes=(failed,)),))

    with capture_logs() as logs:
        await engine(decide).answer(REQUEST)
    [line] = [one for one in logs if one["log_level"] == "info"]
    assert line["event"] == "query answered"
    assert line["stages"] == ["retrieval", "bm25"]
    assert line["failed"] == ["ranking"]
    assert (line["cts_scores"], line["trust_labels"]) == ([83, None], ["HIGH", "LOW"])
    assert (line["intent"], line["via"], line["request_id"], line["results"]) == ("BALANCED", "http", "q1", 2)
    assert "secret" not in str(line)
    assert [one["query"] for one in logs if one["log_level"] == "debug"] == ["which secret"]


async def test_queries_are_counted_by_what_came_of_them() -> None:
    registry = CollectorRegistry()
    metrics = Metrics(registry)
    await engine(metrics=metrics).answer(REQUEST)
    await engine(lambda request: Emit((completed(request),)), metrics=metrics).answer(REQUEST)
    await engine(lambda _: Dead(DeadReason.INVALID, "no"), metrics=metrics).answer(REQUEST)

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(name, labels)

    assert value("assay_queries_total", outcome="answered", intent="BALANCED", via="http") == 1
    assert value("assay_queries_total", outcome="empty", intent="BALANCED", via="http") == 1
    assert value("assay_queries_total", outcome="invalid", intent="", via="http") == 1
    assert value("assay_query_seconds_count", via="http") == 2
    assert value("assay_query_results_total", trust_label="LOW", label_source="score") == 1
    assert value("assay_query_stages_total", stage="bm25", outcome="ran") == 2
    assert (value("assay_query_high_share_sum"), value("assay_query_high_share_count")) == (0.5, 1)
    assert value("assay_query_trees_agreement_count") == 0
