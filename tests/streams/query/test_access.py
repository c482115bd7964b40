import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from schemas.outcome import Dead, DeadReason, Emit, Outcome, Retry, RetryReason
from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted
from streams.http.server import HttpServer
from streams.index.ports import IndexOwnedError
from streams.pipeline.services import LiveServices
from streams.query.access import NoQueriesError, RemoteQueries, open_queries
from streams.query.engine import QueryEngine, Refusal
from streams.query.route import QueryRoute
from streams.settings.model import HttpSettings
from tests.samples import instance
from tests.streams.index.qdrant_server import QdrantServer
from tests.streams.query.indexes import fill, settings_at
from tests.streams.query.toys import Answers, completed, ranked, ranker, settings_with

REQUEST = RankingRequested(request_id="q", query="when does the river bridge open")


async def test_missing_index_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(NoQueriesError, match=r"no index at .*index yet, and no worker answers at .*ASSAY_INDEX__PATH"):
        async with open_queries(settings_at(tmp_path, port=9)):
            pass
    assert os.listdir(tmp_path) == []
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / "meta.json").write_text('{"collections": {}, "aliases": {}}')
    with pytest.raises(NoQueriesError, match="no index"):
        async with open_queries(settings_at(tmp_path)):
            pass


async def test_worker_is_asked_if_this_folder_has_no_index(tmp_path: Path) -> None:
    async def close(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(close, "127.0.0.1", 0) as worker:
        port = worker.sockets[0].getsockname()[1]
        async with open_queries(settings_at(tmp_path, port=port)) as queries:
            assert isinstance(queries, RemoteQueries)
            answer = instance(Refusal, await queries.answer(REQUEST))
    assert f"http://127.0.0.1:{port}/query" in answer.detail
    assert f"there is no index at {tmp_path}" in answer.detail


async def test_commands_at_the_same_time_wait_for_each_other(tmp_path: Path) -> None:
    settings = settings_at(tmp_path, port=9)
    await fill(settings)
    other = LiveServices(settings)
    await other.open_index()

    async def given_back() -> None:
        await asyncio.sleep(0.3)
        await other.aclose()

    async with asyncio.TaskGroup() as group:
        group.create_task(given_back())
        async with open_queries(settings) as queries:
            assert isinstance(queries, QueryEngine)
            assert isinstance(await queries.answer(REQUEST), RankingCompleted)


async def test_index_is_released_while_services_continue(tmp_path: Path) -> None:
    """It answers for models long after the query; other commands need not wait for that."""
    settings = settings_at(tmp_path, port=9)
    await fill(settings)
    services, other = LiveServices(settings), LiveServices(settings)
    try:
        async with open_queries(settings, services=services):
            with pytest.raises(IndexOwnedError):
                await other.open_index(make=False)
        await other.open_index(make=False)
        await other.aclose()
        async with open_queries(settings, services=services) as queries:
            assert isinstance(await queries.answer(REQUEST), RankingCompleted)
    finally:
        await services.aclose()
        await other.aclose()


async def test_a_named_application_or_that_of_the_index_is_asked(tmp_path: Path) -> None:
    settings = settings_at(tmp_path)
    memory = settings.model_copy(update={"index": settings.index.model_copy(update={"path": None})})
    for its, app in ((memory, ""), (settings, "http://assay.example:1")):
        async with open_queries(its, app=app) as queries:
            assert isinstance(queries, RemoteQueries)


async def test_server_without_the_collection_is_refused(tmp_path: Path) -> None:
    with QdrantServer().listening() as server:
        settings = settings_at(tmp_path)
        there = settings.model_copy(update={"index": settings.index.model_copy(update={"url": server.url})})
        with pytest.raises(NoQueriesError, match="no collection 'documents'"):
            async with open_queries(there):
                pass
        assert not server.client.collection_exists("documents")


# --- an application that answers from elsewhere ----------------------------------------------------------------------


IN_CHINESE = RankingRequested(request_id="q1", query="which 台北")


async def asked(decide: Any = None, wants: str = "", shows: str = "", suffix: str = "") -> RankingCompleted | Refusal:
    settings = settings_with()
    route = QueryRoute(QueryEngine(settings, Answers(), handler=ranker(decide)), settings.query, wants)
    async with HttpServer(route, HttpSettings(port=0)) as server:
        return await RemoteQueries(f"http://{server.address}{suffix}", shows, 5).answer(IN_CHINESE)


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
        answer = instance(Refusal, await RemoteQueries(f"http://{server.address}", "", 5).answer(IN_CHINESE))
    assert answer.reason == "failed"
    assert said in answer.detail


async def test_the_token_is_shown() -> None:
    assert isinstance(await asked(wants="t", shows="t"), RankingCompleted)
    refused = instance(Refusal, await asked(wants="t"))
    assert "ASSAY_HTTP__TOKEN" in refused.detail
