"""The circuit breaker and the pause after too many dead letters, under a clock that only moves when told."""

import asyncio

from streams.pipeline.breaker import Breaker, DeadShare
from streams.settings.model import BreakerSettings, DlqSettings
from tests.streams.doubles import LongPause, VirtualClock

SETTINGS = BreakerSettings(failures=3, first_seconds=5, max_seconds=20)


def breaker_of(clock: VirtualClock) -> Breaker:
    return Breaker(SETTINGS, clock)


def opened(clock: VirtualClock) -> Breaker:
    breaker = breaker_of(clock)
    for record in range(3):
        breaker.failed(record, None)
    return breaker


async def test_breaker_closes_when_its_last_waiter_has_left() -> None:
    breaker, heard = opened(LongPause()), list[bool]()
    breaker.listen(lambda: heard.append(breaker.closed))
    waiting = [asyncio.create_task(breaker.turn()) for _ in range(2)]
    await asyncio.sleep(0)
    for attempt in waiting:
        breaker.on_revoked()
        assert not breaker.closed, "an attempt still waits for its probe"
        attempt.cancel()
        await asyncio.gather(attempt, return_exceptions=True)
    breaker.on_revoked()
    assert breaker.closed
    assert await breaker.turn() is False
    breaker.failed("next", None)
    assert heard == [True, False]


async def test_breaker_stays_open_during_a_probe() -> None:
    breaker = opened(VirtualClock())
    assert await breaker.turn()
    breaker.on_revoked()
    assert not breaker.closed


async def test_open_breaker_admits_one_probe_and_closes_on_success() -> None:
    clock = VirtualClock()
    breaker = opened(clock)
    others = [asyncio.create_task(breaker.turn()) for _ in range(3)]
    probe = others[0]
    assert await probe is True
    assert clock.pauses == [5.0]
    await asyncio.sleep(0)
    assert not any(other.done() for other in others[1:])
    breaker.probed()
    breaker.succeeded()
    assert await asyncio.gather(*others[1:]) == [False, False]


async def test_failed_probes_double_the_pause_and_rotate() -> None:
    clock = VirtualClock()
    breaker = opened(clock)
    order: list[str] = []

    async def try_until_closed(name: str) -> None:
        while await breaker.turn():
            order.append(name)
            breaker.probed()
            if len(order) == 5:
                breaker.succeeded()
            else:
                breaker.failed(name, None, probe=True)

    await asyncio.gather(*(try_until_closed(name) for name in "ab"))
    assert clock.pauses == [5, 10, 20, 20, 20]
    assert order == ["a", "b", "a", "b", "a"]


# --- and the tries of a record --------------------------------------------------------------------------------------


async def test_breaker_opens_at_once_on_a_known_outage() -> None:
    clock = VirtualClock()
    breaker = breaker_of(clock)
    told: list[bool] = []
    breaker.listen(lambda: told.append(breaker.closed))
    breaker.open(12, "the key is refused")
    breaker.open(15, "later")
    assert (told, breaker.cause) == ([False], "the key is refused")
    assert await breaker.turn()
    assert clock.seconds == 12


def watched(clock: VirtualClock, **settings: float) -> tuple[DeadShare, list[str]]:
    causes: list[str] = []
    return DeadShare(DlqSettings.model_validate({"least_records": 10} | settings), clock, causes.append), causes


def done(share: DeadShare, outcomes: str) -> None:
    for outcome in outcomes:
        share.note(outcome == "x")


def test_exactly_the_share_does_not_pause() -> None:
    share, causes = watched(VirtualClock())
    done(share, ".x" * 500)
    assert (share.pause(), causes) == (0, [])
    done(share, "x")
    assert causes == ["501 of the last 1001 records became dead letters"]


def test_records_after_the_pause_are_judged_again() -> None:
    """Those that were in work when it began count nowhere."""
    clock = VirtualClock()
    share, causes = watched(clock, pause_seconds=5)
    done(share, "x" * 30)
    clock.seconds += 5
    assert share.pause() == 0
    done(share, "x" * 9)
    assert share.pause() == 0
    done(share, "x")
    assert share.pause() == 5
    assert len(causes) == 2


def test_breaker_knows_its_open_time_and_cause() -> None:
    clock = VirtualClock()
    breaker = opened(clock)
    assert breaker.open_seconds == 0.0
    clock.seconds += 30
    breaker.failed("d", None, probe=True, cause="status 503")
    clock.seconds += 30
    assert (breaker.open_seconds, breaker.cause) == (60.0, "status 503")
    breaker.succeeded()
    assert breaker.open_seconds == 0.0
