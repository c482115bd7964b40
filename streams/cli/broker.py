"""``assay broker``: runs a real Kafka on this machine until Ctrl-C or SIGTERM, or in the background.

The note of a running broker, by which another process stops it, is a locked file in the cache folder. The lock ends
with the process, however that ends, so a note without a lock is out of date.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from typer import BadParameter, Option

from streams.cli.command import AsJson, CommandError
from streams.cli.output import say, show, tell
from streams.local_kafka.broker import HOST, STOP_SECONDS, LocalKafka
from streams.local_kafka.install import cache_folder, kafka_jars

_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class RunningBroker:
    """A broker that answers."""

    bootstrap_servers: str  # its address
    pid: int  # the process id of ``assay broker``, which ends Kafka when it ends
    data_dir: str  # the folder with data and log
    kept: bool  # whether the folder is kept after the end


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


DEFAULT_PORT = 9092
_STOP_MARGIN_SECONDS = 10.0


def broker(
    port: Annotated[int, Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one.")] = DEFAULT_PORT,
    data: Annotated[Path | None, Option(help="Folder for its data; a temporary one by default.")] = None,
    detach: Annotated[bool, Option("--detach", "-d", help="Run it in the background; return when it answers.")] = False,
    stop_it: Annotated[bool, Option("--stop", help="Stop the broker that runs at --port.")] = False,
    as_json: AsJson = False,
) -> int:
    if detach and stop_it:
        raise BadParameter("it cannot be used with --stop", param_hint="'--detach'")
    if stop_it:
        return _stop(port)
    if detach:
        return _detach(port, data, as_json=as_json)
    return run_broker(port or None, data, as_json=as_json)


def run_broker(port: int | None, data_dir: Path | None, *, as_json: bool) -> int:
    """Runs Kafka on a port of 127.0.0.1, a free one where None; returns 1 if it cannot start, or ends by itself."""
    if (other := _running(port)) is not None:
        raise CommandError(_already(other))
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
    try:
        with LocalKafka(port=port, data_dir=data_dir, progress=_report) as kafka:
            here = RunningBroker(kafka.bootstrap_servers, os.getpid(), str(kafka.data_dir), kept=data_dir is not None)
            with noted(note_of(cache_folder(), _port(here)), here):
                try:
                    _show(here, kafka.pid, "Ctrl-C stops it.", as_json=as_json)
                    kafka.wait()
                    tell("broker", f"Kafka ended by itself: {kafka.cause()}")
                finally:
                    kafka.stop()  # before the note is removed, which tells --stop that the port is free
    except KeyboardInterrupt:
        return 0
    finally:
        signal.signal(signal.SIGTERM, before)
    return 1


def _detach(port: int, data_dir: Path | None, *, as_json: bool) -> int:
    """Starts the command in the background, and returns when Kafka answers; 0 if the same one runs already."""
    if (other := _running(port)) is not None:
        if data_dir is not None and Path(other.data_dir) != data_dir.absolute():
            return tell("broker", f"{_already(other)} (its data: {other.data_dir})", 1)
        return show(as_json, asdict(other) | {"kafka_pid": None}, _already(other))
    command = [sys.executable, "-m", "assay", "broker", "--json", "--port", str(port)]
    command += [] if data_dir is None else ["--data", str(data_dir.absolute())]
    kafka_jars(cache_folder(), _report)  # a download shows its progress here
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(  # noqa: S603 - our own command line
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, start_new_session=True, text=True
        )
        assert child.stdout is not None  # noqa: S101 - a pipe was asked for
        try:
            line = child.stdout.readline().strip()
        except KeyboardInterrupt:
            child.terminate()
            child.wait()
            raise
        if not line:
            child.wait()
            errors.seek(0)
            _report(errors.read().decode("utf-8", "replace").strip())
            return 1
    document = json.loads(line)
    kafka_pid = document.pop("kafka_pid")
    here = RunningBroker(**document)
    _show(here, kafka_pid, f"It runs in the background. To stop it:\n  {_stop_command(here)}", as_json=as_json)
    return 0


def _stop(port: int) -> int:
    if (running := _running(port)) is None:
        return tell("broker", f"no broker of `assay broker` runs at {HOST}:{port}", 1)
    if not stop(note_of(cache_folder(), port), running, STOP_SECONDS + _STOP_MARGIN_SECONDS):
        return tell("broker", f"process {running.pid} does not end; `kill -9 {running.pid}` ends it", 1)
    say(f"Kafka at {running.bootstrap_servers} was stopped.")
    return 0


def _running(port: int | None) -> RunningBroker | None:
    return None if not port else running_at(note_of(cache_folder(), port))


def _port(broker: RunningBroker) -> int:
    return int(broker.bootstrap_servers.rpartition(":")[2])


def _already(broker: RunningBroker) -> str:
    answers = f"Kafka already answers at {broker.bootstrap_servers} (process {broker.pid})"
    return f"{answers}; to stop it: {_stop_command(broker)}"


def _stop_command(broker: RunningBroker) -> str:
    return "assay broker --stop" + (f" --port {_port(broker)}" if _port(broker) != DEFAULT_PORT else "")


def _show(broker: RunningBroker, kafka_pid: int | None, end: str, *, as_json: bool) -> None:
    hint = "Commands use it by default."
    if _port(broker) != DEFAULT_PORT:
        hint = f"In another terminal:\n  export ASSAY_KAFKA__BOOTSTRAP_SERVERS={broker.bootstrap_servers}"
    show(
        as_json,
        asdict(broker) | {"kafka_pid": kafka_pid},
        f"Kafka answers at {broker.bootstrap_servers} (process {broker.pid}).",
        f"Data and log: {broker.data_dir} ({'kept' if broker.kept else 'removed at the end'})",
        *f"\n{hint}\n\n{end}".split("\n"),
    )


def _report(message: str) -> None:
    say(*message.splitlines(), to=sys.stderr)
