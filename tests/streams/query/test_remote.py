import json
from typing import Any

import pytest

from schemas.outcome import Dead, DeadReason, Emit, Outcome, Retry, RetryReason
from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted
from streams.http.server import HttpServer
from streams.query.access import RemoteQueries
from streams.query.engine import QueryEngine, Refusal
from streams.query.route import QueryRoute
from streams.settings.model import HttpSettings
from tests.samples import instance
from tests.streams.query.toys import Answers, completed, ranked, ranker, settings_with

REQUEST = RankingRequested(request_id="q1", query="which 台北")


async def asked(decide: Any = None, wants: str = "", shows: str = "", suffix: str = "") -> RankingCompleted | Refusal:
    settings = settings_with()
    route = QueryRoute(QueryEngine(settings, Answers(), handler=ranker(decide)), settings.query, wants)
    async with HttpServer(route, HttpSettings(port=0)) as server:
        return await RemoteQueries(f"http://{server.address}{suffix}", shows, 5).answer(REQUEST)


@pytest.mark.parametrize("suffix", ["", "/", "/query", "/query/"])
async def test_an_application_answers_as_if_it_were_here(suffix: str) -> None:
    answer = await asked(lambda request: Emit((completed(request, ranked(1, cts_score=70)),)), suffix=suffix)
    assert isinstance(answer, RankingCompleted)
    assert (answer.query, answer.results[0].cts_score) == ("which 台北", 70)
    assert answer.results[0].reasoning_metadata.trust_label == "HIGH"


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Dead(DeadReason.INVALID, "no date"), Refusal("invalid", "invalid: no date")),
        (Dead(DeadReason.HANDLER_BUG, "oops"), Refusal("failed", "handler_bug: oops")),
        (Retry(RetryReason.UNAVAILABLE, "Qdrant is down", 4.0), Refusal("unavailable", "Qdrant is down", 4.0)),
    ],
)
async def test_a_refusal_comes_over_as_it_is(outcome: Outcome, expected: Refusal) -> None:
    assert await asked(lambda _: outcome) == expected


async def test_unreachable_application_is_reported_with_advice() -> None:
    async with HttpServer(None, HttpSettings(port=0)) as server:
        address = server.address
    answer = instance(Refusal, await RemoteQueries(f"http://{address}", "", 5, "; do this").answer(REQUEST))
    assert answer.reason == "unavailable"
    assert f"http://{address}/query" in answer.detail
    assert answer.detail.endswith("; do this")


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (200, b"<html>hello</html>", "no Assay"),
        (200, b"{}", "no Assay"),
        (404, b"not found", "this server answers no queries"),
        (302, b"", "status 302"),
        (500, json.dumps({"reason": "odd", "detail": "why"}).encode(), "status 500: why"),
        (503, b"[]", "status 503"),
    ],
)
async def test_something_else_that_answers_is_not_believed(status: int, body: bytes, said: str) -> None:
    async def other(_: Any, __: Any, send: Any) -> None:
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async with HttpServer(other, HttpSettings(port=0)) as server:
        answer = instance(Refusal, await RemoteQueries(f"http://{server.address}", "", 5).answer(REQUEST))
    assert answer.reason == "failed"
    assert said in answer.detail


async def test_the_token_is_shown() -> None:
    assert isinstance(await asked(wants="t", shows="t"), RankingCompleted)
    refused = instance(Refusal, await asked(wants="t"))
    assert "ASSAY_HTTP__TOKEN" in refused.detail
