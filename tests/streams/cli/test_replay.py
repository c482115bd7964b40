"""``assay replay`` without a broker: a bound of its cost, where Kafka was looked for, and help."""

import pytest

from tests.samples import run_assay, variables_of_assay


@pytest.fixture(autouse=True)
def nothing_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in variables_of_assay():
        monkeypatch.delenv(name)
    # Port 1 refuses connections.
    monkeypatch.setenv("ASSAY_KAFKA__BOOTSTRAP_SERVERS", "127.0.0.1:1")


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
