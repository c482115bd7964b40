"""``assay dlq`` where no dead letter waits."""

from streams.cli.dlq import none_waiting
from streams.kafka.settings import KafkaSettings


def test_an_empty_list_names_the_cluster_and_the_prefix() -> None:
    other = KafkaSettings(bootstrap_servers="broker-1:9092,broker-2:9092", topic_prefix="research.")
    told = none_waiting(other, any_topic=True)
    assert told == "no dead letters are waiting at broker-1:9092,broker-2:9092 with the prefix 'research.'"
    told = none_waiting(KafkaSettings(bootstrap_servers="127.0.0.1:9092"), any_topic=False)
    assert "there is no dead letter topic at 127.0.0.1:9092 without a prefix" in told
    assert "ASSAY_KAFKA__TOPIC_PREFIX" in told
