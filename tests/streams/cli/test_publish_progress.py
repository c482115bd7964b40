import sys
from pathlib import Path

import pytest

from streams.cli.publish_progress import PublishRate, publish_progress
from streams.publish.walk import Walk
from streams.topology import PAGES_CRAWLED


@pytest.fixture
def walk(tmp_path: Path) -> Walk:
    (tmp_path / "a.jsonl").write_bytes(b"x" * 1000)
    return Walk([tmp_path / "a.jsonl"], PAGES_CRAWLED, None, None)


def test_time_left_follows_from_the_bytes_since_the_start() -> None:
    pace = PublishRate(500, 0.0)
    pace.records = 100
    assert pace.told(600, 1000, 10.0) == "100 records, 10/s, 60 %, 40 s left"
    assert pace.told(500, 1000, 10.0) == "100 records, 10/s, 50 %"
    assert pace.told(600, None, 10.0) == "100 records, 10/s"
    assert pace.told(1200, 1000, 10.0).endswith(", 100 %, 0 s left")


def test_progress_lines_are_printed_without_a_terminal(
    walk: Walk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    times = iter([0.0, 0.0, 1.0, 9.9, 10.0, 11.0, 25.0])
    monkeypatch.setattr("streams.cli.publish_progress.time.monotonic", lambda: next(times))
    with publish_progress("publishing", walk) as advance:
        for _ in range(5):
            walk.done += 100
            advance()
    assert capsys.readouterr().err == (
        "assay publish: publishing: 3 records, 0/s, 30 %, 23 s left\n"
        "assay publish: publishing: 5 records, 0/s, 50 %, 25 s left\n"
    )


def test_terminal_shows_a_bar_and_respects_no_color(
    walk: Walk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    with publish_progress("publishing", walk) as advance:
        walk.done = 500
        advance()
    err = capsys.readouterr().err
    assert "publishing" in err
    assert "50 %" in err
    assert "\x1b[3" not in err
