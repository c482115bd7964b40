"""The Kafka of the tests: a named cluster, or a local broker that is started here.

``ASSAY_KAFKA__BOOTSTRAP_SERVERS`` names a cluster.
"""

import contextlib
import fcntl
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit  # noqa: TID251 - a Docker engine has no web address

from streams.local_kafka.broker import LocalKafka

NAMED = "ASSAY_KAFKA__BOOTSTRAP_SERVERS"
ENGINE_SECONDS = 1.0


@contextlib.contextmanager
def kafka_server(environment: Mapping[str, str] = os.environ) -> Iterator[str]:
    """The bootstrap servers of a Kafka that answers for as long as the context is open."""
    if named := environment.get(NAMED):
        yield named
    else:
        with LocalKafka() as local:
            yield local.bootstrap_servers


def shared_kafka(folder: Path, at_end: Callable[[Callable[[], None]], None]) -> str:
    """The bootstrap servers of one Kafka for all processes of a test run (``shared_server``)."""
    return shared_server("kafka", folder, kafka_server, at_end)


def shared_server(
    name: str,
    folder: Path,
    start: Callable[[], contextlib.AbstractContextManager[str]],
    at_end: Callable[[Callable[[], None]], None],
) -> str:
    """The address of one server for all processes of a test run.

    The process that asks first starts the server. At its end it waits for the users of the server, then it stops it.
    A process that needs the server starts one if no server runs, or if its starter has died.

    Args:
        name: Of the server.
        folder: A folder that only the processes of this run share.
        start: Runs a server while its block is open, and gives its address.
        at_end: Registers what a process does at its end.
    """
    users, starter = ((folder / f"{name}-{part}").open("w") for part in ("users", "starter"))
    with _locked(folder / f"{name}-address") as address:
        fcntl.flock(users, fcntl.LOCK_SH)
        at_end(users.close)
        if not _taken(starter):
            starter.close()
            return address.read()
        server = contextlib.ExitStack()
        server.callback(starter.close)
        started = server.enter_context(start())
        address.truncate(0)
        address.write(started)

    def stop() -> None:
        while True:
            with _locked(folder / f"{name}-address"):
                if _taken(users):
                    server.close()
                    return
            time.sleep(0.1)

    at_end(stop)
    return started


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[IO[str]]:
    """A file to read and write that no other process has open in this way. The lock ends with the process."""
    with path.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        yield file


def _taken(file: IO[str]) -> bool:
    """Takes the lock of a file for this process alone, unless another process holds it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def docker_host(environment: Mapping[str, str]) -> str:
    """The address of the Docker engine, from the variable that its own client reads."""
    return environment.get("DOCKER_HOST") or "unix:///var/run/docker.sock"


def docker_answers(address: str, seconds: float = ENGINE_SECONDS) -> bool:
    """Whether a Docker engine answers a ping at ``unix:///path`` or ``tcp://host:port`` within ``seconds``."""
    engine = urlsplit(address)
    with contextlib.suppress(OSError, ValueError):
        if engine.scheme == "unix":
            connection = socket.socket(socket.AF_UNIX)
        elif engine.scheme == "tcp" and engine.hostname:
            connection = socket.socket()
        else:
            return False
        with connection:
            connection.settimeout(seconds)
            connection.connect(engine.path if engine.scheme == "unix" else (engine.hostname, engine.port or 2375))
            connection.sendall(b"GET /_ping HTTP/1.0\r\nHost: docker\r\n\r\n")
            return b" 200 " in connection.recv(64)
    return False
