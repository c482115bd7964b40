from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults.bugs import BUGS
from tests.samples import ROOT
from tools.faults.__main__ import Plan
from tools.faults.results import RoundResult, append_result, read_results, sum_up
from tools.faults.rounds import FAULTS
from tools.faults.seeded import FEW, SITUATIONS

ROUND = RoundResult(
    seed=7,
    number=1,
    brokers=3,
    fault="killed",
    reached=True,
    complete=True,
    fed=160,
    seconds=5.0,
    findings={"lost": 0, "twice": 0},
    complaints=[],
)


def test_rounds_add_up_and_the_last_line_of_one_counts(tmp_path: Path) -> None:
    """What comes late is found when the round is already in the file."""
    file = tmp_path / "rounds.jsonl"
    assert read_results(file) == []
    rounds = [ROUND, replace(ROUND, number=2)]
    for result in rounds:
        append_result(file, result)
    assert read_results(file) == rounds
    counts = sum_up(rounds)
    assert (counts["rounds"], counts["fed"], counts["twice"], counts["well"]) == (2, 320, 0, True)
    append_result(file, replace(ROUND, findings={"twice": 1}))
    assert read_results(file) == [replace(ROUND, findings={"twice": 1}), rounds[1]]


def test_one_bad_round_makes_a_run_bad() -> None:
    for bad in (
        replace(ROUND, reached=False),
        replace(ROUND, complete=False),
        replace(ROUND, findings={"twice": 1}),
        replace(ROUND, complaints=["worker 1 ended with 1"]),
    ):
        assert sum_up([ROUND, bad])["well"] is False


def test_every_fault_comes_as_often_as_every_other() -> None:
    one, three = (Plan(brokers, 1, 99, 7, None, None) for brokers in (1, 3))
    kinds = len({one.fault(number) for number in range(1, 99)})
    assert {one.fault(number) for number in range(1, kinds + 1)} == set(FAULTS)
    assert set(Counter(one.fault(number) for number in range(1, 2 * kinds + 1)).values()) == {2}
    assert one.fault(5) == Plan(1, 5, 5, 7, None, None).fault(5)
    assert {*FAULTS, "bad deploy", "disk full"} < {three.fault(number) for number in range(1, 99)}


def test_every_bug_for_rounds_has_its_situation() -> None:
    assert set(SITUATIONS) == {name for name, bug in BUGS.items() if bug.where != {"simulation"}}
    assert set(FEW) <= set(SITUATIONS)


def test_a_line_that_was_cut_is_named(tmp_path: Path) -> None:
    file = tmp_path / "rounds"
    append_result(file, ROUND)
    file.write_text(file.read_text() + '{"seed": 7, "numb')
    with pytest.raises(ValueError, match="line 2"):
        read_results(file)


def test_every_bug_is_in_the_docs() -> None:
    text = (ROOT / "docs" / "faults.md").read_text("utf-8")
    assert [name for name, bug in BUGS.items() if f"| `{name}` | {bug.changes} |" not in text] == []
