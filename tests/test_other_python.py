"""Assay on the newest other Python of this machine: it is installed there, and tests are run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[1]
NEWEST_FIRST = [name for name in ("python3.14", "python3.13", "python3.12") if name != f"python3.{sys.version_info[1]}"]


def runs(command: str) -> bool:
    return subprocess.run([command, "-c", ""], capture_output=True, check=False).returncode == 0


def find(name: str) -> str | None:
    """The interpreter on the PATH; where that is pyenv's and refuses, because no version was chosen, its newest one."""
    command = shutil.which(name)
    if command is None or runs(command):
        return command
    chosen = subprocess.run(
        ["pyenv", "prefix", name.removeprefix("python")], capture_output=True, text=True, check=False
    )
    command = f"{chosen.stdout.strip()}/bin/{name}"
    return command if chosen.returncode == 0 and runs(command) else None


def test_assay_works_on_the_newest_other_python(tmp_path: Path) -> None:
    python = next(filter(None, map(find, NEWEST_FIRST)), None)
    if python is None:
        pytest.skip(f"none of {', '.join(NEWEST_FIRST)} is on the PATH")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = ["make", "--no-print-directory", "test-python", f"PYTHON={python}", f"OTHER={tmp_path / 'environment'}"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    assert " passed" in done.stdout
