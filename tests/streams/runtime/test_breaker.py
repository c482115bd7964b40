"""The state machine of a circuit breaker."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.runtime.backoff import full_jitter, retry_after
from streams.runtime.breaker import CircuitBreaker
from tests.streams.doubles import VirtualClock
from tests.tables import tables

TABLES = tables(__file__)


def breaker_of(clock: VirtualClock) -> CircuitBreaker:
    return CircuitBreaker(3, 10, 30, clock.monotonic)


def opened() -> tuple[CircuitBreaker, VirtualClock, list[bool]]:
    clock = VirtualClock()
    told: list[bool] = []
    breaker = breaker_of(clock)
    breaker.listen(lambda: told.append(not breaker.closed))
    for question in ("a", "b", "c"):
        assert breaker.enter(question) is None
        breaker.failed(question)
    return breaker, clock, told


def test_repeated_question_or_a_success_keeps_it_closed() -> None:
    breaker = breaker_of(VirtualClock())
    for question in ("a", "a", "a", "b"):
        breaker.failed(question)
    breaker.succeeded("z")
    breaker.failed("c")
    assert breaker.closed


def test_a_probe_that_fails_doubles_the_pause_up_to_a_bound() -> None:
    breaker, clock, told = opened()
    pauses = []
    for _ in range(3):
        clock.seconds += breaker.pause() or 0
        assert breaker.enter("d") is None
        breaker.failed("late")  # a call from before does not count
        breaker.failed("d")
        breaker.leave("d")
        pauses.append(breaker.pause())
    assert (pauses, told) == ([20, 30, 30], [True])


def test_breaker_can_be_opened_at_once() -> None:
    breaker = breaker_of(VirtualClock())
    breaker.open(25)
    assert breaker.pause() == 25
    breaker.open(3600)
    assert breaker.pause() == 30


def flaky(clock: VirtualClock) -> CircuitBreaker:
    return CircuitBreaker(100, 10, 300, clock.monotonic, window=10, share=0.5)


def ask(breaker: CircuitBreaker, question: str, *, fails: bool) -> None:
    assert breaker.enter(question) is None
    if fails:
        breaker.failed(question)
    else:
        breaker.succeeded(question)
    breaker.leave(question)


def test_breaker_opens_at_a_high_failure_rate() -> None:
    breaker = flaky(VirtualClock())
    for number in range(9):
        ask(breaker, str(number), fails=number % 2 == 0)
        assert breaker.closed
    ask(breaker, "last", fails=True)
    assert not breaker.closed


def test_breaker_reopens_for_longer_while_most_calls_fail() -> None:
    clock = VirtualClock()
    breaker = flaky(clock)
    for number in range(10):
        ask(breaker, str(number), fails=number not in (0, 1))
    pauses = []
    for number in range(3):
        pause = breaker.pause()
        assert pause is not None
        pauses.append(pause)
        clock.seconds += pause
        ask(breaker, f"probe {number}", fails=False)
        assert breaker.closed
        ask(breaker, f"next {number}", fails=True)
    assert pauses == [10, 20, 40]
    clock.seconds += breaker.pause() or 0
    for number in range(8):
        ask(breaker, f"well {number}", fails=False)
    ask(breaker, "one of many", fails=True)
    assert breaker.closed, "what is well again is not held up by what was"


def test_an_error_of_a_listener_changes_nothing() -> None:
    breaker, _, told = opened()
    breaker.listen(lambda: [][0])
    breaker.succeeded()
    assert breaker.closed
    assert told == [True, False]


# --- pauses ----------------------------------------------------------------------------------------------------------


NOW = datetime(2026, 11, 3, 11, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *TABLES["retry_after"],
        ("9" * 4000, 999_999_999_999.0),
        ("Tue, 03 Nov 9999 11:00:00 GMT", pytest.approx(2.516e11, rel=1e-3)),
        ((NOW + timedelta(seconds=90)).strftime("%a, %d %b %Y %H:%M:%S GMT"), 90.0),
    ],
)
def test_retry_after_in_its_forms(text: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": text}, NOW) == seconds


def test_milliseconds_come_first_and_no_header_is_no_wish() -> None:
    assert retry_after({"retry-after-ms": "250", "retry-after": "1"}, NOW) == 0.25
    assert retry_after({}, NOW) is None


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True), st.floats(0, 1))
def test_a_pause_is_below_a_bound_that_doubles(attempt: int, chance: float, least: float) -> None:
    bound = min(60.0, 0.5 * 2 ** min(attempt - 1, 30))
    pause = full_jitter(attempt, 0.5, 60.0, lambda: chance, least)
    assert least * bound <= pause <= bound
