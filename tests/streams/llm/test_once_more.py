"""A malformed reply is asked for once more, and a claim's later tries begin after a pause."""

from collections.abc import Sequence

import pytest

from schemas.llm import CallOutcome
from schemas.needs import Message
from schemas.replies import ModelReply, ModelUnavailable
from streams.llm.settings import TaskPolicy
from tests.samples import instance
from tests.streams.doubles import VirtualClock
from tests.streams.llm.model_server import Behaviour, hangs, says, status
from tests.streams.llm.questions import question, served
from tests.tables import tables

TABLES = tables(__file__)

AT_EASE = TaskPolicy(deadline_seconds=5.0, patience_seconds=5.0, attempts=2)
GATE = "judge_relevance"
TOKENS = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
COST = (100 * 1.0 + 10 * 2.0) / 1e6


async def test_the_reply_is_shown_and_its_form_asked_for() -> None:
    async with served(None, AT_EASE) as (server, gateway):
        server.script = [says("```\nRelevant\n```\nbecause it is", usage=TOKENS), says("Relevant", usage=TOKENS)]
        reply = await gateway.answer(question(task=GATE))
        again = await gateway.answer(question(task=GATE))
    assert isinstance(reply, ModelReply)
    assert (reply.text, reply.call.attempts, reply.call.outcome) == ("Relevant", 2, CallOutcome.OK)
    assert reply.call.cost_usd == pytest.approx(2 * COST)
    first, second = server.asked
    assert second.messages[:2] == first.messages
    assert [message["role"] for message in second.messages[2:]] == ["assistant", "user"]
    assert "because it is" in second.messages[2]["content"]
    assert "required form" in second.messages[3]["content"]
    assert isinstance(again, ModelReply)
    assert (again.text, again.call.cached) == ("Relevant", True), "kept as the answer of the question as it was asked"


async def test_once_more_and_not_again() -> None:
    policy = AT_EASE.model_copy(update={"attempts": 5})
    async with served(says("perhaps"), policy) as (server, gateway):
        reply = instance(ModelReply, await gateway.answer(question(task=GATE)))
    assert (reply.text, reply.call.attempts) == ("perhaps", 2)
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("trouble", "paid"), [([status(500)], 100), ([status(429, "9")], 0), ([status(401)], 100), ([hangs()], 110)]
)
async def test_first_reply_is_kept_if_the_second_fails(trouble: Sequence[Behaviour], paid: int) -> None:
    policy = AT_EASE.model_copy(update={"deadline_seconds": 1.0})
    async with served(None, policy) as (server, gateway):
        server.script = [says("perhaps", usage=TOKENS), *trouble]
        reply = instance(ModelReply, await gateway.answer(question(task=GATE)))
    assert (reply.text, reply.call.attempts) == ("perhaps", 2)
    assert reply.call.cost_usd is not None
    assert reply.call.cost_usd >= COST
    assert (reply.call.cost_usd > COST) == bool(paid)


async def test_budget_without_room_for_a_retry_returns_the_first_reply() -> None:
    async with served(says("perhaps", usage=TOKENS), AT_EASE, budget_usd_per_day=1.2 * COST) as (_, gateway):
        reply = instance(ModelReply, await gateway.answer(question(task=GATE)))
        assert (reply.text, reply.call.attempts) == ("perhaps", 1)
        assert isinstance(await gateway.answer(question("Another?", task=GATE)), ModelUnavailable)


@pytest.mark.parametrize(("task", "text", "attempts"), TABLES["one_request_is_enough"])
async def test_one_request_is_enough(task: str, text: str, attempts: int) -> None:
    policy = AT_EASE.model_copy(update={"attempts": attempts})
    async with served(says(text), policy) as (server, gateway):
        reply = instance(ModelReply, await gateway.answer(question(task=task)))
    assert (reply.text, len(server.asked)) == (text, 1)


async def test_later_tries_of_a_claim_wait_longer_and_longer() -> None:
    """Half to all of 0.2 s, 0.4 s, 0.8 s …, by chance (0.5 here), and at most ``max_backoff_seconds``."""
    clock, policy = VirtualClock(), TaskPolicy(deadline_seconds=30.0, patience_seconds=1.0, attempts=1)
    pauses = {"first_backoff_seconds": 0.2, "max_backoff_seconds": 1.0}
    async with served(says("about a half"), policy, clock=clock, **pauses) as (_, gateway):
        for number in (1, 2, 3, 4, 5, 9):
            await gateway.answer(question(task="decontextualize_claim", try_number=number))
        assert clock.pauses == pytest.approx([0.15, 0.3, 0.6, 0.75, 0.75])
        tools = (
            *question().messages,
            Message("assistant", ""),
            Message("tool", "Nothing was found.", tool_call_id="a"),
        )
        await gateway.answer(question(task="decontextualize_claim", try_number=2, messages=tools))
        assert len(clock.pauses) == 5, "a try begins once"
        await gateway.answer(question(task="decontextualize_claim", try_number=3))
        assert len(clock.pauses) == 5, "what is in the journal is not waited for"


async def test_no_pause_takes_more_than_half_of_the_deadline() -> None:
    clock, policy = VirtualClock(), TaskPolicy(deadline_seconds=1.0, patience_seconds=1.0, attempts=1)
    pauses = {"first_backoff_seconds": 60.0, "max_backoff_seconds": 60.0}
    async with served(says("0.7"), policy, clock=clock, **pauses) as (_, gateway):
        assert isinstance(await gateway.answer(question(task="decontextualize_claim", try_number=2)), ModelReply)
    assert clock.pauses == [0.5]
