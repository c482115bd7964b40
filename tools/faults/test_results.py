from dataclasses import replace
from pathlib import Path

import pytest

from tools.faults.results import RoundResult, append_result, read_results

ROUND = RoundResult(7, 1, 3, "killed", True, True, 160, 6.5, {"lost": 0, "twice": 0}, [])


def test_the_last_line_of_a_round_counts(tmp_path: Path) -> None:
    """What comes late is found when the round is already in the file."""
    file = tmp_path / "rounds"
    assert read_results(file) == []
    late = replace(ROUND, findings={"twice": 1})
    for result in (ROUND, replace(ROUND, number=2), late):
        append_result(file, result)
    assert read_results(file) == [late, replace(ROUND, number=2)]


def test_a_line_that_was_cut_is_named(tmp_path: Path) -> None:
    file = tmp_path / "rounds"
    append_result(file, ROUND)
    file.write_text(file.read_text() + '{"seed": 7, "numb')
    with pytest.raises(ValueError, match="line 2"):
        read_results(file)
