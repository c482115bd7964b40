"""One call for all callers with the same question, also if one of them is cancelled."""

import asyncio

import pytest

from schemas.llm import CallOutcome, LlmCall
from schemas.replies import ModelFailed, ModelReply, ModelUnavailable
from streams.llm.gateway import Replied, SingleFlight
from tests.tables import tables

TABLES = tables(__file__)

CALL = LlmCall(outcome=CallOutcome.OK, **TABLES["call"])
_TURNS = 20  # turns of the loop: more than the next caller needs to ask


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
    assert len(flights) == 0


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
    assert len(flights) == 0


async def test_later_call_and_other_key_ask_again() -> None:
    flights, ask = SingleFlight(), Asked(ModelFailed(CALL, "no"))
    ask.may.set()
    await flights.share("k", ask)
    await asyncio.gather(flights.share("k", ask), flights.share("other", ask))
    assert ask.times == 3


async def test_a_bug_is_its_finder_s_and_the_next_asks() -> None:
    flights, ask = SingleFlight(), Asked(ModelReply("1", (), CALL))

    async def broken() -> Replied:
        await asyncio.sleep(0)
        raise RuntimeError

    finder, other = (asyncio.create_task(flights.share("k", which)) for which in (broken, ask))
    ask.may.set()
    assert [type(end).__name__ for end in await asyncio.gather(finder, other, return_exceptions=True)] == [
        "RuntimeError",
        "ModelReply",
    ]
