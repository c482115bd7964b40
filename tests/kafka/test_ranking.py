"""Queries through a real Kafka: a redelivered one, and a judge that fails."""

import json
from pathlib import Path
from typing import Any

from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted
from tests.kafka.installation import Installation, Installing, handlers_named
from tests.streams.llm.model_server import model_server, says

REQUESTED, COMPLETED = "ranking.requested.v1", "ranking.completed.v1"
[RANK_RESULTS] = handlers_named("rank_results")
SCORED = json.dumps({"scores": [{"number": 1, "score": 0.2}, {"number": 2, "score": 0.9}]})
CANDIDATES: list[dict[str, Any]] = [
    {"url": "https://water.gov.tw/dam", "title": "The dam", "content": "The dam was closed in May.", "cts_score": 83},
    {"url": "https://blog.example/dam", "title": "A walk", "content": "I saw the closed dam.", "cts_score": None},
]


async def installation(installing: Installing, base_url: str, folder: Path) -> Installation:
    return await installing(
        [RANK_RESULTS],
        llm={"base_url": base_url, "model": "m", "cache_path": folder / "llm.sqlite"},
        models={
            "limits": {"default": {"requests_per_minute": 60_000, "tokens_per_minute": 10_000_000, "in_flight": 48}},
            "tasks": {"rank_results": {"deadline_seconds": 1.0, "patience_seconds": 20.0, "attempts": 1}},
            "replay_share": 0.0,
        },
        processing={"breaker": {"failures": 3}},
    )


def query() -> tuple[bytes, bytes]:
    wire = {"request_id": "one", "query": "Was the dam closed?", "candidates": CANDIDATES}
    return b"one", RankingRequested.model_validate(wire).to_json()


async def test_redelivered_query_repeats_its_results_and_is_paid_once(installing: Installing, tmp_path: Path) -> None:
    async with model_server(says(SCORED)) as server:
        place = await installation(installing, server.base_url, tmp_path)
        await place.feed([query()], REQUESTED)
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
