"""Wrong usage of ``assay dlq``: one line that says what to do, and exit status 2."""

import pytest

from streams.cli.main import _run


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["list", "--handler", "unknown"], "there is no handler 'unknown'"),
        (["list", "--reason", "nothing"], "there is no reason 'nothing'"),
        (["redrive", "--since", "soon"], "--since takes a time"),
        (["redrive", "--limit", "0"], "--limit"),
        (["purge"], "say which dead letters"),
        (["purge", "--all"], "--yes"),
        (["show", "score_page"], "HANDLER/PARTITION/OFFSET"),
        (["show", "unknown/1/2"], "HANDLER/PARTITION/OFFSET"),
    ],
)
def test_wrong_usage_is_reported_in_one_line(
    words: list[str], complaint: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert _run(["dlq", *words]) == 2
    told = capfd.readouterr().err
    assert complaint in told
    assert told.count("\n") == 1


def test_missing_broker_is_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ASSAY_KAFKA__BOOTSTRAP_SERVERS", "127.0.0.1:9")
    assert _run(["dlq", "list"]) == 1
    told = capfd.readouterr().err
    assert "no Kafka at 127.0.0.1:9" in told
    assert told.count("\n") == 1
