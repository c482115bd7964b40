"""``tools/mutants.py``: the listed files exist, and its report names the mutants that no test found."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tools import mutants

ROOT = Path(__file__).parents[1]
LISTED = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mutmut"]


@pytest.mark.parametrize("file", [*LISTED["only_mutate"], *LISTED["pytest_add_cli_args_test_selection"]])
def test_every_listed_module_and_test_file_exists(file: str) -> None:
    assert (ROOT / file).is_file(), "tool.mutmut in pyproject.toml names it"


def test_mutant_lists_are_sorted_and_need_no_broker() -> None:
    for files in (LISTED["only_mutate"], LISTED["pytest_add_cli_args_test_selection"]):
        assert files == sorted(set(files))
    assert not [file for file in LISTED["pytest_add_cli_args_test_selection"] if "kafka" in file]


def test_every_explanation_says_why() -> None:
    groups = mutants.explanations()
    assert list(groups)[:2] == [mutants.UNEXPLAINED, mutants.TEXT]
    assert all(entry["why"] for entry in groups.values())


def test_the_report_has_the_figures_and_the_survivors_by_group(monkeypatch: pytest.MonkeyPatch) -> None:
    module, name = "handlers/trust/score.py", "handlers.trust.score.x__count__mutmut_"
    monkeypatch.setattr(mutants, "get_diff_for_mutant", lambda *_, **__: "-return 1\n+return `2`")
    verdicts = {f"{name}1": "killed", f"{name}2": "survived", f"{name}3": "no tests"}
    text = mutants.report("Seed 1.", {module: [f"{name}{n}" for n in range(1, 6)]}, verdicts)
    assert "Seed 1." in text
    assert f"| `{module}` | 5 | 3 | 1 | 2 |" in text
    assert f"## {mutants.UNEXPLAINED} (2)" in text
    assert "- `handlers.trust.score._count`: `return 1` became `` return `2` ``" in text
    assert "- `handlers.trust.score._count` (no tests): `return 1`" in text
