"""Paid replays on a real Kafka and a model server: the estimate matches the cost, and a second replay is free."""

import asyncio
import time
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from schemas.relevance import RelevanceJudged, RelevanceRequested
from schemas.replays import ReplayPlan, ReplayState
from streams.cli.replay_run import show_estimate
from streams.replay.budget import spent_by
from streams.replay.estimate import Estimate, PaidEstimate, estimate
from streams.replay.plan import ReplayError
from streams.topology import REPLAYS
from streams.topology.topics import replay_dead_letters
from tests.kafka.installation import Installation, Installing, handlers_named, until
from tests.kafka.replays import Watched, carried_out, planned
from tests.samples import instance
from tests.streams.llm.judges import input_of, judge_of
from tests.streams.llm.model_server import Behaviour, ModelServer, Wire, model_server, says

SOURCES, JUDGED = "relevance.requested.v1", "relevance.judged.v1"
BEFORE, ALL = 80, 320
"""Inputs that live traffic has judged before, and inputs in all."""
GOAL = 0.05
MANY, BOUND = 120, 0.008
"""Inputs of a replay, and the USD at which it pauses, which are less than those of all inputs."""


async def settled(installing: Installing, server: ModelServer, folder: Path) -> Installation:
    """An installation with a model that takes much and costs something; replies are dear, so that they count."""
    limits = {"requests_per_minute": 600_000, "tokens_per_minute": 10**9, "in_flight": 40}
    return await installing(
        handlers_named("judge_relevance", "decontextualize_claim"),
        [REPLAYS],
        llm={"base_url": server.base_url, "model": "judge", "cache_path": str(folder / "llm.sqlite")},
        models={
            "limits": {"default": {**limits, "price_in": 1.0, "price_out": 20.0}},
            "tasks": {"judge_relevance": {"deadline_seconds": 20.0}},
        },
    )


def counted(wire: Wire, text: str) -> Behaviour:
    """A reply by a server that counts other tokens than are estimated: 3.2 characters of a prompt, and 2 to 5."""
    prompt = sum(len(str(message.get("content") or "")) for message in wire.asked.messages)
    usage = {"prompt_tokens": prompt * 10 // 32, "completion_tokens": 2 + len(wire.asked.text) % 4}
    return says(text, usage=usage)


async def judge(wire: Wire) -> None:
    await counted(wire, "Relevant" if sum(wire.asked.text.encode()) % 3 else "irrelevant")(wire)


def source(number: int) -> tuple[bytes, bytes]:
    """Sources of different lengths, in German: the estimate of their tokens is off by more than the goal."""
    event = instance(RelevanceRequested, input_of("judge_relevance", number))
    title = "Über die Prüfung der Verträge " * (1 + number % 7)
    return f"k{number}".encode(), event.model_copy(update={"title": title, "html": None, "content": title}).to_json()


def paid(found: Estimate) -> PaidEstimate:
    [asked] = [its.paid for its in found.handlers if its.paid is not None]
    return asked


async def spent(place: Installation, plan: ReplayPlan) -> float:
    """USD of a plan, as its journal has it."""
    found = await spent_by(place.settings, plan.run, time.time())
    assert found is not None
    return found


@pytest.mark.slow
async def test_estimate_matches_the_cost_and_a_second_replay_is_free(
    installing: Installing, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with model_server(judge) as server:
        place = await settled(installing, server, tmp_path)
        await place.feed([source(number) for number in range(BEFORE)], SOURCES)
        await place.drain(judge_of("judge_relevance"))
        # One input comes twice: it is paid once.
        await place.feed([source(number) for number in (*range(BEFORE, ALL), BEFORE)], SOURCES)
        plan = await planned(place.settings, "judge_relevance", plan="first", max_cost_usd=1.0)
        found = await estimate(place.settings, plan)
        foreseen, asked = paid(found), len(server.asked)
        assert (found.records, foreseen.calls, foreseen.kept) == (ALL + 1, ALL - BEFORE, BEFORE + 1)
        assert asked == BEFORE, "an estimate makes no calls"
        assert foreseen.because == f"{BEFORE} earlier calls"
        assert (await carried_out(place.settings, "first")).state is ReplayState.FINISHED
        cost = await spent(place, plan)
        assert len(server.asked) - asked == foreseen.calls
        assert foreseen.usd == pytest.approx(cost, rel=GOAL)
        assert len(await place.read(f"{JUDGED}.replay.first")) == ALL + 1
        again = await planned(place.settings, "judge_relevance", plan="second", max_cost_usd=0.0)
        found = await estimate(place.settings, again)
        assert (paid(found).calls, paid(found).usd) == (0, 0)
        assert paid(found).saved_usd == pytest.approx(cost, rel=0.5)
        asked = len(server.asked)
        assert (await carried_out(place.settings, "second")).state is ReplayState.FINISHED
        assert len(server.asked) == asked
        assert await spent(place, again) == 0.0
        judged = await place.events(RelevanceJudged, ".replay.second")
    assert len(judged) == ALL + 1
    assert all(event.llm is not None and event.llm.cached for event in judged)
    show_estimate(found)
    assert "costs: about $0; answers in the journal save $" in capsys.readouterr().out


async def test_at_its_bound_a_replay_pauses_and_loses_nothing(installing: Installing, tmp_path: Path) -> None:
    async with model_server(judge) as server:
        place = await settled(installing, server, tmp_path)
        await place.feed([source(number) for number in range(MANY)], SOURCES)
        plan = await planned(place.settings, "judge_relevance", max_cost_usd=BOUND)
        foreseen = paid(await estimate(place.settings, plan))
        assert foreseen.because.startswith("prompts as estimated and the longest replies")
        assert (foreseen.calls, foreseen.kept) == (MANY, 0)
        with capture_logs() as logs:
            paused = await carried_out(place.settings)
        assert [entry["event"] for entry in logs if entry["log_level"] != "info"] == [], "nothing is down"
        assert (paused.state, "--max-cost MORE" in paused.detail) == (ReplayState.PAUSED, True)
        assert 0 < await spent(place, plan) <= BOUND
        asked = len(server.asked)
        assert 0 < asked < MANY
        assert (await carried_out(place.settings)).state is ReplayState.PAUSED
        assert len(server.asked) <= asked + 1
        watched = Watched()
        done = await carried_out(place.settings, report=watched, terms={"max_cost_usd": 1.0})
        assert (done.state, done.max_cost_usd) == (ReplayState.FINISHED, 1.0)
        judged = await place.events(RelevanceJudged, ".replay.again")
        letters = await place.read(replay_dead_letters(judge_of("judge_relevance"), "again"))
        total = await spent(place, plan)
    assert letters == []
    assert len(judged) == len({event.request_id for event in judged}) == MANY
    assert {event.outcome for event in judged} == {"relevant", "irrelevant"}
    assert len(server.asked) == MANY, "nothing is paid twice"
    assert foreseen.usd is not None
    assert total < foreseen.usd, "the longest replies are more than the real ones"
    assert watched.last is not None
    assert watched.last.spent_usd == pytest.approx(total)


async def test_two_plans_don_t_ask_the_same_models_at_a_time(installing: Installing, tmp_path: Path) -> None:
    """Together they would take more than the part of the limits that replays have."""
    refused = asyncio.Event()

    async def late(wire: Wire) -> None:
        await refused.wait()
        await says("Relevant")(wire)

    async with model_server(late) as server:
        place = await settled(installing, server, tmp_path)
        await place.feed([source(number) for number in range(20)], SOURCES)
        for plan in ("first", "second"):
            await planned(place.settings, "judge_relevance", plan=plan, max_cost_usd=1.0)
        working = asyncio.create_task(carried_out(place.settings, "first"))
        await until(lambda: bool(server.asked) or working.done())
        with pytest.raises(ReplayError, match="the plan first is at work and asks models for judge_relevance too"):
            await carried_out(place.settings, "second")
        refused.set()
        assert (await working).state is ReplayState.FINISHED
        assert (await carried_out(place.settings, "second")).state is ReplayState.FINISHED
        assert len(server.asked) == 20
