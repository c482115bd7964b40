import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import SchemaValidator, core_schema

from streams.cli import commands
from streams.cli.commands import COMMANDS, PANELS
from streams.settings.model import SettingsError
from tests.samples import ROOT, run_assay
from tests.warm_processes import WARM, warm_processes

pytestmark = pytest.mark.usefixtures("empty_folder")


class Interrupting:
    def __repr__(self) -> str:
        raise KeyboardInterrupt


@pytest.mark.parametrize(("value", "expected"), [(Interrupting(), 130), (object(), 0)])
def test_ctrl_c_while_pydantic_builds_a_model_is_ctrl_c(
    monkeypatch: pytest.MonkeyPatch, value: object, expected: int
) -> None:
    def build(_: list[str]) -> int:
        SchemaValidator(core_schema.literal_schema([value]))
        return 0

    monkeypatch.setattr(commands, "run_command_line", build)
    assert run_assay("any") == expected


def test_help_is_one_screen_of_five_panels(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_assay("--help") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 100
    assert [line.split()[0] for line in lines if line.startswith("  ")] == list(COMMANDS)
    assert {*PANELS} == {"Try it", "Run it", "Look", "Repair", "Set up"} < set(lines)
    assert run_assay() == 2
    assert capsys.readouterr().out.splitlines() == lines


@pytest.mark.parametrize(
    ("raised", "status", "words"),
    [
        (SettingsError("configuration: x"), 2, "configuration: x"),
        (OSError(28, "No space left on device"), 1, "No space left"),
        (KeyboardInterrupt(), 130, ""),
    ],
    ids=lambda value: type(value).__name__,
)
def test_stopped_command_prints_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], raised: BaseException, status: int, words: str
) -> None:
    def stopped(**_: Any) -> None:
        raise raised

    monkeypatch.setattr(commands, "app", stopped)
    assert run_assay("config") == status
    assert words in capsys.readouterr().err


def test_the_version_is_that_of_the_distribution(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_assay("--version") == 0
    assert capsys.readouterr().out == version("assay") + "\n"


@pytest.mark.parametrize(
    "arguments", [["config", "schema", "--json"], ["generate", "--graph"], ["--help"]], ids=" ".join
)
def test_closed_pipe_prints_no_traceback(arguments: list[str], tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [WARM, "-c", "from streams.cli.main import main; main()", *arguments]
    with os.fdopen(writing, "wb") as output, warm_processes():
        done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, cwd=tmp_path, timeout=60)
    assert done.stderr == b""
    assert done.returncode in (0, 1)


def test_help_and_version_import_no_handler_or_setting(tmp_path: Path) -> None:
    program = (
        "import sys; from streams.cli.commands import run_command_line;"
        "assert [run_command_line(words.split()) for words in sys.argv[1:]] == [0, 0, 2];"
        "print([name for name in ('handlers', 'schemas', 'streams.settings.model') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "--help", "--version", "nothing"],
        capture_output=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == b"[]"


def test_interrupt_during_start_prints_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    done = subprocess.run(
        [sys.executable, "-c", "from streams.cli.main import main; main()", "--version"],
        capture_output=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")
