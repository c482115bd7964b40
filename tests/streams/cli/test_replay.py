"""``assay replay`` without a broker: its arguments, and the errors for invalid ones."""

from pathlib import Path

import pytest

from tests.samples import run_assay, variables_of_assay
from tests.tables import tables

TABLES = tables(__file__)


@pytest.fixture(autouse=True)
def nothing_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in variables_of_assay():
        monkeypatch.delenv(name)
    # Port 1 refuses connections.
    monkeypatch.setenv("ASSAY_KAFKA__BOOTSTRAP_SERVERS", "127.0.0.1:1")


@pytest.mark.parametrize(("arguments", "said"), TABLES["wrong_usage"])
def test_wrong_usage_is_one_line_that_says_what_to_do(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert run_assay("replay", *arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    [line] = told.err.splitlines()
    assert said in line


def test_a_paid_handler_needs_a_bound(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("ASSAY_LLM__BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("ASSAY_LLM__MODEL", "m")
    assert run_assay("replay", "judge_relevance") == 2
    assert "--max-cost USD" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["list", "show again", "cancel again", "drop again --yes", "score_page --dry-run"])
def test_without_kafka_it_is_said_where_one_was_looked_for(capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert run_assay("replay", *command.split()) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert "no Kafka at 127.0.0.1:1" in line


@pytest.mark.parametrize("arguments", [[], ["--help"], ["run", "-h"], ["score_page", "--help"], ["resume", "-h"]])
def test_help_is_at_hand(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert run_assay("replay", *arguments) == (0 if arguments else 2)
    assert "assay replay" in capsys.readouterr().out


def test_invalid_configuration_is_reported_first(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("no_such_section: 1\n")
    assert run_assay("replay", "score_page", "--config", str(other)) == 2
    assert "no_such_section" in capsys.readouterr().err
