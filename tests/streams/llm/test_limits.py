"""Limits in virtual time: never exceeded in any minute, for any processes and shares, and well used."""

import asyncio
import math
import random
from collections.abc import Callable, Coroutine
from copy import deepcopy
from functools import partial, wraps
from typing import Any, ParamSpec

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.llm.limits import MINUTE, Limiter, ModelTurn, NoTurn, RateWindow, Shares
from streams.llm.settings import ModelLimits
from tests.samples import instance
from tests.simulation.world import World, WorldClock
from tests.streams.doubles import VirtualClock

P = ParamSpec("P")
MARGIN = 0.02
LIMITS = ModelLimits(requests_per_minute=600, tokens_per_minute=10**9, in_flight=4000)


def virtually(work: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Runs a test, or what it calls, in a loop whose time moves only while no task is ready."""

    @wraps(work)
    def run(*given: P.args, **named: P.kwargs) -> None:
        with asyncio.Runner(loop_factory=World) as runner:
            runner.run(work(*given, **named))

    return run


def world_clock() -> WorldClock:
    return WorldClock(instance(World, asyncio.get_running_loop()))


def most_in_a_minute(moments: list[float]) -> int:
    """The most in any window of 60 seconds, wherever it begins, its end included."""
    moments = sorted(moments)
    most = first = 0
    for last, moment in enumerate(moments):
        while moment - moments[first] >= MINUTE:
            first += 1
        most = max(most, last - first + 1)
    return most


class GivenShares(Shares):
    """Shares that a test computes."""

    def __init__(self, share: Callable[[str], float] = lambda _: 1.0, at_once: bool = False) -> None:
        super().__init__({}, {}, at_once=at_once)
        self._share = share

    def of(self, task: str) -> float:
        return self._share(task)


def limiter(limits: ModelLimits, share: Callable[[str], float] = lambda _: 1.0) -> Limiter:
    return Limiter(limits, GivenShares(share), MARGIN, world_clock())


@virtually
async def test_first_question_of_a_command_skips_the_pace() -> None:
    """For each task: a waiting user is not delayed by a share that is not used yet."""
    times: dict[bool, list[float]] = {}
    for at_once in (False, True):
        asked = Limiter(LIMITS, GivenShares(lambda _: 0.01, at_once=at_once), MARGIN, world_clock())
        began = asyncio.get_running_loop().time()
        times[at_once] = []
        for _ in range(8):
            turn = instance(ModelTurn, await asked.turn("task", 100, 10**9))
            turn.over(100)
            times[at_once].append(asyncio.get_running_loop().time() - began)
    assert times[False][0] > 10
    assert times[True][0] == 0
    assert most_in_a_minute(times[True]) <= 6
    assert times[True][-1] > 60


class Fleet:
    """Processes that always have something to ask, each with its own limiter, and a server that notes arrivals."""

    def __init__(self, limits: ModelLimits, parts: list[float], delay: float = 0.0, askers: int = 40) -> None:
        self.parts = parts
        self.arrivals: list[float] = []
        self.under_way = 0
        self.most_under_way = 0
        self._delay = delay
        self._askers = askers
        self._chance = random.Random(7)
        self._limiters = [limiter(limits, partial(self._part, number)) for number in range(len(parts))]

    def _part(self, number: int, _: str) -> float:
        return self.parts[number]

    async def run(self, seconds: float) -> None:
        """Asks for so long."""
        tasks = [asyncio.create_task(self._ask(each)) for each in self._limiters for _ in range(self._askers)]
        await asyncio.sleep(seconds)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _ask(self, each: Limiter) -> None:
        while True:
            turn = instance(ModelTurn, await each.turn("task", 100, 10**9))
            # A request arrives a little later than it was sent, each by another time.
            self.arrivals.append(asyncio.get_running_loop().time() + self._chance.random() * self._delay)
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
            try:
                await asyncio.sleep(0.5 * self._chance.lognormvariate(0.0, 1.0))
            finally:
                self.under_way -= 1
                turn.over(None)

    def used(self, begin: float, end: float) -> float:
        """Requests a minute between two moments."""
        return sum(begin <= moment < end for moment in self.arrivals) / (end - begin) * MINUTE


@pytest.mark.parametrize("parts", [[1.0], [0.25] * 4, [0.5, 0.3, 0.2]])
@virtually
async def test_never_over_and_well_used(parts: list[float]) -> None:
    fleet = Fleet(LIMITS, parts, delay=0.3)
    await fleet.run(240)
    assert most_in_a_minute(fleet.arrivals) <= 600
    assert fleet.used(60, 240) >= 0.95 * 600


@pytest.mark.parametrize("seed", range(4))
@virtually
async def test_never_over_while_partitions_move(seed: int) -> None:
    """Every few seconds all processes give everything back, and then get other parts; at most everything is held."""
    chance = random.Random(seed)
    fleet = Fleet(LIMITS, [0.25] * 4, delay=0.3, askers=80)

    async def rebalance() -> None:
        while True:
            await asyncio.sleep(chance.uniform(5, 40))
            fleet.parts[:] = [0.0] * 4
            await asyncio.sleep(chance.uniform(0, 1))
            cuts = sorted(chance.randint(0, 12) for _ in range(3))
            ends = [0, *cuts, 12]
            for number in range(4):
                await asyncio.sleep(chance.uniform(0, 0.3))
                fleet.parts[number] = (ends[number + 1] - ends[number]) / 12

    moving = asyncio.create_task(rebalance())
    await fleet.run(400)
    moving.cancel()
    assert most_in_a_minute(fleet.arrivals) <= 600
    assert fleet.used(60, 400) >= 0.8 * 600


@virtually
async def test_tokens_are_a_limit_too() -> None:
    """What was estimated is set right by what was used."""
    each = limiter(ModelLimits(requests_per_minute=10_000, tokens_per_minute=60_000, in_flight=100))
    used: list[float] = []
    while asyncio.get_running_loop().time() < 240:
        turn = instance(ModelTurn, await each.turn("task", 500, 10**9))
        used += [asyncio.get_running_loop().time()] * 1000
        await asyncio.sleep(0.01)
        turn.over(1000)
    assert most_in_a_minute(used) <= 60_000
    assert len(used) / 4 >= 0.95 * 60_000


@virtually
async def test_patience() -> None:
    """What can't come in time is refused at once; who waits is served in order."""
    each = limiter(ModelLimits(requests_per_minute=60, tokens_per_minute=10**9, in_flight=100))
    turns = await asyncio.gather(*(each.turn("task", 1, 5.0) for _ in range(12)))
    served = [turn.waited for turn in turns if isinstance(turn, ModelTurn)]
    refused = [turn for turn in turns if isinstance(turn, NoTurn)]
    assert served == sorted(served)
    assert len(served) in (5, 6)
    assert all(turn.waited < 0.01 for turn in refused)
    assert all(turn.after_seconds > 4 for turn in refused)
    for rest, resting in ((3.0, False), (30.0, True)):
        each.rate_limited(rest)
        turns = await asyncio.gather(*(each.turn("task", 1, 5.0) for _ in range(12)))
        refused = [turn for turn in turns if isinstance(turn, NoTurn)]
        assert {turn.paused for turn in refused} == {resting}


@virtually
async def test_task_without_a_share_waits_until_it_gets_one() -> None:
    shares = Shares({"task": "m"}, {})
    shares.expect("task", ["topic"])
    each = Limiter(LIMITS, shares, MARGIN, world_clock())
    assert isinstance(await each.turn("task", 1, 3.0), NoTurn)
    waiting = asyncio.create_task(each.turn("task", 1, 100.0))
    await asyncio.sleep(10)
    assert not waiting.done()
    shares.on_assignment("task", "topic", 3, 6)
    assert isinstance(await waiting, ModelTurn)
    assert 10 < asyncio.get_running_loop().time() - 3 < 12.5


def test_server_complaints_lower_the_limit_within_bounds() -> None:
    clock = VirtualClock()
    each = Limiter(LIMITS, GivenShares(), MARGIN, clock)
    allowed = []
    for moment in (0.0, 0.0, 5.0, 65.0, 70.1, 75.2, 80.3, 85.4, 90.5):
        clock.seconds = moment
        each.rate_limited(1.0)
        allowed.append(each.allowed("task"))
    # It grows by a fifth in a minute: after 5 s by a sixtieth, after 65 s to 0.5 + 0.21.
    assert allowed[:4] == [300, 300, 310, 215]
    assert allowed[-1] == 30
    clock.seconds = 10_000.0
    assert each.allowed("task") == 600


@virtually
async def test_pause_that_ends_with_the_patience_is_not_exceeded() -> None:
    each = limiter(ModelLimits(requests_per_minute=1, tokens_per_minute=10**9, in_flight=10))
    assert isinstance(await each.turn("task", 1, 1.0), ModelTurn)
    each.rate_limited(10.0)
    refused = instance(NoTurn, await each.turn("task", 1, 10.0))
    assert not refused.paused
    refused = instance(NoTurn, await each.turn("task", 1, 9.9))
    assert refused.paused


def test_a_pace_is_corrected_where_there_is_a_limit() -> None:
    pace = RateWindow(MARGIN)
    pace.set_limit(60, 0.0)
    pace.correct(9)
    pace.take(1, 0.0)
    pace.correct(29)
    assert pace.pause(60, 1.0) == pace.pause(31, 1.0) == pytest.approx(MINUTE * (1 + MARGIN) - 1.0)
    pace.set_limit(0, 1.0)
    pace.correct(1)
    assert pace.pause(1, 1.0) == math.inf


@settings(max_examples=50)
@given(st.lists(st.tuples(st.floats(0, 20), st.integers(1, 40)), max_size=200), st.integers(1, 100), st.integers(1, 9))
def test_the_window_holds_exactly(steps: list[tuple[float, int]], limit: int, amount: int) -> None:
    """For any times and amounts of questions, however late; and no pause is longer than it has to be."""
    pace = RateWindow(MARGIN)
    now, taken = 0.0, []
    pace.set_limit(limit, now, fresh=True)
    for late, many in steps:
        for _ in range(many):
            if (pause := pace.pause(amount, now)) > 0:
                assert deepcopy(pace).pause(amount, now + pause * 0.999) > 0
                assert deepcopy(pace).pause(amount, now + pause) == pytest.approx(0, abs=1e-6)
                break
            pace.take(amount, now)
            taken += [now] * amount
        now += late
    assert most_in_a_minute(taken) <= max(limit, amount)


# --- shares ----------------------------------------------------------------------------------------------------------


MODELS = {"gate": "small", "claims": "large", "search": "large"}


def test_replays_and_live_traffic_have_the_whole_together() -> None:
    weights = {"claims": 3.0, "search": 1.0}
    live, replay = Shares(MODELS, weights, 0.8), Shares(MODELS, weights, 0.2)
    assert live.of("claims") + live.of("search") + replay.of("claims") + replay.of("search") == 1.0
    assert replay.of("claims") < live.of("claims")


def test_partitions() -> None:
    shares = Shares(MODELS, {})
    shares.expect("gate", ["own", "retry"])
    assert shares.of("gate") == 0.0
    shares.on_assignment("gate", "own", 3, 6)
    assert shares.of("gate") == 0.25
    shares.on_assignment("gate", "retry", 6, 6)
    assert shares.of("gate") == 0.75
    shares.on_assignment("gate", "own", 0, 0)
    shares.on_assignment("gate", "another topic", 6, 6)
    shares.on_assignment("another task", "own", 6, 6)
    assert shares.of("gate") == 0.5


@given(st.lists(st.integers(0, 3), min_size=12, max_size=12), st.lists(st.integers(0, 3), min_size=6, max_size=6))
def test_all_parts_together_are_the_whole(own: list[int], retry: list[int]) -> None:
    """For any assignment of the partitions to four processes."""
    total = 0.0
    for process in range(4):
        shares = Shares(MODELS, {"claims": 3.0, "search": 1.0})
        for task in ("claims", "search"):
            shares.expect(task, ["own", "retry"])
            shares.on_assignment(task, "own", own.count(process), 12)
            shares.on_assignment(task, "retry", retry.count(process), 6)
            total += shares.of(task)
    assert abs(total - 1.0) < 1e-9
