"""One Kafka broker or three of one cluster, each behind a proxy for clients, and a proxy for each pair of brokers.

The three are combined brokers and controllers with replication 3 and ``min.insync.replicas`` 2. Each broker reaches the
others under names of its own hosts file, so each pair has its own addresses, and a proxy between them can cut a broker
off from the others while clients still reach it. This needs Linux, where all of 127.0.0.0/8 is this machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiokafka.errors import KafkaError, for_code
from aiokafka.protocol.admin import AlterPartitionReassignmentsRequest

from streams.kafka.clients import make_admin, opened
from streams.kafka.settings import KafkaSettings
from streams.local_kafka.broker import HOST, LocalKafka, free_port
from tests.kafka_proxy import CommitTrap, KafkaProxy
from tests.proxy import Proxy, Weather

COORDINATION = ("__consumer_offsets", "__transaction_state")
"""The topics whose leaders coordinate groups and transactions."""
_REPLICATED: dict[str, str | int] = {
    "inter.broker.listener.name": "INTERNAL",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "default.replication.factor": 3,
    "min.insync.replicas": 2,
    "offsets.topic.replication.factor": 3,
    "transaction.state.log.replication.factor": 3,
    "transaction.state.log.min.isr": 2,
    "share.coordinator.state.topic.replication.factor": 3,
    "share.coordinator.state.topic.min.isr": 2,
    # On two cores shared with the workers, a second without a heartbeat is no failure.
    "broker.session.timeout.ms": 4000,
    "controller.quorum.fetch.timeout.ms": 3000,
    # Leaders go back to the first replica soon after a restart, so that the next fault finds them spread.
    "leader.imbalance.check.interval.seconds": 3,
    # Files of a full disk should be full files.
    "log.segment.bytes": 4 * 1024 * 1024,
    "log.index.size.max.bytes": 64 * 1024,
}
_SMALL_HEAP = "-Xmx300m"
_DISK = "512m"
"""Size of the disk that can be filled. Each round leaves almost 1 MB on it."""
DISK_OF = 3
"""The broker with this disk."""
_FOLDER = "assay-brokers-"
_ADMIN_SECONDS = 30.0


class Brokers:
    """A cluster of one broker, or of three: ``async with Brokers(3) as brokers: brokers.bootstrap_servers``."""

    def __init__(self, count: int = 1) -> None:
        """Starts nothing."""
        assert count in (1, 3)
        self.numbers = range(1, count + 1)
        self.nodes: dict[int, LocalKafka] = {}
        self.ballast: Path | None = None
        """A file that may fill the disk of the broker ``DISK_OF``; None without the right to mount a small disk."""
        self._proxies: dict[int, KafkaProxy] = {}
        self.trap = CommitTrap()
        """Takes commits of the clients that use the proxies."""
        self._links: list[tuple[set[int], Proxy]] = []
        """The ways from one broker to another."""
        self._at_end = contextlib.AsyncExitStack()

    @property
    def bootstrap_servers(self) -> str:
        """The addresses of all brokers for clients."""
        return ",".join(node.bootstrap_servers for node in self.nodes.values())

    @property
    def ways(self) -> dict[int, int]:
        """For each broker's port that of its proxy."""
        return {_port(self.nodes[number]): proxy.port for number, proxy in self._proxies.items()}

    async def __aenter__(self) -> Self:
        async with self._at_end as at_end:
            if len(self.numbers) == 1:
                self.nodes[1] = LocalKafka()
            else:
                await self._make_three()
            for node in self.nodes.values():
                at_end.push_async_callback(asyncio.to_thread, node.stop)
            await asyncio.gather(*(asyncio.to_thread(node.start) for node in self.nodes.values()))
            for number, node in self.nodes.items():
                self._proxies[number] = await at_end.enter_async_context(KafkaProxy(_port(node), trap=self.trap))
            self._at_end = at_end.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._at_end.aclose()

    # --- brokers -----------------------------------------------------------------------------------------------------

    async def kill(self, number: int) -> None:
        """Kills a broker; its data and ports are kept."""
        await asyncio.to_thread(self.nodes[number].kill)

    async def restart(self, number: int) -> None:
        """Stops a broker cleanly if it runs, and starts it."""
        await asyncio.to_thread(self.nodes[number].restart)

    async def mend(self) -> None:
        """Ends what a fault may have left: brokers are up and reach each other, and the network is fair."""
        self.join()
        self.turn("fair")
        if self.ballast is not None:
            self.ballast.unlink(missing_ok=True)
        for number, node in self.nodes.items():
            if (pid := node.pid) is not None:
                os.kill(pid, signal.SIGCONT)
            else:
                await self.restart(number)

    def fill_disk(self) -> None:
        """Fills the disk of the broker ``DISK_OF``."""
        assert self.ballast is not None
        with contextlib.suppress(OSError), self.ballast.open("wb") as file:
            while True:
                file.write(bytes(1024 * 1024))
                file.flush()

    async def settled(self, topics: Iterable[str], seconds: float) -> bool:
        """Waits until every partition of the topics has all its replicas in sync; whether that is so."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while True:
                    with contextlib.suppress(KafkaError, OSError):
                        partitions = await self._partitions(topics)
                        if all(len(p["isr"]) == len(p["replicas"]) for some in partitions.values() for p in some):
                            return True
                    await asyncio.sleep(0.5)
        return False

    async def leaders(self, topics: Iterable[str], without: int = 0) -> dict[tuple[str, int], int]:
        """The leader of each partition, not as a certain broker knows it. Raises KafkaError."""
        partitions = await self._partitions(topics, without)
        return {(topic, p["partition"]): p["leader"] for topic, some in partitions.items() for p in some}

    async def coordinator(self, group: str) -> int:
        """The broker that coordinates a group. Raises KafkaError."""
        async with asyncio.timeout(_ADMIN_SECONDS), opened(make_admin(self._settings)) as admin:
            return int(await admin.find_coordinator(group))

    async def move_leaders(self, topics: Iterable[str]) -> None:
        """Prefers the second replica of every partition, which becomes the leader soon. Raises KafkaError."""
        partitions = await self._partitions(topics)
        moves: list[Any] = [
            (topic, [(p["partition"], [*p["replicas"][1:], p["replicas"][0]], {}) for p in some], {})
            for topic, some in partitions.items()
        ]
        async with asyncio.timeout(_ADMIN_SECONDS), opened(make_admin(self._settings)) as admin:
            # Any broker passes it on to the controller.
            answer = await admin._send_request(AlterPartitionReassignmentsRequest(10_000, moves, {}))
        if answer.error_code:
            raise for_code(answer.error_code)(answer.error_message)

    def cut_off(self, number: int) -> None:
        """Cuts a broker off from the others. Clients still reach it."""
        for pair, link in self._links:
            if number in pair:
                link.turn("half_open")

    def join(self) -> None:
        """Has all brokers reach each other again."""
        for _, link in self._links:
            link.turn("fair")

    # --- the network of the clients ----------------------------------------------------------------------------------

    @property
    def resets(self) -> int:
        """Connections of clients that were reset."""
        return sum(proxy.resets for proxy in self._proxies.values())

    @property
    def held(self) -> int:
        """Parts of requests and answers of clients that were delayed or held back."""
        return sum(proxy.held for proxy in self._proxies.values())

    def held_of(self, number: int) -> int:
        """Parts of what a broker and the others sent to each other that were held back."""
        return sum(link.held for pair, link in self._links if number in pair)

    def turn(self, weather: Weather) -> None:
        """Changes the weather between the clients that use the proxies, and all brokers."""
        for proxy in self._proxies.values():
            proxy.turn(weather)

    def reset(self) -> None:
        """Resets every connection of these clients."""
        for proxy in self._proxies.values():
            proxy.reset()

    # --- making of three ---------------------------------------------------------------------------------------------

    async def _make_three(self) -> None:
        await asyncio.to_thread(remove_leftovers)
        folder = Path(self._at_end.enter_context(tempfile.TemporaryDirectory(prefix=_FOLDER)))
        self._at_end.enter_context(_locked(folder))
        ports = {number: (free_port(), free_port(), free_port()) for number in self.numbers}
        voters = ",".join(f"{number}@broker-{number}:{control}" for number, (_, _, control) in ports.items())
        for number, (outer, inner, control) in ports.items():
            data = folder / f"broker-{number}"
            data.mkdir()
            if number == DISK_OF and _mounts(data):
                self.ballast = data / "ballast"
                self._at_end.callback(_run, "umount", data)
            hosts = folder / f"hosts-{number}"
            names = {f"broker-{other}": _address(number, other) for other in self.numbers} | {
                socket.gethostname(): HOST
            }
            hosts.write_text("".join(f"{address} {name}\n" for name, address in names.items()))
            for other in self.numbers:
                if other != number:
                    for port in ports[other][1:]:
                        link = Proxy(port, at=(_address(number, other), port))
                        self._links.append(({number, other}, await self._at_end.enter_async_context(link)))
            listeners = {"PLAINTEXT": outer, "INTERNAL": inner, "CONTROLLER": control}
            node = self.nodes[number] = LocalKafka(
                port=outer,
                data_dir=data,
                properties={
                    **_REPLICATED,
                    "node.id": number,
                    "controller.quorum.voters": voters,
                    "listeners": ",".join(f"{name}://{HOST}:{port}" for name, port in listeners.items()),
                    "advertised.listeners": f"PLAINTEXT://{HOST}:{outer},INTERNAL://broker-{number}:{inner}",
                },
            )
            node.java_options += (_SMALL_HEAP, f"-Djdk.net.hosts.file={hosts}")

    @property
    def _settings(self) -> KafkaSettings:
        return KafkaSettings(bootstrap_servers=self.bootstrap_servers)

    async def _partitions(self, topics: Iterable[str], without: int = 0) -> dict[str, list[dict[str, Any]]]:
        asked = ",".join(node.bootstrap_servers for number, node in self.nodes.items() if number != without)
        settings = KafkaSettings(bootstrap_servers=asked)
        async with asyncio.timeout(_ADMIN_SECONDS), opened(make_admin(settings)) as admin:
            described = await admin.describe_topics(list(topics))
        return {topic["topic"]: topic["partitions"] for topic in described}


def _address(source: int, target: int) -> str:
    """Where a broker reaches another one, or itself."""
    return HOST if source == target else f"127.0.{source}.{target}"


def _port(node: LocalKafka) -> int:
    return int(node.bootstrap_servers.rpartition(":")[2])


def may_mount() -> bool:
    """Whether a small disk can be mounted here."""
    with tempfile.TemporaryDirectory(prefix=_FOLDER) as name, _locked(Path(name)):
        disk = Path(name) / f"broker-{DISK_OF}"
        disk.mkdir()
        return _mounts(disk) and _run("umount", disk)


def remove_leftovers(beside: Path | None = None) -> list[Path]:
    """Unmounts and removes what runs have left that were killed; the folders of runs that still go on stay.

    The guard of a broker ends it soon after its run. If the guard was killed as well, the broker loses its folder.

    Args:
        beside: Where the folders are; that for temporary files by default.
    """
    removed = []
    for lock in (beside or Path(tempfile.gettempdir())).glob(f"{_FOLDER}*/lock"):
        with contextlib.suppress(OSError), lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            disk = lock.parent / f"broker-{DISK_OF}"
            if not disk.is_mount() or _run("umount", disk):
                shutil.rmtree(lock.parent, ignore_errors=True)
                removed.append(lock.parent)
    return removed


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """The folder belongs to a run until the block or the process ends."""
    with (folder / "lock").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _mounts(folder: Path) -> bool:
    """Mounts a small disk at a folder; False where that is not allowed."""
    return os.geteuid() == 0 and _run("mount", "-t", "tmpfs", "-o", f"size={_DISK}", "tmpfs", folder)


def _run(*command: str | Path) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
