"""The command line in this process, as people call it."""

import io
import sys
from pathlib import Path

import pytest

from tests.command_line import Done, Ran
from tests.samples import run_assay, variables_of_assay


@pytest.fixture
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, without Assay's variables."""
    monkeypatch.chdir(tmp_path)
    for name in variables_of_assay():
        monkeypatch.delenv(name)
    return tmp_path


@pytest.fixture
def assay(empty_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ran:
    """``assay("try", "score_page", given=b"{}", ASSAY_INDEX__PATH="i")``: runs in an empty folder."""
    del empty_folder

    def run(*arguments: str, given: bytes = b"", **variables: str) -> Done:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(given))))
            for name, value in variables.items():
                patch.setenv(name, value)
            capsys.readouterr()
            return Done(run_assay(*arguments), *capsys.readouterr())

    return run
