import sys

import pytest

from streams.cli.replay_run import ReplayScreen, Speed
from streams.replay.session import ReplayProgress


class Hands:
    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


def test_speed_is_that_of_the_last_moments_of_a_stage() -> None:
    hands = Hands()
    speed = Speed(hands)
    assert speed.per_second == 0
    for second in range(40):
        hands.at = 100.0 + second
        speed.saw("first", 10_000 - 100 * second)
    assert speed.per_second == pytest.approx(100)
    speed.saw("second", 5000)
    assert speed.per_second == 0


def test_without_a_terminal_there_is_a_line_every_few_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    hands = Hands()
    progress = ReplayProgress("again", "judge_relevance", 1, 2, total=1000, remaining=1000)
    with ReplayScreen(hands) as screen:
        for second in range(20):
            hands.at = 100.0 + second / 2
            progress.remaining = 1000 - 20 * second
            progress.spent_usd, progress.members, progress.dead = 0.25, 2, 3
            progress.note = "gives way to live traffic"
            screen(progress)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[1] == (
        "judge_relevance 2/2: 200 of 1,000 (20%), 40/s, 20 s left, $0.25, 3 dead, 2 processes, "
        "gives way to live traffic"
    )
    assert screen.last is progress
