import pytest

from streams.cli.progress import ProgressLine
from streams.cli.replay_run import ReplayScreen
from streams.replay.session import ReplayProgress


def test_a_line_has_the_handler_the_costs_and_what_delays_it(capsys: pytest.CaptureFixture[str]) -> None:
    now = [100.0]
    progress = ReplayProgress("again", "judge_relevance", total=1000, remaining=1000)
    with ProgressLine("replay", "waiting for partitions", monotonic=lambda: now[0]) as line:
        screen = ReplayScreen(line)
        for second in range(11):
            now[0] = 100.0 + second / 2
            progress.remaining = 1000 - 20 * second
            progress.spent_usd, progress.members, progress.dead = 0.25, 2, 3
            progress.note = "gives way to live traffic"
            screen(progress)
    assert capsys.readouterr().err == (
        "assay replay: judge_relevance: 200 of 1,000 records, 40/s, 20 %, 20 s left, $0.25, 3 dead, 2 processes, "
        "gives way to live traffic\n"
    )
    assert screen.last is progress
