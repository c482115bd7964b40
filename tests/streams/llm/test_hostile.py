"""Attacks on the gateway: servers with false headers, keys that must stay secret, interfering environments."""

import asyncio
import contextlib
import json
import logging
import socket
from datetime import UTC, datetime
from typing import Any

import pytest
import structlog
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from schemas.replies import ModelFailed, ModelReply, ModelUnavailable
from streams.llm.client import ModelClient
from streams.llm.request import prompt_tokens_of
from streams.llm.settings import ModelLimits, TaskPolicy
from streams.llm.sqlite_journal import SqliteJournal
from streams.pipeline.services import LiveServices
from streams.settings.model import load_settings
from streams.telemetry.metrics import Metrics
from streams.telemetry.setup import configure_logs
from tests.samples import instance
from tests.streams.doubles import VirtualClock
from tests.streams.llm.model_server import Wire, hangs, model_server, raw, resets, says, status
from tests.streams.llm.questions import FREE, MODEL, TASK, gateway_at, question, served
from tests.tables import tables

TABLES = tables(__file__)

LABELS = {"task": TASK, "model": MODEL}
KEY = "sesame-123"
TIGHT = ModelLimits(**{**FREE.model_dump(), "tokens_per_minute": 100_000})


# --- what a server says of itself ----------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "completion", "thinking", "charged"), [(50, 10**6, 0, 10), (50, 10**6, 500, 510), (10**9, 10**9, 0, 1)]
)
async def test_more_tokens_than_there_can_be_are_not_believed(
    prompt: int, completion: int, thinking: int, charged: int
) -> None:
    """They would hold the model up for days and spend the budget. The allowance for thinking is believed."""
    limits = ModelLimits(**{**TIGHT.model_dump(), "thinking_tokens": thinking})
    reported = says("0.7", usage={"prompt_tokens": prompt, "completion_tokens": completion})
    async with served(reported, limits=limits, budget_usd_per_day=0.01) as (server, gateway):
        for number in range(3):
            reply = instance(ModelReply, await gateway.answer(question(str(number))))
            assert reply.call.completion_tokens == charged
            assert (reply.call.cost_usd or 1.0) < 0.002
    assert server.asked[0].body["max_tokens"] == 10 + thinking


@pytest.mark.parametrize(
    ("what", "text"),
    [("tokens", "1"), *(("requests", text) for text in ("0", "-1", "1e3", "NaN", "²", "9" * 400, "1_000", "60, 60"))],
)
async def test_invalid_or_too_low_stated_limit_is_ignored(what: str, text: str) -> None:
    headers = {f"x-ratelimit-limit-{what}": text.encode().decode("latin-1")}
    async with served(says("0.7", headers=headers)) as (_, gateway):
        for number in range(3):
            assert isinstance(await gateway.answer(question(str(number))), ModelReply)


@pytest.mark.parametrize("wish", ["9" * 400, "Fri, 31 Dec 9999 23:59:59 GMT"])
@pytest.mark.parametrize("code", [429, 503])
async def test_huge_retry_after_is_limited_to_an_hour(wish: str, code: int) -> None:
    clock = VirtualClock()
    async with served(says("0.7"), clock=clock, max_rest_seconds=3600) as (server, gateway):
        server.script = [status(code, retry_after=wish)]
        reply = instance(ModelUnavailable, await gateway.answer(question("one")))
        assert (reply.after_seconds, reply.busy) == (3600, False)
        clock.seconds += 3500
        assert isinstance(await gateway.answer(question("two")), ModelUnavailable)
        clock.seconds += 101
        assert isinstance(await gateway.answer(question("three")), ModelReply)
    assert len(server.asked) == 2


async def endless_headers(wire: Wire) -> None:
    await wire.send(b"HTTP/1.1 200 OK\r\n")
    for _ in range(100_000):
        await wire.send(b"x-a: " + b"b" * 1000 + b"\r\n")


async def endless_promises(wire: Wire) -> None:
    while True:
        await wire.send(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)
        await asyncio.sleep(0)


async def packed(wire: Wire) -> None:
    await wire.send(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc")


async def no_http(wire: Wire) -> None:
    await wire.send(b"\x16\x03\x01\x00\x00\r\n\r\n")


@pytest.mark.parametrize("behaviour", [endless_headers, endless_promises, packed, no_http, raw(b"", 204), raw(b"{}")])
async def test_what_is_hardly_http_is_a_failure_in_time(behaviour: Any) -> None:
    async with served(behaviour) as (_, gateway):
        async with asyncio.timeout(30):
            assert isinstance(await gateway.answer(question()), ModelFailed)


# --- the key -------------------------------------------------------------------------


async def test_key_appears_in_no_log_or_reply(capsys: pytest.CaptureFixture[str]) -> None:
    """At the most talkative level, under faults that quote the request."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    configure_logs("debug", "json")
    quotes = [status(code, message=f"what a key: {KEY}", kind=KEY) for code in (400, 401, 403, 429, 500)]
    told: list[str] = []
    try:
        for behaviour in (*quotes, resets(), hangs(), says(f"0.7 {KEY[:3]}")):
            async with served(behaviour, api_key=KEY) as (server, gateway):
                reply = await gateway.answer(question())
                told += [repr(reply), repr(gateway.__dict__.get("_llm"))]
                assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
        async with gateway_at("http://127.0.0.1:9", api_key=KEY) as gateway:
            told.append(repr(await gateway.answer(question())))
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        structlog.reset_defaults()
    captured = capsys.readouterr()
    assert not any(KEY in text for text in (captured.out, captured.err, *told))
    # Nor what is asked, nor a line for each request.
    assert "Is it?" not in captured.err
    assert "HTTP Request" not in captured.err


async def test_what_the_library_takes_from_the_environment_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "BASE_URL"):
        monkeypatch.setenv(f"OPENAI_{name}", "from-elsewhere")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer from-elsewhere")
    async with model_server() as server:
        for key in ("", KEY):
            async with gateway_at(server.base_url, api_key=key) as gateway:
                assert isinstance(await gateway.answer(question()), ModelReply)
    for asked in server.asked:
        assert not any("from-elsewhere" in value for value in asked.headers.values())


# --- the way there -------------------------------------------------------------------


@pytest.mark.parametrize(("proxy", "redis_url", "said"), TABLES["unusable_proxy_is_an_explained_outage"])
async def test_unusable_proxy_is_an_explained_outage(
    monkeypatch: pytest.MonkeyPatch, proxy: str, redis_url: str, said: str
) -> None:
    """Not an exception for each record, after which it would end as a dead letter."""
    for name in ("HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy)
    llm = {"base_url": "http://127.0.0.1:9/v1", "model": "m", "cache_path": None, "redis_url": redis_url}
    services = LiveServices(load_settings(llm=llm))
    reply = instance(ModelUnavailable, await services.answer(question(), None))
    await services.aclose()
    assert said in reply.detail
    assert "secret" not in reply.detail


async def test_blackholed_server_is_reported_unreachable_not_timeout() -> None:
    """Nothing is judged then, also where the deadline leaves no room for connecting a second time."""
    policy = TaskPolicy(deadline_seconds=0.4, patience_seconds=1.0, attempts=2)
    with socket.socket() as listening, contextlib.ExitStack() as full:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        for _ in range(4):
            # The queue of unaccepted connections; later connections get no answer.
            waiting = full.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listening.getsockname())
        base_url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        async with gateway_at(base_url, policy, connect_seconds=0.3) as gateway:
            assert isinstance(await gateway.answer(question()), ModelUnavailable)


# --- what is asked -------------------------------------------------------------------


async def test_invalid_characters_of_a_question_are_replaced() -> None:
    async with served() as (server, gateway):
        assert isinstance(await gateway.answer(question("half \ud800 a pair\x00")), ModelReply)
    assert server.asked[0].text == "half ? a pair\x00"


async def test_a_reply_over_the_cap_is_refused_and_one_below_it_is_not() -> None:
    for size, kind in ((900, ModelReply), (1100, ModelFailed)):
        body = {"choices": [{"message": {"content": "x" * (size - 50)}}]}
        behaviour = raw(json.dumps(body).encode())
        async with served(behaviour, max_reply_bytes=1024) as (_, gateway):
            assert isinstance(await gateway.answer(question()), kind)


# --- money ---------------------------------------------------------------------------


async def test_hanging_calls_are_charged_in_full_and_keep_the_budget() -> None:
    """A caller without a reply may still have to pay for one that was generated; each try is booked."""
    store, policy = SqliteJournal(None), TaskPolicy(deadline_seconds=0.1, patience_seconds=1.0, attempts=3)
    limits, registry = ModelLimits(**{**FREE.model_dump(), "price_out": 1000.0}), CollectorRegistry()
    kept: dict[str, Any] = {"journal": store, "metrics": Metrics(registry), "budget_usd_per_day": 2.0}
    async with served(hangs(), policy, limits, **kept, breaker_failures=1000) as (server, gateway):
        replies = [await gateway.answer(question(str(number), max_tokens=800)) for number in range(4)]
        asked = len(server.asked)
        total = await store.booked(datetime.now(UTC).date().isoformat())
    costs = [reply.call.cost_usd for reply in replies if isinstance(reply, ModelFailed)]
    assert [type(reply) for reply in replies] == [ModelFailed, ModelFailed, ModelUnavailable, ModelUnavailable]
    assert all(cost is not None and cost >= 0.8 for cost in costs)
    assert 0 < (instance(ModelUnavailable, replies[-1]).after_seconds or 0) <= 86_400, "until midnight"
    assert asked * 0.8 <= total <= 2.0
    assert registry.get_sample_value("assay_llm_cost_usd_total", LABELS) == pytest.approx(
        sum(cost or 0.0 for cost in costs)
    )


async def test_what_failed_before_is_booked_beside_the_next_try() -> None:
    limits = ModelLimits(**{**FREE.model_dump(), "price_out": 1000.0})
    need, patient = question("word " * 100), TaskPolicy(deadline_seconds=5.0, patience_seconds=1.0, attempts=2)
    prompt = prompt_tokens_of(need) * 1.0e-6
    async with served(status(500), patient, limits, budget_usd_per_day=0.01 + 1.5 * prompt) as (server, gateway):
        # The prompt of the first try is lost; with it the second one is more than the day has.
        assert isinstance(await gateway.answer(need), ModelUnavailable)
    assert len(server.asked) == 1


# --- slots ---------------------------------------------------------------------------


async def test_a_bug_in_the_client_leaves_slot_and_money_free(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = ModelLimits(**{**FREE.model_dump(), "in_flight": 1})
    store = SqliteJournal(None)

    async def broken(*_: Any) -> Any:
        raise RuntimeError("a bug")

    async with served(limits=limits, journal=store) as (_, gateway):
        with monkeypatch.context() as patched:
            patched.setattr(ModelClient, "ask", broken)
            with pytest.raises(RuntimeError):
                await gateway.answer(question(max_tokens=1_000_000))
        assert isinstance(await gateway.answer(question()), ModelReply)
        total = await store.booked(datetime.now(UTC).date().isoformat())
    assert total < 0.001


# --- what is said of a model that is paused --------------------------------------------------------------------------


OWN_QUESTION = "Is Ann Chen ill?"
PATIENT = TaskPolicy(deadline_seconds=5.0, patience_seconds=5.0, attempts=2)


async def asked_twice(base_url: str) -> tuple[str, str, ModelUnavailable]:
    """The log entry when a model's breaker opens, and the replies to the first and the second question."""
    with capture_logs() as logs:
        async with gateway_at(base_url, policy=PATIENT, breaker_failures=1, breaker_first_seconds=600) as gateway:
            first = await gateway.answer(question(OWN_QUESTION))
            second = await gateway.answer(question("Is it?"))
    [line] = [line for line in logs if line["event"] == "model circuit breaker open"]
    assert isinstance(first, ModelUnavailable)
    assert isinstance(second, ModelUnavailable)
    assert OWN_QUESTION not in first.cause + second.cause
    return line["last_trouble"], first.detail, second


@pytest.mark.parametrize("code", [401, 500])
async def test_server_message_is_returned_only_to_its_question(code: int) -> None:
    async with model_server(status(code, message=f"can't answer {OWN_QUESTION}")) as server:
        last_trouble, first, second = await asked_twice(server.base_url)
    assert OWN_QUESTION in first
    assert OWN_QUESTION not in last_trouble + second.detail
    assert last_trouble.startswith(f"status {code} some_error")
    assert second.cause == second.detail
