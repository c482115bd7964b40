"""Commands as people call them, in ``test_transcripts.yaml``: the exit status, and what they print and write."""

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command_line import Ran
from tests.samples import ROOT, run_assay

TABLES = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))


@pytest.fixture(autouse=True)
def _alone(empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a Kafka that refuses connections."""
    del empty_folder
    monkeypatch.setattr("streams.cli.progress._LINE_SECONDS", 1e9)
    named = {"COLUMNS": "80", "ASSAY_WORKERS__PROCESSES": "0", "ASSAY_KAFKA__BOOTSTRAP_SERVERS": "127.0.0.1:1"}
    for name, value in named.items():
        monkeypatch.setenv(name, value)


def write(files: Mapping[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, "utf-8")


@pytest.mark.parametrize(("line", "status", "words"), TABLES["wrong"], ids=[row[0][:60] for row in TABLES["wrong"]])
def test_wrong_usage_is_one_line_and_writes_nothing(
    line: str, status: int, words: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    write(TABLES["files"])
    before, arguments = os.listdir(), shlex.split(line)
    while "=" in arguments[0]:
        monkeypatch.setenv(*arguments.pop(0).split("=", 1))
    assert run_assay(*arguments) == status
    shown = capfd.readouterr()
    assert status == 1 or shown.out == ""
    [complaint] = shown.err.splitlines()
    assert complaint.startswith("assay")
    assert words.replace("ROOT", str(ROOT)) in complaint
    assert os.listdir() == before


@pytest.mark.parametrize("told", TABLES["transcripts"], ids=lambda told: told["name"])
def test_transcript(told: dict[str, Any], assay: Ran) -> None:
    write(told.get("files", {}))
    shown = assay(*shlex.split(told["run"]), given=told.get("stdin", "").encode())
    assert shown.status == told.get("exit", 0), shown.err
    for name, text in (("out", shown.out), ("err", shown.err)):
        expected = told.get(name, [])
        if isinstance(expected, str):
            assert text == expected
        else:
            assert [part for part in expected if part not in text] == []
    if "json" in told:
        documents = [json.loads(line) for line in shown.out.splitlines()]
        pairs = zip(documents, told["json"], strict=True)
        assert [{name: document[name] for name in fields} for document, fields in pairs] == told["json"]
    for name, content in told.get("yaml", {}).items():
        assert yaml.safe_load(Path(name).read_text("utf-8")) == content
