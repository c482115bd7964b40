from collections.abc import Callable

import pytest

from streams.cli.progress import ProgressLine
from tests.streams.doubles import VirtualClock


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Callable[[], list[str]]:
    """The lines on standard error so far."""
    return lambda: capsys.readouterr().err.splitlines()


def test_without_a_terminal_there_is_a_line_every_five_seconds(lines: Callable[[], list[str]]) -> None:
    clock = VirtualClock()
    with ProgressLine("replay", "estimating", 3000, monotonic=clock.monotonic) as advance:
        for _ in range(8):
            clock.seconds += 1.5
            advance(150)
    assert lines() == [
        "assay replay: estimating: 600 of 3,000 records, 100/s, 20 %, 24 s left",
        "assay replay: estimating: 1,200 of 3,000 records, 100/s, 40 %, 18 s left",
    ]


def test_the_time_left_follows_from_the_bytes_since_the_start(lines: Callable[[], list[str]]) -> None:
    clock = VirtualClock()
    position = [500]
    with ProgressLine("publish", "publishing", 1000, at=lambda: position[0], monotonic=clock.monotonic) as advance:
        clock.seconds += 10
        position[0] = 600
        advance(100)
        clock.seconds += 5
        position[0] = 1200
        advance()
    assert lines() == [
        "assay publish: publishing: 100 records, 10/s, 60 %, 40 s left",
        "assay publish: publishing: 101 records, 6.73/s, 100 %, 0 s left",
    ]


def test_the_rate_is_that_of_the_last_seconds_of_one_stage(lines: Callable[[], list[str]]) -> None:
    clock = VirtualClock()
    with ProgressLine("replay", "waiting", monotonic=clock.monotonic) as progress:
        progress.set("first", 0, 10_000)
        for second in range(1, 41):
            clock.seconds = second
            progress.set("first", min(100 * second, 2000), 10_000, ["$0.25", "3 dead"])
        progress.set("second", 500, 5000)
        clock.seconds += 5
        progress.set("second", 1000, 5000)
    told = [line.removeprefix("assay replay: ") for line in lines()]
    assert told[3] == "first: 2,000 of 10,000 records, 100/s, 20 %, 80 s left, $0.25, 3 dead"
    assert told[7] == "first: 2,000 of 10,000 records, 0/s, 20 %, $0.25, 3 dead"
    assert told[8] == "second: 1,000 of 5,000 records, 100/s, 20 %, 40 s left"
