import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.warm_processes import WARM, warm_processes

_DESCRIBED = """
import atexit, os, sys
atexit.register(print, "the end")
print(os.getpid(), os.getppid(), os.getcwd(), sys.argv[1:], os.environ["NAME"], "HOME" in os.environ, sys.stdin.read())
print("aside", file=sys.stderr)
sys.exit(7)
"""


def test_a_forked_process_is_like_one_of_its_own(tmp_path: Path) -> None:
    with warm_processes():
        done = subprocess.run(
            [WARM, "-c", _DESCRIBED, "one", "two"],
            input="given", env={"NAME": "value"}, cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (7, "aside\n")
    said, end = done.stdout.splitlines()
    pid, rest = said.split(" ", 1)
    assert int(pid) != os.getpid()
    assert rest == f"{os.getpid()} {tmp_path} ['one', 'two'] value False given"
    assert end == "the end"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_forked_process_ends_by_a_signal(number: signal.Signals) -> None:
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    with warm_processes(), subprocess.Popen([WARM, "-c", "input()"], stdin=pipe, stderr=nowhere) as started:
        assert started.poll() is None
        started.send_signal(number)
        assert started.wait() == -number


async def test_asyncio_forks_as_well() -> None:
    with warm_processes():
        started = await asyncio.create_subprocess_exec(WARM, "-c", "raise SystemExit(4)")
    assert await started.wait() == 4


def test_other_commands_start_as_usual() -> None:
    with warm_processes():
        assert subprocess.run([sys.executable, "-c", "raise SystemExit(3)"], check=False).returncode == 3


def test_commands_other_than_lists_start_as_usual() -> None:
    with warm_processes():
        assert subprocess.run(Path("/bin/true"), check=False).returncode == 0


@pytest.mark.parametrize(
    ("program", "variable", "said"),
    [
        ("import time; print(time.tzname[0])", {"TZ": "XYZ-3"}, "XYZ"),
        ("import sys; print(sys.flags.hash_randomization)", {"PYTHONHASHSEED": "0"}, "0"),
        ("import sys; print(sys.flags.utf8_mode)", {"PYTHONUTF8": "1"}, "1"),
    ],
)
def test_variables_of_the_start_have_their_effect(program: str, variable: dict[str, str], said: str) -> None:
    with warm_processes():
        command = [WARM, "-c", program]
        done = subprocess.run(command, env=os.environ | variable, capture_output=True, text=True, check=True)
    assert done.stdout == f"{said}\n"
