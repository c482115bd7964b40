import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.kafka.groups import GroupLag
from streams.replay.processor import ReplayRate, is_late
from tests.streams.doubles import VirtualClock


def started(pace: ReplayRate, clock: VirtualClock, seconds: float, step: float = 0.01) -> int:
    """How many records start within a time, with a look at every step."""
    count = 0
    for _ in range(round(seconds / step)):
        while count < 100_000 and pace.seconds() == 0:
            pace.took()
            count += 1
        clock.seconds += step
    return count


def lag(seconds: float, members: int = 1, delay: int = 0) -> GroupLag:
    return GroupLag("toy", "toys.v1", "assay.toy", True, 5, seconds, None, members, delay_seconds=delay)


def test_without_a_rate_nothing_waits() -> None:
    assert ReplayRate(None, VirtualClock()).seconds() == 0


@given(st.floats(1, 500), st.integers(1, 6))
def test_process_rate_is_its_share_of_the_partitions(rate: float, held: int) -> None:
    clock = VirtualClock()
    pace = ReplayRate(rate, clock)
    pace.assigned(held, 6)
    share = rate * held / 6
    assert started(pace, clock, 20) == pytest.approx(20 * share, abs=2 + 0.2 * share)


def test_process_without_partitions_starts_no_record() -> None:
    clock = VirtualClock()
    assert started(ReplayRate(100, clock), clock, 2) == 0


def test_rate_after_a_pause_has_no_burst() -> None:
    clock = VirtualClock()
    pace = ReplayRate(100, clock)
    pace.assigned(6, 6)
    assert started(pace, clock, 1) == pytest.approx(100, abs=12)
    pace.waiting = True
    assert started(pace, clock, 30) == 0
    pace.waiting = False
    assert started(pace, clock, 1) == pytest.approx(100, abs=12)


def test_shut_pace_starts_nothing() -> None:
    clock = VirtualClock()
    pace = ReplayRate(None, clock)
    pace.shut = True
    for waiting in (True, False):
        pace.waiting = waiting
        assert started(pace, clock, 1) == 0


def test_replay_yields_to_live_lag_of_half_the_objective() -> None:
    assert is_late(lag(31), slo_seconds=60)
    assert not is_late(lag(29), slo_seconds=60)
    assert not is_late(lag(500, members=0), slo_seconds=60), "the group has no consumer"
    assert not is_late(lag(500, delay=600), slo_seconds=60), "those wait on purpose"
