"""Wrong usage as newcomers meet it: the exit status, and one line that says what to do."""

from pathlib import Path

import pytest

from tests.samples import ROOT, run_assay, variables_of_assay
from tests.tables import tables

TABLES = tables(__file__)
SOURCES = TABLES["sources"]
WRONG = [(line, status, text.replace("ROOT", str(ROOT))) for line, status, text in TABLES["wrong"]]


@pytest.fixture(autouse=True)
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files, in the current folder, without Assay's variables."""
    monkeypatch.chdir(tmp_path)
    for name in variables_of_assay():
        monkeypatch.delenv(name)
    monkeypatch.setenv("ASSAY_WORKERS__PROCESSES", "0")
    (tmp_path / "folder").mkdir()
    for name, content in SOURCES.items():
        (tmp_path / name).write_text(content)


@pytest.mark.parametrize(("line", "status", "message"), WRONG, ids=[f"{line} {text[:9]}" for line, _, text in WRONG])
def test_wrong_usage(line: str, status: int, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_assay(*line.split()) == status
    said = capfd.readouterr().err
    assert message in said
    assert len(said.splitlines()) == 1


def test_a_variable_with_an_unknown_key_is_named(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ASSAY_KAFKA__BOOTSTRAP_SERVER", "x")
    assert run_assay("lag") == 2
    said = capfd.readouterr().err
    assert "ASSAY_KAFKA__BOOTSTRAP_SERVER: kafka.bootstrap_server: is not a known key" in said
    assert "did you mean bootstrap_servers?" in said
