"""The brokers of ``assay broker`` that run on this machine: where each one is noted, and how another process stops it.

The note of a running broker is a locked file in the cache folder. The lock ends with the process, however that ends, so
a note without a lock is out of date.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class RunningBroker:
    """A broker that answers.

    Attributes:
        bootstrap_servers: Its address.
        pid: The process id of ``assay broker``, which ends Kafka when it ends.
        data_dir: The folder with data and log.
        kept: Whether the folder is kept after the end.
    """

    bootstrap_servers: str
    pid: int
    data_dir: str
    kept: bool


def note_of(cache: Path, port: int) -> Path:
    """The file with the note of the broker at a port of this machine."""
    return cache / f"broker-{port}.json"


@contextlib.contextmanager
def noted(note: Path, broker: RunningBroker) -> Iterator[None]:
    """Notes the broker while the block runs. A folder that cannot be written is no reason not to run."""
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        file = note.open("a+", encoding="utf-8")
    except OSError:
        yield
        return
    with file:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.truncate(0)
            file.write(json.dumps(asdict(broker)))
            file.flush()
        try:
            yield
        finally:
            note.unlink(missing_ok=True)


def running_at(note: Path) -> RunningBroker | None:
    """The broker of a note; None if it has ended."""
    try:
        with note.open(encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return RunningBroker(**json.load(file))
    except (OSError, ValueError, TypeError):
        pass
    return None


def stop(note: Path, broker: RunningBroker, seconds: float) -> bool:
    """Stops a broker, and returns whether it has ended within so many seconds."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(broker.pid, signal.SIGTERM)
    deadline = time.monotonic() + seconds
    while running_at(note) is not None:
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True
