import os
import signal
import subprocess
import sys
from pathlib import Path

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


def test_a_forked_process_ends_by_a_signal() -> None:
    with warm_processes(), subprocess.Popen([WARM, "-c", "input()"], stdin=subprocess.PIPE) as started:
        assert started.poll() is None
        started.send_signal(signal.SIGKILL)
        assert started.wait() == -signal.SIGKILL


def test_other_commands_start_as_usual() -> None:
    with warm_processes():
        assert subprocess.run([sys.executable, "-c", "raise SystemExit(3)"], check=False).returncode == 3
