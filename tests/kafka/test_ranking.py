"""Queries through a real Kafka: their stages, a judge that fails, an index that is down, a redelivered record."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from schemas.pages import ScoredPage
from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted, StageName, StageOutcome
from streams.topology import HANDLERS
from tests.handlers.indexing.pages import LONG, scored_page
from tests.kafka.installation import Installation, Installing
from tests.streams.index.qdrant_server import QdrantServer
from tests.streams.llm.model_server import Behaviour, hangs, model_server, says, status

REQUESTED, COMPLETED = "ranking.requested.v1", "ranking.completed.v1"
DEAD = f"{REQUESTED}.assay.rank_results.dlq"
RETRIES = (f"{REQUESTED}.assay.rank_results.retry.10s", f"{REQUESTED}.assay.rank_results.retry.1m")
INDEX_PAGE, RANK_RESULTS = (handler for handler in HANDLERS if handler.name in {"index_page", "rank_results"})
SCORED = json.dumps({"scores": [{"number": 1, "score": 0.2}, {"number": 2, "score": 0.9}]})
CANDIDATES: list[dict[str, Any]] = [
    {"url": "https://water.gov.tw/dam", "title": "The dam", "content": "The dam was closed in May.", "cts_score": 83},
    {"url": "https://blog.example/dam", "title": "A walk", "content": "I saw the closed dam.", "cts_score": None},
]


@pytest.fixture
async def index() -> AsyncIterator[QdrantServer]:
    with QdrantServer().listening() as made:
        yield made


async def installation(installing: Installing, base_url: str, folder: Path, **flags: Any) -> Installation:
    return await installing(
        (INDEX_PAGE, RANK_RESULTS),
        llm={"base_url": base_url, "model": "m", "cache_path": folder / "llm.sqlite"},
        models={
            "limits": {"default": {"requests_per_minute": 60_000, "tokens_per_minute": 10_000_000, "in_flight": 48}},
            "tasks": {"rank_results": {"deadline_seconds": 1.0, "patience_seconds": 20.0, "attempts": 1}},
            "replay_share": 0.0,
        },
        processing={"breaker": {"failures": 3}},
        **flags,
    )


def query(request_id: str, candidates: list[dict[str, Any]] | None = CANDIDATES, **more: Any) -> tuple[bytes, bytes]:
    wire = {"request_id": request_id, "query": "Was the dam closed?", "candidates": candidates, **more}
    return request_id.encode(), RankingRequested.model_validate(wire).to_json()


async def test_query_passes_all_stages_and_keeps_trust(
    installing: Installing, tmp_path: Path, index: QdrantServer
) -> None:
    story = "The dam was closed in May, the ministry said."
    pages: list[ScoredPage] = [
        scored_page("A", f"{story} {LONG}", url="https://water.gov.tw/dam", title="The dam"),
        scored_page("C", "I walked by the dam.", url="https://blog.example/dam", title="A walk"),
    ]
    async with model_server(says(SCORED)) as server:
        place = await installation(installing, server.base_url, tmp_path, index={"url": index.url})
        await place.feed([(page.url.encode(), page.to_json()) for page in pages], "pages.scored.v1")
        await place.drain(INDEX_PAGE)
        await place.feed([query("all", None), query("few", None, filters={"tier": "A"})], REQUESTED)
        await place.drain(RANK_RESULTS)
    found = {event.request_id: event for event in await place.events(RankingCompleted)}
    event = found["all"]
    assert [stage.value for stage in event.stages] == ["retrieval", "bm25", "ranking", "mmr", "reasoning"]
    assert {result.url: result.cts_score for result in event.results} == {
        "https://water.gov.tw/dam": 80,
        "https://blog.example/dam": 20,
    }
    assert event.context.index("[TRUST_TIER: HIGH]") < event.context.index("[TRUST_TIER: LOW]")
    # The record's timestamp replaces the time that the query does not give.
    assert event.requested_at is not None
    assert [result.url for result in found["few"].results] == ["https://water.gov.tw/dam"]


async def test_redelivered_query_repeats_its_results_and_is_paid_once(installing: Installing, tmp_path: Path) -> None:
    async with model_server(says(SCORED)) as server:
        place = await installation(installing, server.base_url, tmp_path)
        await place.feed([query("one")], REQUESTED)
        await place.drain(RANK_RESULTS)
        await place.set_back(RANK_RESULTS)
        await place.drain(RANK_RESULTS)
        assert len(server.asked) == 1
    records = await place.read(COMPLETED)
    assert len(records) == 2
    assert len({dict(record.headers)["ce_id"] for record in records}) == 1
    first, second = await place.events(RankingCompleted)
    assert first.results == second.results
    assert first.context == second.context


@pytest.mark.parametrize(
    ("trouble", "because"),
    [(hangs(), "timeout"), (status(500), "error"), (says("Passage 1 is the best."), "ok")],
    ids=["hangs", "500", "prose"],
)
async def test_failed_judge_does_not_prevent_an_answer(
    installing: Installing, tmp_path: Path, trouble: Behaviour, because: str
) -> None:
    async with model_server(trouble) as server:
        place = await installation(installing, server.base_url, tmp_path)
        await place.feed([query("one")], REQUESTED)
        await place.drain(RANK_RESULTS)
    [event] = await place.events(RankingCompleted)
    assert {note.stage: note.outcome for note in event.notes}[StageName.RANKING] is StageOutcome.FAILED
    assert [result.url for result in event.results] == ["https://water.gov.tw/dam", "https://blog.example/dam"]
    assert event.llm is not None
    assert event.llm.outcome == because
    assert await place.read(DEAD, *RETRIES) == []
