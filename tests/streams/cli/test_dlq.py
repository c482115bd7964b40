"""Wrong usage of ``assay dlq``: one line that says what to do, and exit status 2."""

import pytest

from streams.cli.dlq import none_waiting
from streams.cli.main import _run
from streams.kafka.settings import KafkaSettings
from tests.tables import tables

TABLES = tables(__file__)


@pytest.mark.parametrize(("words", "complaint"), TABLES["wrong_usage_is_reported_in_one_line"])
def test_wrong_usage_is_reported_in_one_line(
    words: tuple[str, ...], complaint: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert _run(["dlq", *words]) == 2
    told = capfd.readouterr().err
    assert complaint in told
    assert told.count("\n") == 1


def test_missing_broker_is_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ASSAY_KAFKA__BOOTSTRAP_SERVERS", "127.0.0.1:9")
    assert _run(["dlq", "list"]) == 1
    told = capfd.readouterr().err
    assert "no Kafka at 127.0.0.1:9" in told
    assert told.count("\n") == 1


def test_an_empty_list_names_the_cluster_and_the_prefix() -> None:
    other = KafkaSettings(bootstrap_servers="broker-1:9092,broker-2:9092", topic_prefix="research.")
    told = none_waiting(other, any_topic=True)
    assert told == "no dead letters are waiting at broker-1:9092,broker-2:9092 with the prefix 'research.'"
    told = none_waiting(KafkaSettings(bootstrap_servers="127.0.0.1:9092"), any_topic=False)
    assert "there is no dead letter topic at 127.0.0.1:9092 without a prefix" in told
    assert "ASSAY_KAFKA__TOPIC_PREFIX" in told
