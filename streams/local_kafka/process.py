"""Starts the broker's process under the guard, sends it orders, and reports its end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from streams.local_kafka import guard as broker_guard

_TAIL_BYTES = 3000


class BrokerProcess:
    """Java under the guard.

    Args:
        command: Java and its arguments.
        log: File to which Java's output is appended.
        temporary: Folder that the guard removes if this process dies without stopping the broker.
    """

    def __init__(self, command: list[str], log: Path, temporary: Path | None) -> None:
        guard = [sys.executable, "-I", "-S", broker_guard.__file__, str(temporary or "")]
        self._log = log
        with log.open("ab") as said:
            self._log_start = said.tell()
            self._guard = subprocess.Popen(  # noqa: S603 - our own command line
                [*guard, *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                bufsize=0,
                start_new_session=True,  # Ctrl-C is for the application, which drains into this broker first
            )
        line = self._guard.stdout.readline() if self._guard.stdout else b""
        self._pid = int(line) if line.strip().isdigit() else None

    @property
    def pid(self) -> int | None:
        """Java's process id; None if it has ended."""
        return self._pid if self.running else None

    @property
    def running(self) -> bool:
        """Whether Java runs."""
        return self._guard.poll() is None

    def stop(self, seconds: float) -> None:
        """Stops Java cleanly; kills it after the time limit, in seconds."""
        self._order(broker_guard.STOP)
        try:
            self._guard.wait(seconds)
        except subprocess.TimeoutExpired:
            self._order(broker_guard.KILL)
        self._let_go()

    def kill(self) -> None:
        """Kills Java, and returns when it has ended."""
        self._order(broker_guard.KILL)
        self._let_go()

    def wait(self) -> None:
        """Waits until Java has ended."""
        self._guard.wait()

    def tail(self) -> str:
        """The end of Java's output."""
        try:
            with self._log.open("rb") as said:
                size = said.seek(0, 2)
                said.seek(max(self._log_start, size - _TAIL_BYTES))
                return said.read(_TAIL_BYTES).decode("utf-8", "replace").strip()
        except OSError:
            return ""

    def _order(self, order: bytes) -> None:
        if self._guard.stdin is not None and not self._guard.stdin.closed:
            try:
                self._guard.stdin.write(order)
            except BrokenPipeError:
                return  # it has just ended

    def _let_go(self) -> None:
        self._guard.wait()
        for pipe in (self._guard.stdin, self._guard.stdout):
            if pipe is not None:
                pipe.close()
