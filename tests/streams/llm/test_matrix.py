"""Every task under every fault, through the real gateway: the outcome of the input, as a table.

A gate that lets only the exact word pass, counted numbers if a judge fails, a claim without a score rather than with an
invented one, an order that is kept without the judge, and no decision while no model is available.
"""

import asyncio
from pathlib import Path

import pytest

from streams.llm.settings import TaskPolicy
from streams.llm.sqlite_journal import SqliteJournal
from tests.kafka.installation import until
from tests.streams.doubles import VirtualClock
from tests.streams.llm.judges import GOOD, TASKS, WAITS, in_a_word, input_of, judge
from tests.streams.llm.model_server import ANSWERED, FAULTS, model_server, says
from tests.streams.llm.questions import HASTY, gateway_at, served
from tests.tables import tables

TABLES = tables(__file__)

BEHAVED = TABLES["behaved"]
CELLS = [
    (fault.replace(":", ","), task, word)
    for faults, words in TABLES["matrix"].items()
    for fault in faults.split(", ")
    for task, word in zip(BEHAVED, words.split(", "), strict=True)
]
"""Fault, task, and what becomes of an input of the task: the outcome that its event names, and whose score it has.
``waits``: it is tried again."""
ONE_OF_EACH_KIND = {"odd usage", "drips", "429", "500", "empty text", "bold", "irrelevant", "tool storm"}
"""Faults for the quick tests. The gateway has a test of every fault, and tells the tasks only its kind."""
ENDLESS = ("hangs", "hangs in the body", "drips")  # those that come to their end by the deadline
PATIENT = TaskPolicy(**{**HASTY.model_dump(), "deadline_seconds": 5.0})
IMPATIENT = TaskPolicy(**{**HASTY.model_dump(), "deadline_seconds": 1.5})
"""The journal has half of this time to answer, which a write to a busy disk must not exceed."""
MOST_ASKED = 9  # requests for one input: tries of a claim with two rounds of tools each
PAID = ANSWERED | {"empty choices", "empty text", "null text", "refusal", "content filter", "cut off"}
"""A reply came, which is kept."""


@pytest.mark.parametrize(
    ("fault", "task", "expected"),
    [pytest.param(*cell, marks=() if cell[0] in ONE_OF_EACH_KIND else pytest.mark.slow) for cell in CELLS],
)
async def test_under_a_fault(fault: str, task: str, expected: str, tmp_path: Path) -> None:
    """And after a restart, at a server that behaves: paid answers are kept, all others are asked again."""
    kept, event = tmp_path / "llm.sqlite", input_of(task)
    async with model_server(FAULTS[fault]) as server:
        policy = IMPATIENT if fault in ENDLESS else PATIENT
        async with gateway_at(server.base_url, policy, cache_path=kept) as gateway, asyncio.timeout(20):
            assert in_a_word(await judge(task, event, gateway.answer)) == expected
        assert len(server.asked) <= MOST_ASKED
        await until(lambda: not server.connections)
        server.behave = says(GOOD[task])
        async with gateway_at(server.base_url, PATIENT, cache_path=kept) as gateway:
            again = in_a_word(await judge(task, event, gateway.answer))
    assert again == (expected if fault in PAID else BEHAVED[task])


@pytest.mark.parametrize("fault", ["prose", "out of range", "unknown tool", "speaks of what was not shown"])
@pytest.mark.parametrize("task", TASKS)
async def test_unreadable_reply_is_kept_for_an_hour_then_asked_again(task: str, fault: str) -> None:
    """A crash does not pay for it twice, and a judgment that failed can be had again (R-130)."""
    source = '{"number": 99, "relevance": 1, "quality": 1}'
    unknown = says(GOOD["evaluate_retrieval"].replace("[]", f"[{source}]"))
    clock, event, store = VirtualClock(), input_of(task), SqliteJournal(None)
    words, asked = [], []
    async with served(FAULTS.get(fault, unknown), PATIENT, clock=clock, journal=store, cache_failed_seconds=3600) as (
        server,
        gateway,
    ):
        for seconds in (0, 3500, 101, 20 * 86_400):
            clock.seconds += seconds
            words.append(in_a_word(await judge(task, event, gateway.answer)))
            asked.append(len(server.asked))
            if seconds:
                server.behave = says(GOOD[task])
    assert words == [words[0], words[0], BEHAVED[task], BEHAVED[task]]
    assert words[0] != BEHAVED[task]
    assert asked[0] == asked[1] < asked[2] == asked[3]


@pytest.mark.parametrize(("task", "fault"), [("judge_relevance", "hangs"), *((task, "500") for task in TASKS)])
async def test_outage_decides_few_inputs_until_the_breaker_opens(task: str, fault: str) -> None:
    """And what waited is judged when it closes again."""
    policy = TaskPolicy(**{**HASTY.model_dump(), "deadline_seconds": 0.5 if fault == "hangs" else 5.0})
    events, clock = [input_of(task, number) for number in range(6)], VirtualClock()
    async with served(FAULTS[fault], policy, clock=clock, breaker_failures=3, breaker_first_seconds=60) as (
        server,
        gateway,
    ):
        words = [in_a_word(await judge(task, event, gateway.answer)) for event in events]
        assert words[2:] == [WAITS] * 4
        assert WAITS not in words[:2]
        server.behave = says(GOOD[task])
        clock.seconds += 61
        words = [in_a_word(await judge(task, event, gateway.answer)) for event in events[2:]]
    assert words == [BEHAVED[task]] * 4
