"""Starts a real Apache Kafka on this machine without Docker: one KRaft node as a child process.

The broker ends with this process, however this process ends. Laptops and CI can therefore test offsets, groups and
transactions on Kafka itself. Linux and macOS. Figures: docs/adr/0002-a-real-kafka-without-docker.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from streams.local_kafka import guard
from streams.local_kafka.install import (
    BrokerUnavailable,
    cache_folder,
    find_java,
    format_data,
    kafka_jars,
    write_properties,
)

__all__ = ["BrokerUnavailable", "LocalKafka"]

HOST = "127.0.0.1"
PORTS = range(20_000, 32_000)
"""Below the ports that Linux and macOS use for outgoing connections. Otherwise a client that retries a killed broker
could get the broker's own port, connect to itself, and hold the port when the broker restarts."""
STOP_SECONDS = 15.0  # time limit of a clean stop; then the broker is killed
_PORT_ATTEMPTS = 5
_POLL_SECONDS = 0.05
_ANSWER_SECONDS = 5.0
_FULL_BYTES = 1024 * 1024  # with less free space, a disk counts as full
_LONGEST_CAUSE = 300
_TAIL_BYTES = 3000
_THROWN = re.compile(r"(?<![\w.])(?:[a-z]\w*+\.)++[A-Z]\w*(?:Exception|Error)\b.*")


class LocalKafka:
    """One Kafka broker as a child process: ``with LocalKafka() as kafka: kafka.bootstrap_servers``.

    In an event loop use ``async with`` or ``asyncio.to_thread(kafka.restart)``: starting takes seconds. It may be
    started from any thread. It ends with this process, even if this process is killed.

    Args:
        port: Port on 127.0.0.1; a free one by default.
        data_dir: Folder for data, properties and log, which is kept; by default a temporary one, removed at the stop.
        properties: Broker properties besides, or in place of, the defaults.
        progress: Gets a message about long steps.
    """

    start_seconds = 60.0  # time limit of a start, without the download
    java_options: tuple[str, ...] = (
        "-Xmx512m",
        # The first compiler only: the broker is up in 2.8 s instead of 4.8, and cheaper over any run of a few minutes.
        "-XX:TieredStopAtLevel=1",
        # One node with a small heap: 7 % less CPU over the tests of the pipeline than with the default collector.
        "-XX:+UseSerialGC",
        "-XX:+ExitOnOutOfMemoryError",
        "-Djava.awt.headless=true",
        "-Djava.net.preferIPv4Stack=true",
        "-Dorg.slf4j.simpleLogger.showDateTime=true",
        "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSZ",
    )

    def __init__(
        self,
        *,
        port: int | None = None,
        data_dir: Path | None = None,
        properties: Mapping[str, str | int] | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self._wanted_port = port or None
        self._kept_dir = data_dir.absolute() if data_dir else None
        self._properties = properties or {}
        self._progress = progress or (lambda _: None)
        self._folder: Path | None = None
        self._ports: tuple[int, int] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._pid: int | None = None
        self._log_start = 0
        self._busy = threading.RLock()
        self._abandoned = threading.Event()

    @property
    def bootstrap_servers(self) -> str:
        """``127.0.0.1:port``; the same until ``stop``, also after ``kill``."""
        if self._ports is None:
            raise BrokerUnavailable("The local Kafka has not been started.")
        return f"{HOST}:{self._ports[0]}"

    @property
    def data_dir(self) -> Path:
        """The folder with ``data``, ``server.properties`` and ``broker.log``."""
        if self._folder is None:
            raise BrokerUnavailable("The local Kafka has not been started.")
        return self._folder

    @property
    def log(self) -> Path:
        return self.data_dir / "broker.log"

    @property
    def pid(self) -> int | None:
        """The process id of Java, while it runs."""
        return self._pid if self.running else None

    @property
    def running(self) -> bool:
        return self._guard is not None and self._guard.poll() is None

    def start(self) -> None:
        """Starts the broker, and returns when it answers a metadata request; does nothing if it runs.

        Raises:
            BrokerUnavailable: The start failed. Nothing runs then; the log is kept and quoted.
            RuntimeError: Called in a running event loop.
        """
        _refuse_in_event_loop()
        with self._busy:
            if self.running:
                return
            self.kill()  # cleans up after one that ended by itself
            first = self._ports is None
            try:
                self._start()
            except BaseException as error:
                self.kill()
                if first:
                    self._forget(keep_log=isinstance(error, BrokerUnavailable) and not self._abandoned.is_set())
                if isinstance(error, OSError):
                    folders = f"{self._kept_dir or tempfile.gettempdir()} and {cache_folder()}"
                    what = error.strerror or error
                    raise BrokerUnavailable(f"The local Kafka must be able to write to {folders}: {what}") from error
                raise

    def stop(self) -> None:
        """Stops the broker cleanly, or kills it after the time limit, and removes temporary files. May be repeated."""
        self._abandoned.set()
        with self._busy:
            self._abandoned.clear()
            self._end(guard.STOP)
            self._forget(keep_log=False)

    def kill(self) -> None:
        """Kills the broker (SIGKILL), as a power cut would. Data and ports are kept for ``restart``."""
        with self._busy:
            self._end(guard.KILL)

    def restart(self) -> None:
        """Stops the broker if it runs, and starts it on the same ports and data."""
        _refuse_in_event_loop()
        with self._busy:
            self._end(guard.STOP)
            self.start()

    def wait(self) -> None:
        if self._guard is not None:
            self._guard.wait()

    def tail(self) -> str:
        """The end of Kafka's log since the last start; empty after a stop."""
        if self._guard is None:
            return ""
        try:
            with self.log.open("rb") as output:
                size = output.seek(0, 2)
                output.seek(max(self._log_start, size - _TAIL_BYTES))
                return output.read(_TAIL_BYTES).decode("utf-8", "replace").strip()
        except OSError:
            return ""

    def cause(self) -> str:
        """Why Kafka ended, by its log, and what to do. On a full disk its log may be cut off."""
        if shutil.disk_usage(self.data_dir).free < _FULL_BYTES:
            return f"the disk of {self.data_dir} is full; make room, or name another folder with --data or TMPDIR"
        return f"{cause_in(self.tail())}; its log: {self.log}"

    def __enter__(self) -> LocalKafka:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def __aenter__(self) -> LocalKafka:
        starting = asyncio.ensure_future(asyncio.to_thread(self.start))
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:  # the thread goes on, so make it give up and clean up
            self._abandoned.set()
            await asyncio.gather(starting, return_exceptions=True)
            await asyncio.to_thread(self.stop)
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.stop)

    def _end(self, order: bytes) -> None:
        """Gives an order to the guard, and waits for its end. A broker that does not stop in time is killed."""
        guarding, self._guard = self._guard, None
        if guarding is None or guarding.stdin is None:
            return
        with guarding:  # closes its pipes
            for last in (order, guard.KILL):
                with contextlib.suppress(BrokenPipeError):  # it has just ended
                    guarding.stdin.write(last)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    guarding.wait(STOP_SECONDS)
                    break

    def _start(self) -> None:
        jars = kafka_jars(cache_folder(), self._progress)
        java = [find_java(), *self.java_options, "-cp", os.pathsep.join(map(str, jars))]
        if self._folder is None:
            self._folder = self._kept_dir or Path(tempfile.mkdtemp(prefix="assay-kafka-"))
            self._folder.mkdir(parents=True, exist_ok=True)
        choose = self._ports is None and self._wanted_port is None
        cause = ""
        for _ in range(_PORT_ATTEMPTS):
            if choose or self._ports is None:
                self._ports = (self._wanted_port or free_port(), free_port())
            if not _is_free(self._ports[0]):
                raise BrokerUnavailable(
                    f"Port {self._ports[0]} is taken; name another one with --port N, 0 takes a free one"
                )
            properties = write_properties(self._folder, *self._ports, self._properties)
            format_data(java, self._folder, properties)
            self._run([*java, "kafka.Kafka", str(properties)])
            if self._becomes_ready():
                return
            taken, cause = "Address already in use" in self.tail(), self.cause()
            self.kill()
            if not (choose and taken):
                break
        raise BrokerUnavailable(f"Kafka ended while it was starting: {cause}")

    def _run(self, command: list[str]) -> None:
        """Runs Java under the guard, which removes a temporary folder if this process dies without stopping it."""
        temporary = "" if self._kept_dir else str(self._folder)
        with self.log.open("ab") as output:
            self._log_start = output.tell()
            self._guard = subprocess.Popen(  # noqa: S603 - our own command line
                [sys.executable, "-I", "-S", guard.__file__, temporary, *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                bufsize=0,
                start_new_session=True,  # Ctrl-C is for the application, which drains into this broker first
            )
        line = self._guard.stdout.readline() if self._guard.stdout else b""
        self._pid = int(line) if line.strip().isdigit() else None

    def _becomes_ready(self) -> bool:
        """Waits for the broker's answer. Returns False if the process ended instead."""
        deadline = time.monotonic() + self.start_seconds
        while self.running:
            if self._abandoned.is_set():
                raise BrokerUnavailable("The local Kafka was stopped while it was starting.")
            if time.monotonic() > deadline:
                raise BrokerUnavailable(f"Kafka did not answer within {self.start_seconds:g} s: {self.cause()}")
            if _answers(self.bootstrap_servers):
                return True
            time.sleep(_POLL_SECONDS)
        return False

    def _forget(self, *, keep_log: bool) -> None:
        """Releases the ports, and removes temporary files except the log of a failed start."""
        self._ports = None
        if self._folder is not None and self._kept_dir is None:
            shutil.rmtree(self._folder / "data" if keep_log else self._folder, ignore_errors=True)
        self._folder = None


def cause_in(log: str) -> str:
    """The line of Kafka's log that says why it ended: the last exception, otherwise the last line."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    thrown = [found[0] for line in lines if not line.startswith("at ") and (found := _THROWN.search(line))]
    return (thrown or lines or ["its log is empty"])[-1][:_LONGEST_CAUSE]


def _refuse_in_event_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError("Starting Kafka would block the event loop: use 'async with', or asyncio.to_thread.")


def free_port() -> int:
    """A free port. Another process may take it before its use, so a start tries several."""
    for port in random.sample(PORTS, len(PORTS)):
        if _is_free(port):
            return port
    raise BrokerUnavailable(f"Every port from {PORTS.start} to {PORTS.stop - 1} is taken: name a port.")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as Kafka binds: ended connections don't count
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def _answers(bootstrap_servers: str) -> bool:
    """Whether the broker answers a metadata request."""
    from aiokafka.errors import KafkaError  # the help of `assay broker` does without

    host, port = bootstrap_servers.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), _ANSWER_SECONDS).close()  # without this, the client logs errors
    except OSError:
        return False
    try:
        # Not asyncio.run, which would unset the calling thread's own loop.
        with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
            return runner.run(_describe(bootstrap_servers))
    except (KafkaError, OSError):
        return False


async def _describe(bootstrap_servers: str) -> bool:
    from aiokafka.admin import AIOKafkaAdminClient

    from streams.kafka.clients import opened

    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap_servers, request_timeout_ms=int(_ANSWER_SECONDS * 1000))
    async with asyncio.timeout(_ANSWER_SECONDS), opened(admin):
        cluster = await admin.describe_cluster()
        return bool(cluster["brokers"])
