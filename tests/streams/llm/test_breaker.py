"""The breaker of one model."""

from streams.llm.breaker import ModelBreaker
from streams.llm.settings import LlmSettings
from tests.streams.doubles import VirtualClock

SETTINGS = LlmSettings(breaker_failures=3, breaker_first_seconds=10, breaker_max_seconds=30)


def opened() -> tuple[ModelBreaker, VirtualClock, list[bool]]:
    clock = VirtualClock()
    told: list[bool] = []
    breaker = ModelBreaker(SETTINGS, clock.monotonic, told.append)
    for question in ("a", "b", "c"):
        assert breaker.enter(question) is None
        breaker.failed(question)
    return breaker, clock, told


def test_different_questions_open_it() -> None:
    breaker, _, told = opened()
    assert not breaker.closed
    assert breaker.enter("d") == 10
    assert told == [True]


def test_repeated_question_or_a_success_keeps_it_closed() -> None:
    breaker = ModelBreaker(SETTINGS, VirtualClock().monotonic)
    for question in ("a", "a", "a", "b"):
        breaker.failed(question)
    breaker.succeeded("z")
    breaker.failed("c")
    assert breaker.closed


def test_one_probe_at_a_time() -> None:
    breaker, clock, _ = opened()
    clock.seconds = 10
    assert breaker.enter("d") is None
    assert breaker.enter("e") is not None
    breaker.left("d")
    assert breaker.enter("e") is None


def test_a_probe_that_works_closes_it() -> None:
    breaker, clock, told = opened()
    clock.seconds = 10
    breaker.enter("d")
    breaker.succeeded("d")
    breaker.left("d")
    assert breaker.closed
    assert breaker.enter("e") is None
    assert told == [True, False]


def test_a_probe_that_fails_doubles_the_pause_up_to_a_bound() -> None:
    breaker, clock, _ = opened()
    rests = []
    for _ in range(3):
        clock.seconds += breaker.rest() or 0
        assert breaker.enter("d") is None
        breaker.failed("late")  # a call from before does not count
        breaker.failed("d")
        breaker.left("d")
        rests.append(breaker.rest())
    assert rests == [20, 30, 30]


def test_breaker_can_be_opened_at_once() -> None:
    breaker = ModelBreaker(SETTINGS, VirtualClock().monotonic)
    breaker.open(25)
    assert breaker.rest() == 25
    breaker.open(3600)
    assert breaker.rest() == 30


FLAKY = LlmSettings(
    breaker_failures=100, breaker_window=10, breaker_share=0.5, breaker_first_seconds=10, breaker_max_seconds=300
)


def ask(breaker: ModelBreaker, question: str, *, fails: bool) -> None:
    assert breaker.enter(question) is None
    if fails:
        breaker.failed(question)
    else:
        breaker.succeeded(question)
    breaker.left(question)


def test_breaker_opens_at_a_high_failure_rate() -> None:
    breaker = ModelBreaker(FLAKY, VirtualClock().monotonic)
    for number in range(9):
        ask(breaker, str(number), fails=number % 2 == 0)
        assert breaker.closed
    ask(breaker, "last", fails=True)
    assert not breaker.closed


def test_a_share_below_the_bound_opens_nothing() -> None:
    breaker = ModelBreaker(FLAKY, VirtualClock().monotonic)
    for number in range(200):
        ask(breaker, str(number), fails=number % 5 < 2)
    assert breaker.closed


def test_few_questions_that_always_fail_do_not_open_it() -> None:
    breaker = ModelBreaker(FLAKY, VirtualClock().monotonic)
    for number in range(200):
        ask(breaker, str(number), fails=False)
        ask(breaker, f"bad {number % 3}", fails=True)
    assert breaker.closed


def test_breaker_reopens_for_longer_while_most_calls_fail() -> None:
    clock = VirtualClock()
    breaker = ModelBreaker(FLAKY, clock.monotonic)
    for number in range(10):
        ask(breaker, str(number), fails=number not in (0, 1))
    rests = []
    for number in range(3):
        rest = breaker.rest()
        assert rest is not None
        rests.append(rest)
        clock.seconds += rest
        ask(breaker, f"probe {number}", fails=False)
        assert breaker.closed
        ask(breaker, f"next {number}", fails=True)
    assert rests == [10, 20, 40]
    clock.seconds += breaker.rest() or 0
    for number in range(8):
        ask(breaker, f"well {number}", fails=False)
    ask(breaker, "one of many", fails=True)
    assert breaker.closed, "what is well again is not held up by what was"
