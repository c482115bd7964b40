import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from schemas.event import Run
from schemas.needs import Need
from schemas.outcome import Dead, DeadReason, Drop, DropReason, Emit, Outcome, Retry, RetryReason
from schemas.queries import RankingFilters, RankingRequested
from schemas.replies import Reply
from streams.http.server import HttpServer
from streams.query.engine import QueryEngine
from streams.query.route import QueryRoute, read_body, read_query_string
from streams.settings.model import HttpSettings
from tests.samples import instance
from tests.streams.query.toys import Answers, ranker, settings_with
from tests.tables import tables

TABLES = tables(__file__)

URL = "/query"


class Gated(Answers):
    """A world that keeps everybody waiting until it is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.given_up = asyncio.Event()
        self._asked = asyncio.Semaphore(0)

    async def answer(self, need: Need, run: Run | None) -> Reply:
        reply = await super().answer(need, run)
        self._asked.release()
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.given_up.set()
            raise
        return reply

    async def asked(self, times: int) -> None:
        """Waits until so many more have asked."""
        for _ in range(times):
            await self._asked.acquire()


@asynccontextmanager
async def served(route: QueryRoute) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        HttpServer(route, HttpSettings(port=0)) as server,
        httpx.AsyncClient(base_url=f"http://{server.address}", trust_env=False) as client,
    ):
        yield client


def routed(decide: Any = None, services: Any = None, wants: str = "", **query: Any) -> QueryRoute:
    settings = settings_with(**query)
    engine = QueryEngine(settings, services or Answers(), via="http", handler=ranker(decide))
    return QueryRoute(engine, settings.query, wants)


@pytest.mark.parametrize(
    ("outcome", "status", "reason", "detail", "wait"),
    [
        (Dead(DeadReason.INVALID, "date_from is no date"), 400, "invalid", "date_from is no date", None),
        (Drop(DropReason.NOTHING_TO_DO), 400, "invalid", "nothing_to_do", None),
        (Dead(DeadReason.HANDLER_BUG, "ValueError: x"), 500, "failed", "handler_bug: ValueError: x", None),
        (Emit(()), 500, "failed", "a bug", None),
        (Retry(RetryReason.UNAVAILABLE, "Qdrant is down"), 503, "unavailable", "Qdrant is down", "5"),
        (Retry(RetryReason.RATE_LIMITED, "the model is busy", 2.2), 503, "unavailable", "the model is busy", "3"),
    ],
)
async def test_failure_has_a_status_a_reason_and_a_retry_after(
    outcome: Outcome, status: int, reason: str, detail: str, wait: str | None
) -> None:
    async with served(routed(lambda _: outcome)) as client:
        answer = await client.get(URL, params={"q": "x"})
    assert (answer.status_code, answer.json()["reason"]) == (status, reason)
    assert detail in answer.json()["detail"]
    assert answer.headers.get("retry-after") == wait


async def test_invalid_requests_are_refused_with_detail() -> None:
    async with served(routed(max_bytes=2000)) as client:
        told = {
            "no query": await client.post(URL, json={"limit": 3}),
            "no JSON": await client.post(URL, content=b"{", headers={"content-type": "application/json"}),
            "a form": await client.post(URL, data={"query": "x"}),
            "no kind": await client.post(URL, content=b'{"query": "x"}'),
            "too large": await client.post(URL, json={"query": "x" * 3000}),
            "too large, in parts": await client.post(
                URL, content=_parts(b'{"query": "', b"x" * 3000), headers={"content-type": "application/json"}
            ),
            "no q": await client.get(URL),
            "another method": await client.delete(URL),
        }
    assert {name: answer.status_code for name, answer in told.items()} == TABLES[
        "invalid_requests_are_refused_with_detail"
    ]
    assert all(answer.json()["detail"] for answer in told.values())
    assert told["another method"].headers["allow"] == "GET, POST"


async def _parts(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def test_above_the_bound_others_are_turned_away_at_once() -> None:
    services = Gated()
    async with served(routed(services=services, parallel=2)) as client:
        waiting = [asyncio.create_task(client.get(URL, params={"q": "x"})) for _ in range(2)]
        await services.asked(2)
        third = await client.get(URL, params={"q": "x"})
        services.gate.set()
        answers = [*await asyncio.gather(*waiting), await client.get(URL, params={"q": "x"})]
    assert (third.status_code, third.json()["reason"], third.headers["retry-after"]) == (503, "busy", "1")
    assert [answer.status_code for answer in answers] == [200] * 3


async def test_a_query_has_a_time_limit() -> None:
    async with served(routed(services=Gated(), seconds=0.05)) as client:
        answer = await client.get(URL, params={"q": "x"})
    assert (answer.status_code, answer.json()["reason"]) == (503, "timeout")
    assert "ASSAY_QUERY__SECONDS" in answer.json()["detail"]


async def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async def never() -> AsyncIterator[bytes]:
        yield b'{"query": "x'
        await asyncio.sleep(5)

    async with served(routed(seconds=0.1)) as client:
        answer = await client.post(URL, content=never(), headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["reason"]) == (503, "timeout")


async def test_disconnected_client_cancels_its_query() -> None:
    services = Gated()
    async with served(routed(services=services)) as client:
        asking = asyncio.create_task(client.get(URL, params={"q": "x"}))
        await services.asked(1)
        asking.cancel()
        await asyncio.wait({asking})
        async with asyncio.timeout(30):
            await services.given_up.wait()


async def test_stopping_finishes_what_is_under_way_and_takes_no_more() -> None:
    services = Gated()
    route = routed(services=services)
    async with served(route) as client:
        asking = asyncio.create_task(client.get(URL, params={"q": "x"}))
        await services.asked(1)
        draining = asyncio.create_task(route.drain(5))
        await asyncio.sleep(0.01)
        late = await client.get(URL, params={"q": "y"})
        services.gate.set()
        assert (await asking).status_code == 200
        await draining
    assert (late.status_code, late.json()["reason"]) == (503, "unavailable")


async def test_stopping_does_not_wait_for_ever() -> None:
    services = Gated()
    route = routed(services=services)
    async with served(route) as client:
        asking = asyncio.create_task(client.get(URL, params={"q": "x"}))
        await services.asked(1)
        await route.drain(0.05)
        answer = await asking
    assert (answer.status_code, answer.json()["detail"]) == (503, "the application is stopping")


async def test_access_is_checked_before_anything_else() -> None:
    services = Answers()
    async with served(routed(services=services)) as client:
        rebound = await client.get(URL, params={"q": "x"}, headers={"host": "evil.example"})
        passed_on = await client.get(URL, params={"q": "x"}, headers={"x-forwarded-for": "127.0.0.1"})
    async with served(routed(services=services, wants="t0ken")) as client:
        nothing = await client.get(URL, params={"q": "x"})
        wrong = await client.get(URL, params={"q": "x"}, headers={"authorization": "Bearer nope"})
        assert not services.needs
        right = await client.get(URL, params={"q": "x"}, headers={"authorization": "Bearer t0ken"})
    assert [answer.status_code for answer in (rebound, passed_on, nothing, wrong, right)] == [421, 403, 401, 401, 200]
    assert nothing.headers["www-authenticate"] == "Bearer"


# --- what a request holds --------------------------------------------------------------------------------------------


def test_body_is_the_topics_event_with_an_optional_id() -> None:
    body = {
        "query": "台北 展覽",
        "filters": {"tier": "A"},
        "candidates": [{"url": "https://a.example/", "content": "x"}],
    }
    first, second = (read_body(json.dumps(body).encode()) for _ in range(2))
    assert isinstance(first, RankingRequested)
    assert isinstance(second, RankingRequested)
    assert first.request_id != second.request_id
    assert first.filters == RankingFilters(tiers=("A",))
    assert first.candidates is not None
    named = instance(RankingRequested, read_body(b'{"query": "x", "request_id": "mine"}'))
    assert named.request_id == "mine"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        *((body.encode(), said) for body, said in TABLES["invalid_body_is_refused_with_reason"]),
        (b"\xff\xfe", "no JSON"),
        (b"[" * 100_000, "no JSON"),
    ],
)
def test_invalid_body_is_refused_with_reason(body: bytes, said: str) -> None:
    answer = instance(str, read_body(body))
    assert said in answer


def test_a_query_string_holds_what_fits_into_one() -> None:
    text = b"q=how+tall+%E5%8F%B0&limit=3&tier=A&tier=B&domain=gov.uk&tag=news&since=2025-01-01&until=2025-02-01"
    request = instance(RankingRequested, read_query_string(text + b"&request_id=r"))
    assert (request.query, request.limit, request.request_id) == ("how tall 台", 3, "r")
    assert request.filters == RankingFilters(
        tiers=("A", "B"), domains=("gov.uk",), tags=("news",), date_from="2025-01-01", date_to="2025-02-01"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *((text.encode(), said) for text, said in TABLES["invalid_query_string_is_refused_with_reason"]),
        (b"q=\xff", "can't be read"),
        (b"&".join([b"tag=x"] * 101), "can't be read"),
    ],
)
def test_invalid_query_string_is_refused_with_reason(text: bytes, said: str) -> None:
    answer = instance(str, read_query_string(text))
    assert said in answer
