"""The processes that tests look for are found, by their parent and by their environment."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.processes import below, marked, running, wait_for_end


@pytest.fixture
def sleeping() -> Iterator[subprocess.Popen[bytes]]:
    code = "import time; time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], env=os.environ | {"MARK": f"test.{os.getpid()}.1"}) as process:
        yield process
        process.kill()


def test_a_process_is_found_by_parent_and_environment(sleeping: subprocess.Popen[bytes]) -> None:
    assert sleeping.pid in below(os.getpid())
    assert running({sleeping.pid}) == {sleeping.pid}
    assert marked("MARK", f"test.{os.getpid()}.") == {sleeping.pid: f"test.{os.getpid()}.1"}
    assert marked("MARK", f"test.{os.getpid()}.2") == {}
    assert wait_for_end({sleeping.pid}, 0) == {sleeping.pid}


def test_a_killed_process_has_ended_before_it_is_waited_for(sleeping: subprocess.Popen[bytes]) -> None:
    sleeping.kill()
    assert not wait_for_end({sleeping.pid}, 5)
    assert sleeping.returncode is None
    assert marked("MARK", f"test.{os.getpid()}.") == {}
