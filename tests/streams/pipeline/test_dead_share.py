"""The pause of a handler whose records mostly become dead letters."""

from streams.pipeline.dead_share import DeadShare
from streams.settings.model import DlqSettings
from tests.streams.doubles import VirtualClock


def watched(clock: VirtualClock, **settings: float) -> tuple[DeadShare, list[str]]:
    causes: list[str] = []
    return DeadShare(DlqSettings.model_validate({"least_records": 10} | settings), clock, causes.append), causes


def done(share: DeadShare, outcomes: str) -> None:
    for outcome in outcomes:
        share.note(outcome == "x")


def test_more_than_the_share_of_enough_records_pauses() -> None:
    clock = VirtualClock()
    share, causes = watched(clock)
    done(share, "xxxxxxxxx")
    assert share.pause() == 0, "too few records"
    done(share, "x")
    assert share.pause() == 60
    assert causes == ["10 of the last 10 records became dead letters"]


def test_exactly_the_share_does_not_pause() -> None:
    share, causes = watched(VirtualClock())
    done(share, ".x" * 500)
    assert (share.pause(), causes) == (0, [])
    done(share, "x")
    assert causes == ["501 of the last 1001 records became dead letters"]


def test_records_after_the_pause_are_judged_again() -> None:
    clock = VirtualClock()
    share, causes = watched(clock, pause_seconds=5)
    done(share, "x" * 10)
    clock.seconds += 5
    assert share.pause() == 0
    done(share, "x" * 9)
    assert share.pause() == 0
    done(share, "x")
    assert share.pause() == 5
    assert len(causes) == 2


def test_records_in_work_do_not_start_another_pause() -> None:
    clock = VirtualClock()
    share, causes = watched(clock)
    done(share, "x" * 30)
    clock.seconds += 60
    assert share.pause() == 0
    assert len(causes) == 1


def test_earlier_minutes_do_not_count() -> None:
    clock = VirtualClock()
    share, _ = watched(clock)
    done(share, "." * 1000)
    clock.seconds += 61
    done(share, "x" * 10)
    assert share.pause() == 60


def test_share_of_1_never_pauses() -> None:
    share, causes = watched(VirtualClock(), max_share=1)
    done(share, "x" * 1000)
    assert causes == []
