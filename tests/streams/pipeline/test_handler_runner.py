import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.event import Event, Run
from schemas.needs import Ask, FetchPages, IndexDocument, Need
from schemas.outcome import Dead, DeadReason, Drop, DropReason, Emit, Outcome, Retry, RetryReason
from schemas.replies import ModelUnavailable, PagesReply, Reply
from streams.pipeline.breaker import Breaker, ClosedBreaker
from streams.pipeline.handler_runner import AttemptResult, HandlerRunner, exhausted
from streams.settings.model import BreakerSettings, RetrySettings
from streams.topology import Handler
from tests.streams.doubles import BEGAN, PAGE, NoRules, VirtualClock, handler_of

PATIENCE = RetrySettings(max_attempts=4, first_seconds=0.5, max_seconds=3.0)
DROP = Drop(DropReason.NOTHING_TO_DO)
UNAVAILABLE = Retry(RetryReason.UNAVAILABLE, "no answer")


@dataclass
class World:
    """Answers with the given replies and then with nothing, or does what the test wants."""

    trouble: Callable[[int], None] = lambda _: None
    replies: list[Reply] = field(default_factory=list)
    needs: list[Need] = field(default_factory=list)
    runs: list[Run | None] = field(default_factory=list)

    async def answer(self, need: Need, run: Run | None) -> Reply:
        self.needs.append(need)
        self.runs.append(run)
        await asyncio.sleep(0)
        self.trouble(len(self.needs))
        return self.replies.pop(0) if self.replies else PagesReply(())


def ask(url: str = "https://a.example/") -> Ask:
    return Ask(FetchPages((url,), "query"))


def answers(outcomes: Iterable[Outcome | Ask]) -> Callable[[Event, Any], Outcome | Ask]:
    """A handler's function that gives these answers one after another."""
    rest = iter(outcomes)
    return lambda *_: next(rest)


def runner_of(
    handler: Handler, services: World, clock: VirtualClock, *more: Any, chance: float = 0.5, policy: Any = PATIENCE
) -> HandlerRunner:
    breaker = Breaker(BreakerSettings(), clock)
    return HandlerRunner(handler, NoRules(), policy, services, clock, lambda: chance, breaker, *more)


async def come_to_an_end(
    handler: Handler, services: World | None = None, clock: VirtualClock | None = None, chance: float = 0.5
) -> Outcome:
    runner = runner_of(handler, services or World(), clock or VirtualClock(), chance=chance)
    answer = runner.decide(PAGE)
    if not isinstance(answer, Ask | Retry):
        return answer
    tried = await runner.finish(PAGE, answer, record=1)
    return exhausted(tried.outcome, tried.attempts) if isinstance(tried.outcome, Retry) else tried.outcome


def read_last(event: Event, replies: tuple[Reply, ...], rules: Any) -> Outcome:
    last = replies[-1]
    return last.retry() if isinstance(last, ModelUnavailable) else DROP


def decider_of(services: World, clock: VirtualClock, breaker: Breaker, *more: Any) -> HandlerRunner:
    handler = handler_of(lambda *_: ask(), read_last, rounds=1)
    return HandlerRunner(handler, NoRules(), PATIENCE, services, clock, lambda: 0.5, breaker, *more)


# --- bugs ------------------------------------------------------------------------------------------------------------


def fail(message: str) -> Any:
    raise KeyError(message)


@pytest.mark.parametrize("begun", [(), (UNAVAILABLE,), (ask(),)], ids=["at once", "on a later try", "in the reader"])
async def test_what_raises_has_a_bug_and_its_input_is_kept(begun: tuple[Outcome | Ask, ...]) -> None:
    rest = iter(begun)
    handler = handler_of(lambda *_: next(rest, None) or fail("oops"), lambda *_: fail("oops"), rounds=1)
    assert await come_to_an_end(handler) == Dead(DeadReason.HANDLER_BUG, "KeyError: 'oops'")


async def test_reader_gets_the_state_of_its_own_try() -> None:
    tries = count(1)
    seen = []

    def read(event: Event, replies: tuple[Reply, ...], rules: Any, state: str) -> Outcome | Ask:
        seen.append((state, len(replies)))
        if len(replies) == 1:
            return Ask(ask().need, f"{state}, later")
        return Retry(RetryReason.UNAVAILABLE) if state.startswith("try 1") else Emit(())

    handler = handler_of(lambda *_: Ask(ask().need, f"try {next(tries)}"), read, rounds=2)
    assert await come_to_an_end(handler) == Emit(())
    assert seen == [("try 1", 1), ("try 1, later", 2), ("try 2", 1), ("try 2, later", 2)]


# --- retries ---------------------------------------------------------------------------------------------------------


async def test_attempts_are_bounded_and_the_last_reason_is_kept() -> None:
    calls: list[Event] = []

    def never(event: Event, rules: Any) -> Outcome:
        calls.append(event)
        return Retry(RetryReason.RATE_LIMITED, f"call {len(calls)}")

    clock = VirtualClock()
    outcome = await come_to_an_end(handler_of(never), clock=clock)
    assert outcome == Dead(DeadReason.RETRIES_EXHAUSTED, "rate_limited after 4 tries: call 4")
    assert len(calls) == 4
    assert len(clock.pauses) == 3, "after the last try nobody waits"


@given(st.floats(0, 1, exclude_max=True))
async def test_pauses_double_up_to_their_bound_with_jitter(chance: float) -> None:
    clock = VirtualClock()
    await come_to_an_end(handler_of(lambda *_: UNAVAILABLE), clock=clock, chance=chance)
    assert clock.pauses == [chance * 0.5, chance * 1.0, chance * 2.0]
    assert all(0 <= pause < 3.0 for pause in clock.pauses)


@pytest.mark.parametrize(
    ("wish", "pause"), [(61.0, None), (float("inf"), None), (60.0, 60.0), (0.5, 0.5), (0.0, 0.0), (-1.0, 0.25)]
)
async def test_retry_after_too_long_to_wait_in_place_ends_the_tries(wish: float, pause: float | None) -> None:
    clock = VirtualClock()
    handler = handler_of(answers([Retry(RetryReason.RATE_LIMITED, "busy", after_seconds=wish), DROP]))
    outcome = await come_to_an_end(handler, clock=clock)
    assert outcome == (Dead(DeadReason.RETRIES_EXHAUSTED, "rate_limited after 1 try: busy") if pause is None else DROP)
    assert clock.pauses == ([] if pause is None else [pause])


# --- asks ------------------------------------------------------------------------------------------------------------


async def test_rounds_are_bounded() -> None:
    services = World()
    handler = handler_of(lambda *_: ask(), lambda *_: ask(), rounds=2)
    assert await come_to_an_end(handler, services) == Dead(DeadReason.ROUNDS_EXHAUSTED, "more than 2 asks")
    assert len(services.needs) == 2


async def test_undeclared_request_is_a_bug_and_is_not_made() -> None:
    services = World()
    asking = handler_of(lambda *_: ask(), lambda *_: DROP, rounds=2)
    for handler in (handler_of(lambda *_: ask()), replace(asking, asks=frozenset({IndexDocument}))):
        outcome = await come_to_an_end(handler, services)
        assert outcome == Dead(DeadReason.HANDLER_BUG, "its declaration does not permit FetchPages")
    assert services.needs == []


def broken_until(call: int) -> Callable[[int], None]:
    def trouble(calls: int) -> None:
        if calls < call:
            raise OSError("disk full")

    return trouble


async def test_failing_service_is_retried_and_then_the_input_dies() -> None:
    handler = handler_of(lambda *_: ask(), lambda *_: DROP, rounds=1)
    assert await come_to_an_end(handler, World(broken_until(3))) == DROP
    outcome = await come_to_an_end(handler, World(broken_until(99)))
    assert outcome == Dead(DeadReason.RETRIES_EXHAUSTED, "unavailable after 4 tries: OSError: disk full")


@pytest.mark.parametrize("run", [Run("plan"), None])
async def test_services_get_the_run_on_every_try(run: Run | None) -> None:
    services, retried = World(), list[tuple[Retry, bool]]()
    handler = handler_of(lambda *_: ask(), answers([UNAVAILABLE, DROP]), rounds=1)
    runner = runner_of(handler, services, VirtualClock(), lambda again, replayed: retried.append((again, replayed)))
    assert await runner.finish(PAGE, ask(), record=1, run=run) == AttemptResult(DROP, 2)
    assert services.runs == [run, run]
    assert retried == [(UNAVAILABLE, run is not None)]


async def test_a_world_that_does_not_answer_in_time_is_asked_again() -> None:
    hurried = PATIENCE.model_copy(update={"attempt_seconds": 0.01, "max_attempts": 1})
    handler = handler_of(lambda *_: ask(), lambda *_: DROP, rounds=1)
    runner = runner_of(handler, Forever(), VirtualClock(), policy=hurried)
    async with asyncio.timeout(5):
        tried = await runner.finish(PAGE, ask(), record=1)
    assert tried == AttemptResult(Retry(RetryReason.UNAVAILABLE, "TimeoutError: "), 1)


# --- breaker ---------------------------------------------------------------------------------------------------------


class Recorded(Breaker):
    """Records its calls; its turns are the given ones, each a probe or not."""

    def __init__(self, clock: VirtualClock, *turns: bool) -> None:
        super().__init__(BreakerSettings(), clock)
        self.calls: list[Any] = []
        self._turns = list(turns)

    async def turn(self) -> bool:
        self.calls.append("turn")
        return self._turns.pop(0)

    def probed(self) -> None:
        self.calls.append("probed")

    def succeeded(self, key: Any = None) -> None:  # noqa: ARG002
        self.calls.append("succeeded")

    def failed(self, key: Any, after_seconds: float | None = None, probe: bool = False, cause: str = "") -> None:
        self.calls.append(("failed", key, after_seconds, probe, cause))

    def open(self, after_seconds: float | None = None, cause: str = "") -> None:
        self.calls.append(("open", after_seconds, cause))

    def rate_limited(self) -> None:
        self.calls.append("kept in line")


async def breaker_calls(breaker: Recorded, first: Ask | Retry, *replies: Reply) -> list[Any]:
    """The calls of the breaker while a handler asks once a try and gets these replies."""
    runner = decider_of(World(replies=list(replies)), VirtualClock(), breaker)
    await runner.finish(PAGE, first, record="one")
    return breaker.calls


DOWN, BUSY = (
    ModelUnavailable("status 503: words", 2.0, cause="status 503"),
    ModelUnavailable("no turn", None, busy=True),
)
OPENED = ("open", 2.0, "status 503")


@pytest.mark.parametrize(
    ("turns", "replies", "expected"),
    [
        (
            (True, False, True),
            (DOWN, DOWN),
            [
                *("turn", OPENED, "probed", ("failed", "one", 2.0, True, "status 503")),
                *("turn", OPENED, ("failed", "one", 2.0, False, "status 503"), "turn", "probed", "succeeded"),
            ],
        ),
        ((False, True), (BUSY,), ["turn", "kept in line", "turn", "probed", "succeeded"]),
    ],
    ids=["each try that asks", "a wait in line"],
)
async def test_breaker_hears_of_every_try(turns: tuple[bool, ...], replies: tuple[Reply, ...], expected: Any) -> None:
    assert await breaker_calls(Recorded(VirtualClock(), *turns), ask(), *replies, PagesReply(())) == expected


async def test_breaker_gives_a_turn_before_each_retry() -> None:
    first = Retry(RetryReason.RATE_LIMITED, "slow", 1.0)
    calls = await breaker_calls(Recorded(VirtualClock(), True), first, PagesReply(()))
    assert calls == [("failed", "one", 1.0, False, "slow"), "turn", "probed", "succeeded"]


@pytest.mark.parametrize(("wish", "pause"), [(None, 2.25), (1.0, 0.75), (0.0, 0.0), (1000.0, 45.0)])
async def test_busy_model_is_retried_after_most_of_the_wait(wish: float | None, pause: float) -> None:
    """With a chance of 0.5, three quarters: of 3 s without a wish, and of 60 s at most."""
    services, clock = World(replies=[ModelUnavailable("no turn", wish, busy=True)]), VirtualClock()

    runner = decider_of(services, clock, Breaker(BreakerSettings(), clock))
    assert await runner.finish(PAGE, ask(), record=1) == AttemptResult(DROP, 1)
    assert clock.pauses == [pause]
    assert len(services.needs) == 2


# --- cancellation ----------------------------------------------------------------------------------------------------


class Forever(World):
    async def answer(self, need: Need, run: Run | None) -> Reply:  # noqa: ARG002
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")


@pytest.mark.parametrize(("lasting", "questions"), [(False, 2), (True, 1)])
async def test_lasting_failure_is_returned_at_once(lasting: bool, questions: int) -> None:
    """A key that is refused is refused the second time too; without a breaker nothing else would stop it."""
    refused, clock = ModelUnavailable("status 401", lasting=lasting), VirtualClock()
    services = World(replies=[refused] * 4)
    breaker = ClosedBreaker(BreakerSettings(), clock)
    tried = await decider_of(services, clock, breaker).finish(PAGE, ask(), 1, 2)
    assert tried == AttemptResult(refused.retry(), questions)
    assert len(services.needs) == questions


async def test_record_without_a_turn_waits_without_opening_the_breaker() -> None:
    """A backlog at a healthy model: no try is used up, and no outage or stalled work is reported."""
    clock, told, retried = VirtualClock(), list[bool](), list[Retry]()
    services = World(replies=[ModelUnavailable("no turn", 60.0, busy=True)] * 19)
    breaker = Breaker(BreakerSettings(failures=1), clock)
    breaker.listen(lambda: told.append(breaker.closed))
    runner = decider_of(services, clock, breaker, lambda again, _: retried.append(again))
    assert await runner.finish(PAGE, ask(), record=1) == AttemptResult(DROP, 1)
    assert (told, retried) == ([], [])
    assert clock.pauses == [45.0] * 19
    assert breaker.closed_at == BEGAN + 45.0 * 18, "the end of the last wait that a caller got"
