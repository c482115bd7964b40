"""One broker serves all processes of a test run, also if the first process ends or dies."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

# The broker is replaced by lines in a log, because only the order of starts and stops is under test.
_PROCESS = """
import contextlib, os, sys
from pathlib import Path
import tests.kafka_server as shared

folder, name = Path(sys.argv[1]), sys.argv[2]

@contextlib.contextmanager
def logged():
    log(f"{name} starts")
    yield name
    log(f"{name} stops")

def log(line):
    with (folder / "log").open("a") as file:
        file.write(line + "\\n")

shared.kafka_server = logged
with contextlib.ExitStack() as at_end:
    print(shared.shared_kafka(folder, at_end.callback), flush=True)
    if sys.stdin.readline() == "die\\n":
        os._exit(9)
"""


class User:
    """A process that asks for the broker."""

    def __init__(self, folder: Path, name: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROCESS, folder, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.uses = self._process.stdout.readline().strip()

    def tell(self, word: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()

    def end(self, word: str = "end") -> None:
        if word:
            self.tell(word)
        self._process.communicate(timeout=60)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def test_the_starter_waits_for_the_others(tmp_path: Path, log: Path) -> None:
    starter, other = User(tmp_path, "first"), User(tmp_path, "second")
    assert (starter.uses, other.uses) == ("first", "first")
    starter.tell("end")
    third = User(tmp_path, "third")
    assert third.uses == "first"
    other.end()
    assert log.read_text() == "first starts\n"
    third.end()
    starter.end("")
    assert log.read_text() == "first starts\nfirst stops\n"


@pytest.mark.parametrize(("word", "logged"), [("end", "first starts\nfirst stops\n"), ("die", "first starts\n")])
def test_another_broker_starts_when_the_starter_has_ended(tmp_path: Path, log: Path, word: str, logged: str) -> None:
    User(tmp_path, "first").end(word)
    second = User(tmp_path, "second")
    assert second.uses == "second"
    second.end()
    assert log.read_text() == logged + "second starts\nsecond stops\n"
