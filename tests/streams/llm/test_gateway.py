"""The gateway against a faulty server: every answer is a value, no call hangs, and no answer is paid twice."""

import asyncio
import contextlib
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from schemas.llm import CallOutcome, LlmCall
from schemas.needs import ToolSpec
from schemas.replies import ModelFailed, ModelReply, ModelUnavailable
from streams.llm.gateway import Replied, SingleFlight
from streams.llm.journal import JournalError, answer_key, earlier_calls
from streams.llm.request import Question, prompt_tokens_of
from streams.llm.settings import ModelLimits, TaskPolicy
from streams.llm.sqlite_journal import SqliteJournal
from tests.kafka.installation import until
from tests.samples import instance
from tests.streams.doubles import VirtualClock
from tests.streams.llm.model_server import (
    ANSWERED,
    FAULTS,
    Behaviour,
    Wire,
    by_message,
    hangs,
    model_server,
    refuses_parameter,
    resets,
    says,
    slow,
    status,
)
from tests.streams.llm.questions import FREE, HASTY, MODEL, TASK, gateway_at, question, served
from tests.tables import tables

TABLES = tables(__file__)

AT_EASE = TaskPolicy(deadline_seconds=5.0, patience_seconds=5.0, attempts=HASTY.attempts)
"""For calls that are to be tried again, however busy the machine is."""
UNAVAILABLE = {"429", "429, retry soon", "429, retry later", "429, retry some day", "401"}
FAILED = {
    "hangs": CallOutcome.TIMEOUT,
    "hangs in the body": CallOutcome.TIMEOUT,
    "drips": CallOutcome.TIMEOUT,
    "empty choices": CallOutcome.EMPTY,
    "empty text": CallOutcome.EMPTY,
    "null text": CallOutcome.EMPTY,
    "refusal": CallOutcome.REFUSED,
    "content filter": CallOutcome.REFUSED,
    "cut off": CallOutcome.TRUNCATED,
}


def test_tries_of_a_question_share_a_breaker_and_its_deadline() -> None:
    first, second = (Question(question(try_number=n), MODEL, "", FREE, HASTY, cast("Any", None)) for n in (0, 1))
    assert first.key == first.breaker_key == second.breaker_key != second.key
    first.spent = 0.1
    assert first.left == pytest.approx(HASTY.deadline_seconds - 0.1)


async def test_an_answer() -> None:
    async with served(says("0.7"), api_key="sesame") as (server, gateway):
        reply = instance(ModelReply, await gateway.answer(question(temperature=0.1)))
    assert (reply.text, reply.tool_calls) == ("0.7", ())
    call = reply.call
    assert (call.judged_by, call.model, call.outcome) == ("model", MODEL, CallOutcome.OK)
    assert (call.attempts, call.cached, call.temperature, call.prompt_version) == (1, False, 0.1, "0123456789ab")
    assert call.cost_usd == pytest.approx((call.prompt_tokens * 1.0 + call.completion_tokens * 2.0) / 1e6)
    assert call.call_id == answer_key(question(temperature=0.1), MODEL, server.base_url)
    [asked] = server.asked
    assert asked.headers["authorization"] == "Bearer sesame"
    assert asked.body["max_tokens"] == 10
    assert asked.messages[1] == {"role": "user", "content": "Is it?"}


@pytest.mark.parametrize("fault", FAULTS)
async def test_every_fault_is_a_value_in_time(fault: str) -> None:
    """No call hangs, none raises, and no connection is left open."""
    policy = HASTY if FAILED.get(fault) is CallOutcome.TIMEOUT else AT_EASE
    async with served(FAULTS[fault], policy) as (server, gateway):
        async with asyncio.timeout(20):
            reply = await gateway.answer(question())
        if fault in ANSWERED:
            assert isinstance(reply, ModelReply)
        elif fault in UNAVAILABLE:
            assert isinstance(reply, ModelUnavailable)
        else:
            assert isinstance(reply, ModelFailed)
            assert reply.call.outcome is FAILED.get(fault, CallOutcome.ERROR)
        assert len(server.asked) <= HASTY.attempts
        if policy is HASTY:
            await until(lambda: not server.connections)
            assert [asked.ended for asked in server.asked] == ["abandoned"]


async def test_all_tries_together_have_one_deadline() -> None:
    """By the gateway's own clock, which the server moves on."""
    clock, policy = VirtualClock(), TaskPolicy(deadline_seconds=100.0, patience_seconds=1.0, attempts=10)

    async def after_long(wire: Wire) -> None:
        clock.seconds += 40.0
        await status(500)(wire)

    async with served(after_long, policy, clock=clock) as (server, gateway):
        reply = instance(ModelFailed, await gateway.answer(question()))
    assert reply.call.attempts == len(server.asked) == 3, "the third begins within the deadline, and a fourth would not"


async def test_cancelled_question_leaves_no_call_and_costs_its_prompt() -> None:
    """The prompt may have been read."""
    store = SqliteJournal(None)
    async with served(hangs(), TaskPolicy(), journal=store) as (server, gateway):
        asking = asyncio.create_task(gateway.answer(question(max_tokens=100_000)))
        await until(lambda: bool(server.asked))
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        total = await store.booked(datetime.now(UTC).date().isoformat())
        assert 0 < total < 100e-6
        await until(lambda: not server.connections)
        server.behave = says("0.7")
        assert isinstance(await gateway.answer(question()), ModelReply)


@pytest.mark.parametrize("first", [status(500), resets(), status(429), status(429, retry_after="0.1")])
async def test_what_may_pass_is_tried_again(first: Behaviour) -> None:
    async with served(says("0.7"), AT_EASE) as (server, gateway):
        server.script = [first]
        reply = instance(ModelReply, await gateway.answer(question()))
    assert reply.call.attempts == len(server.asked) == 2


async def test_the_same_question_is_paid_once(tmp_path: Path) -> None:
    kept = tmp_path / "deep" / "llm.sqlite"
    async with model_server(slow(0.05, says("0.7"))) as server:
        async with gateway_at(server.base_url, cache_path=kept) as gateway:
            replies = await asyncio.gather(*(gateway.answer(question()) for _ in range(5)))
        async with gateway_at(server.base_url, cache_path=kept) as gateway:
            replies.append(await gateway.answer(question()))
            assert isinstance(await gateway.answer(question(try_number=2)), ModelReply)
    assert len(server.asked) == 2
    calls = [reply.call for reply in replies if isinstance(reply, ModelReply)]
    assert len(calls) == 6
    assert sorted(call.cached for call in calls) == [False, *[True] * 5]
    assert {call.cost_usd for call in calls if call.cached} == {0.0}


@pytest.mark.parametrize(
    "other", [*TABLES["another_question_is_another"], {"tools": (ToolSpec("search", "Searches.", {}),)}]
)
async def test_another_question_is_another(other: dict[str, Any]) -> None:
    async with served() as (server, gateway):
        await gateway.answer(question())
        await gateway.answer(question(**other))
    assert len(server.asked) == 2


@pytest.mark.parametrize("name", ["response_format", "max_tokens", "temperature"])
async def test_a_parameter_that_is_refused_is_left_out_from_then_on(name: str) -> None:
    limits = ModelLimits(**{**FREE.model_dump(), "structured": True})
    async with served(refuses_parameter(name, says("{}")), limits=limits) as (server, gateway):
        for number in range(2):
            assert isinstance(await gateway.answer(question(str(number), schema={"type": "object"})), ModelReply)
    assert [name in asked.body for asked in server.asked] == [True, False, False]
    if name == "max_tokens":
        assert server.asked[1].body["max_completion_tokens"] == 10


async def test_a_budget_needs_prices() -> None:
    limits = ModelLimits(**{**FREE.model_dump(), "price_in": None})
    async with served(limits=limits, budget_usd_per_day=1.0) as (server, gateway):
        reply = instance(ModelUnavailable, await gateway.answer(question()))
    assert "prices" in reply.detail
    assert not server.asked


async def test_locked_journal_delays_an_answer_up_to_the_deadline_only(tmp_path: Path) -> None:
    """Before a call nothing was judged; after it the answer is there, and is written when it can be."""
    path = tmp_path / "llm.sqlite"
    async with model_server(says("0.7")) as server:
        async with gateway_at(server.base_url, cache_path=path) as gateway:
            await gateway.answer(question("first"))
            with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                async with asyncio.timeout(20):
                    reply = await gateway.answer(question("held"))
                other.execute("COMMIT")
            assert isinstance(reply, ModelUnavailable)
            assert "within" in reply.detail
            assert len(server.asked) == 1
            with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:

                async def held(wire: Wire) -> None:
                    other.execute("BEGIN IMMEDIATE")
                    await says("0.8")(wire)

                server.script = [held]
                async with asyncio.timeout(20):
                    reply = await gateway.answer(question("paid"))
                other.execute("COMMIT")
            assert isinstance(reply, ModelReply)
        async with gateway_at(server.base_url, cache_path=path) as gateway:
            again = instance(ModelReply, await gateway.answer(question("paid")))
    assert (again.text, again.call.cached) == ("0.8", True)
    assert await booked_today(path) == pytest.approx(2 * (reply.call.cost_usd or 0.0), rel=0.1)


async def test_failed_call_is_reported_while_the_journal_is_locked(tmp_path: Path) -> None:
    """It hung, whatever the journal does; what that cost is written when it can be."""
    path = tmp_path / "llm.sqlite"
    async with model_server() as server:
        async with gateway_at(server.base_url, cache_path=path) as gateway:
            await gateway.answer(question("first"))
            with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:

                async def held(wire: Wire) -> None:
                    other.execute("BEGIN IMMEDIATE")
                    await hangs()(wire)

                server.script = [held]
                async with asyncio.timeout(20):
                    reply = await gateway.answer(question("hung"))
                other.execute("COMMIT")
        assert isinstance(reply, ModelFailed)
        assert reply.call.outcome is CallOutcome.TIMEOUT
    assert reply.call.cost_usd is not None
    assert await booked_today(path) >= reply.call.cost_usd


async def booked_today(path: Path) -> float:
    """USD in the journal's account."""
    store = SqliteJournal(path)
    total = await store.booked(datetime.now(UTC).date().isoformat())
    await store.aclose()
    return total


async def test_what_calls_took_is_kept_beside_what_was_foreseen(tmp_path: Path) -> None:
    """A question that goes on with a conversation is counted apart; an answer that was kept is counted once."""
    need, store = question("word " * 100), SqliteJournal(tmp_path / "llm.sqlite")
    usage = {"prompt_tokens": 150, "completion_tokens": 3}
    async with served(says("0.7", usage=usage), journal=store) as (_, gateway):
        for asked in (need, need, replace(need, try_number=2)):
            await gateway.answer(asked)
    for row in await earlier_calls(SqliteJournal(tmp_path / "llm.sqlite"), TASK, MODEL):
        assert (row.answered, row.estimated, row.prompt, row.completion) == (1, prompt_tokens_of(need), 150, 3)


class FullStore(SqliteJournal):
    async def keep(self, *_: Any) -> float:
        raise JournalError("disk full")


async def test_a_paid_answer_that_can_t_be_kept_is_handed_out() -> None:
    async with served(journal=FullStore(None)) as (_, gateway):
        assert isinstance(await gateway.answer(question()), ModelReply)


async def test_no_model_is_named() -> None:
    async with served(model="") as (_, gateway):
        reply = instance(ModelUnavailable, await gateway.answer(question()))
    assert "ASSAY_LLM__MODEL" in reply.detail


async def test_key_repeated_by_the_server_is_not_passed_on() -> None:
    repeats = status(401, message="Incorrect API key provided: sesame-123", kind="invalid_api_key")
    async with served(repeats, api_key="sesame-123") as (_, gateway):
        reply = await gateway.answer(question())
        again = await gateway.answer(question("another"))
    assert isinstance(reply, ModelUnavailable)
    assert isinstance(again, ModelUnavailable)
    told = "status 401 invalid_api_key (is ASSAY_LLM__API_KEY right?)"
    assert reply.detail.startswith(f"{told}: ")
    assert (reply.lasting, again.lasting) == (True, False)
    assert again.detail == f"model-1 is paused after failures, the last time with: {told}"
    assert "sesame" not in reply.detail


async def test_question_that_is_always_too_large_fails_finally() -> None:
    """Some servers answer 429 to what no pause makes smaller; others are answered meanwhile."""
    too_large = by_message(lambda text: status(429, retry_after="0") if text == "large" else says("0.7"))
    async with served(too_large) as (_, gateway):
        replies = []
        for number in range(4):
            replies.append(await gateway.answer(question("large")))
            assert isinstance(await gateway.answer(question(str(number))), ModelReply)
    assert [type(reply) for reply in replies] == [*[ModelUnavailable] * 3, ModelFailed]
    assert isinstance(replies[-1], ModelFailed)
    assert replies[-1].call.outcome is CallOutcome.RATE_LIMITED


# --- one call for all callers with the same question -----------------------------------------------------------------


CALL = LlmCall(outcome=CallOutcome.OK, **TABLES["call"])
_TURNS = 20
"""Turns of the loop: more than the next caller needs to ask."""


class Asked:
    """Counts, waits until it may, and replies."""

    def __init__(self, reply: Replied) -> None:
        self.reply = reply
        self.times = 0
        self.may = asyncio.Event()

    async def __call__(self) -> Replied:
        self.times += 1
        await self.may.wait()
        return self.reply


@pytest.mark.parametrize("reply", [ModelReply("1", (), CALL), ModelFailed(CALL, "no"), ModelUnavailable("down", 3.0)])
async def test_all_get_the_reply_and_one_its_cost(reply: Replied) -> None:
    flights, ask = SingleFlight(), Asked(reply)
    asking = [asyncio.create_task(flights.share("k", ask)) for _ in range(4)]
    await asyncio.sleep(0)
    ask.may.set()
    first, *others = await asyncio.gather(*asking)
    assert ask.times == 1
    assert first == reply
    assert {type(other) for other in others} == {type(reply)}
    for other in others:
        if not isinstance(other, ModelUnavailable):
            assert (other.call.cost_usd, other.call.attempts, other.call.cached) == (0.0, 0, True)
    assert not flights._pending


async def test_when_the_first_is_cancelled_the_next_asks() -> None:
    flights, ask = SingleFlight(), Asked(ModelReply("1", (), CALL))
    first, *others = [asyncio.create_task(flights.share("k", ask)) for _ in range(4)]
    await asyncio.sleep(0)
    first.cancel()
    others[1].cancel()
    for _ in range(_TURNS):
        await asyncio.sleep(0)
    assert ask.times == 2
    ask.may.set()
    replies = await asyncio.gather(first, *others, return_exceptions=True)
    assert [type(reply).__name__ for reply in replies] == [
        "CancelledError",
        "ModelReply",
        "CancelledError",
        "ModelReply",
    ]
    assert ask.times == 2
    assert not flights._pending
