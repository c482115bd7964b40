import asyncio
import socket

import pytest
from aiokafka.errors import KafkaConnectionError, KafkaTimeoutError

from streams.cli.command import run_with_kafka
from streams.kafka.topics import TopicsError
from streams.settings.model import SettingsError, load_settings


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (
            KafkaConnectionError("Unable to bootstrap"),
            "no Kafka at 127.0.0.1:1; start one with `assay broker --detach`",
        ),
        (KafkaTimeoutError("nothing\nanswers"), "Kafka at 127.0.0.1:1: KafkaTimeoutError: nothing answers"),
        (KafkaTimeoutError(), "Kafka at 127.0.0.1:1: KafkaTimeoutError"),
        (TopicsError("topic a: PolicyViolation"), "topic a: PolicyViolation"),
        (FileNotFoundError("no ca.pem"), "Kafka at 127.0.0.1:1: FileNotFoundError: no ca.pem"),
    ],
)
def test_trouble_is_one_line_and_status_1(error: Exception, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    async def work() -> int:
        raise error

    assert run_with_kafka("tail", load_settings(kafka={"bootstrap_servers": "127.0.0.1:1"}), work()) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"assay tail: {says}")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(("command", "reported"), [("tail", True), ("run", False)])
def test_a_silent_cluster_is_reported_while_a_command_waits(
    command: str, reported: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("streams.cli.command._FIRST_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr("streams.kafka.trouble._ANSWER_SECONDS", 0.2)

    async def work() -> int:
        await asyncio.sleep(2)
        return 0

    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"127.0.0.1:{silent.getsockname()[1]}"
        assert run_with_kafka(command, load_settings(kafka={"bootstrap_servers": place}), work()) == 0
    line = f"assay {command}: waiting: Kafka at {place} did not answer within 0.2 s\n"
    assert capsys.readouterr().err == (line if reported else "")


@pytest.mark.parametrize("servers", ["a.example:99999", "a.example:", ":9092", ",", "a.example:9092,,", "a:-1"])
def test_invalid_bootstrap_servers_are_refused(servers: str) -> None:
    with pytest.raises(SettingsError, match="broker-1:9092"):
        load_settings(kafka={"bootstrap_servers": servers})


def test_servers_may_have_spaces_and_no_port() -> None:
    assert load_settings(kafka={"bootstrap_servers": "a.example:9092, b.example"}).kafka.bootstrap_servers == (
        "a.example:9092,b.example"
    )
