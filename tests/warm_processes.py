"""Processes that start warm: a template imports the application and reads the configuration, and forks each of them.

To start Python, to import the application and to read the configuration takes some seconds of CPU. A forked process is
one of its own as well: it has its own id, environment, standard streams and signals, and the test's process is its
parent. All of them have one seed of hashes. Tests of the start itself start Python, as all tests do on other systems
than Linux. A process whose environment sets up Python or the time zone in another way than the template's starts Python
as well.
"""

import atexit
import contextlib
import functools
import gc
import importlib
import os
import pickle
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from ctypes import CDLL
from pathlib import Path
from typing import Any

import pytest

from streams.settings.model import load_settings
from tests.rules import read_shipped_once
from tests.samples import variables_of_assay

WARM = "warm" if sys.platform == "linux" else sys.executable
"""In place of the path of Python, in a command such as ``[WARM, "-c", PROGRAM, *words]``."""
_COMMANDS = (f"streams.cli.{name}" for name in ("commands", "dlq", "publish", "replay", "run"))
_IMPORTED = (*_COMMANDS, "streams.app.application", "uvicorn", "numpy")
_LIBC = CDLL(None)
_SET_CHILD_SUBREAPER = 36
_MOST_BYTES = 1 << 18
_ROOT = Path(__file__).parents[1]
_SERVE = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); from {__name__} import serve; serve({{}})"
"""Ctrl-C reaches all processes of a terminal. The template ends with the tests, and only its forks are interrupted."""


@contextlib.contextmanager
def warm_processes() -> Iterator[None]:
    """``subprocess`` and ``asyncio`` fork processes whose command begins with ``WARM`` while the block runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "Popen", _Forked)
        yield


class _Forked(subprocess.Popen[Any]):
    """Asks the template for a process in place of starting one."""

    def _execute_child(self, args: Any, *given: Any) -> None:
        # A program without arguments may be a single path; asyncio gives a tuple.
        if not isinstance(args, list | tuple) or args[0] != "warm":
            super()._execute_child(args, *given)  # type: ignore[misc]
            return
        template, its_start = _template()
        environment = dict(os.environ if given[5] is None else given[5])
        if _start_of(environment) != its_start:
            super()._execute_child([sys.executable, *args[1:]], *given)  # type: ignore[misc]
            return
        cwd, (p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite) = given[4], given[9:15]
        streams = [own if own != -1 else number for number, own in enumerate((p2cread, c2pwrite, errwrite))]
        request = pickle.dumps((args[2:], environment, cwd or os.getcwd()))
        # The new process loses its parent, and this process becomes it. Other orphans do not come here.
        _LIBC.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        try:
            socket.send_fds(template, [request], streams)
            self.pid = int(template.recv(_MOST_BYTES))
        finally:
            _LIBC.prctl(_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)  # type: ignore[attr-defined]


def _start_of(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that are read when Python starts, or at the first look at the time.

    The checkout is on the path of every process.
    """
    read = {name: value for name, value in environment.items() if name.startswith("PYTHON") or name == "TZ"}
    return {name: value for name, value in read.items() if (name, value) != ("PYTHONPATH", str(_ROOT))}


@functools.cache
def _template() -> tuple[socket.socket, dict[str, str]]:
    """The connection to the template, and how its environment starts Python."""
    own_end, its_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its_end:
        command = [sys.executable, "-c", _SERVE.format(its_end.fileno())]
        started = subprocess.Popen(
            command, cwd=_ROOT, pass_fds=[its_end.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )

    def end() -> None:
        own_end.close()
        started.wait()

    atexit.register(end)
    return own_end, _start_of(os.environ)


def serve(connection: int) -> None:
    """Forks a process for each request until the other end is closed; in such a process, runs the program."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy would start others, which no fork has
    for module in _IMPORTED:
        importlib.import_module(module)
    for name in variables_of_assay():  # each process has its own
        del os.environ[name]
    read_shipped_once()
    load_settings()
    gc.freeze()
    with socket.socket(fileno=connection) as requests:
        while True:
            request, streams, *_ = socket.recv_fds(requests, _MOST_BYTES, 3)
            if not request:
                return
            reading, writing = os.pipe()
            if (between := os.fork()) == 0:
                between = os.getpid()  # it ends at once, so the new process is given to the test's process
                if os.fork():
                    os._exit(0)
                break
            os.waitpid(between, 0)
            os.close(writing)
            requests.send(os.read(reading, 20))
            for number in (reading, *streams):
                os.close(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.write(writing, str(os.getpid()).encode())
    while os.getppid() == between:
        time.sleep(0.001)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, max(*streams, reading, writing) + 1)
    (program, *words), environment, folder = pickle.loads(request)  # noqa: S301 - from the test
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    random.seed()
    sys.argv = ["-c", *words]
    exec(program, {"__name__": "__main__"})  # noqa: S102
