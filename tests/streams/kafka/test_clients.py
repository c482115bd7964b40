import ssl
from pathlib import Path
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.client import AIOKafkaClient
from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.consumer.subscription_state import SubscriptionState
from aiokafka.errors import NotCoordinatorForGroupError, TopicAuthorizationFailedError
from aiokafka.protocol.commit import OffsetFetchResponse_v3
from aiokafka.structs import OffsetAndMetadata

from streams.kafka.clients import TlsFileError, connection, make_admin, make_producer
from streams.kafka.settings import KafkaSettings
from streams.pipeline.consumer import CountingConsumer
from tests.kafka.secured_kafka import KEY_PASSWORD, write_certificates
from tests.samples import instance
from tests.tables import tables


def settings(**kafka: Any) -> KafkaSettings:
    return KafkaSettings.model_validate({"bootstrap_servers": "a.example:9092", **kafka})


def test_connection_without_security_has_only_the_servers() -> None:
    assert connection(settings()) == {"bootstrap_servers": "a.example:9092", "security_protocol": "PLAINTEXT"}


def test_credentials_are_given_where_the_protocol_asks_for_them() -> None:
    given = {"security_protocol": "SASL_PLAINTEXT", "sasl_username": "me", "sasl_password": "hunter2"}
    options = connection(settings(**given))
    assert options["sasl_mechanism"] == "PLAIN"
    assert (options["sasl_plain_username"], options["sasl_plain_password"]) == ("me", "hunter2")
    assert "ssl_context" not in options


@pytest.mark.parametrize("protocol", ["SSL", "SASL_SSL"])
def test_tls_checks_the_certificate_and_the_name(protocol: str) -> None:
    context = instance(ssl.SSLContext, connection(settings(security_protocol=protocol))["ssl_context"])
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


async def test_records_of_partitions_that_were_refused_are_not_sent() -> None:
    """aiokafka would send them, and the broker may take them for records of the previous transaction."""
    producer = make_producer(settings(), "id", "client")
    manager, waiting = producer._txn_manager, producer._message_accumulator
    manager.set_pid_and_epoch(1, 0)
    manager.begin_transaction()
    new, sent = (TopicPartition("topic", number) for number in (0, 1))
    refused = await waiting.add_message(new, b"key", b"value", 1)
    repeated = await waiting.add_message(sent, b"key", b"value", 1)
    waiting._batches[sent][0].drain_ready()
    manager.error_transaction(TopicAuthorizationFailedError("topic"))
    with pytest.raises(TopicAuthorizationFailedError):
        await refused
    assert list(waiting._batches) == [sent]
    assert not repeated.done()
    assert manager._transaction_waiter.exception()
    await producer.stop()


async def test_offsets_are_not_read_from_another_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer of Kafka names no partition then; an admin client raises, and a member asks another broker."""
    partition, asked = TopicPartition("t", 0), list[int]()

    async def send(self: object, node_id: int, *_: object, **__: object) -> Any:
        asked.append(node_id)
        known = [("t", [(0, 7, "", 0)])] if node_id == 2 else []
        return OffsetFetchResponse_v3(0, known, 0 if known else NotCoordinatorForGroupError.errno)

    monkeypatch.setattr(AIOKafkaClient, "send", send)
    admin = make_admin(settings())
    with pytest.raises(NotCoordinatorForGroupError):
        await admin.list_consumer_group_offsets("g", 1, [partition])
    assert await admin.list_consumer_group_offsets("g", 2, [partition]) == {partition: OffsetAndMetadata(7, "")}

    consumer = CountingConsumer(bootstrap_servers="a.example:9092")
    consumer._closed = True  # it was never open; aiokafka warns all the same
    member = GroupCoordinator(consumer._client, SubscriptionState(), group_id="g", retry_backoff_ms=0)
    left = [1, 2]

    async def find() -> None:
        member.coordinator_id = member.coordinator_id or left.pop(0)

    monkeypatch.setattr(member, "ensure_coordinator_known", find)
    asked.clear()
    assert await member.fetch_committed_offsets([partition]) == {partition: OffsetAndMetadata(7, "")}
    assert asked == [1, 2]


TABLES = tables(__file__)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    write_certificates(folder)
    (folder / "text.pem").write_text("no certificate")
    return folder


def context(folder: Path, password: str = "", **files: str) -> ssl.SSLContext:
    paths = {f"ssl_{name}": str(folder / file) for name, file in files.items()}
    section = {"bootstrap_servers": "127.0.0.1:1", "security_protocol": "SSL", "ssl_password": password, **paths}
    return instance(ssl.SSLContext, connection(KafkaSettings.model_validate(section))["ssl_context"])


def test_an_authority_of_ones_own_replaces_the_systems(folder: Path) -> None:
    [trusted] = context(folder, cafile="authority.pem").get_ca_certs()
    assert "trustme" in str(trusted["subject"])


@pytest.mark.parametrize(
    "files",
    [
        {"certfile": "client.pem", "keyfile": "client.key"},
        {"certfile": "client.pem", "keyfile": "encrypted.key", "password": KEY_PASSWORD},
        {"certfile": "both.pem", "password": KEY_PASSWORD},
    ],
)
def test_a_certificate_is_taken_with_its_key(folder: Path, files: dict[str, str]) -> None:
    assert context(folder, **files).verify_mode is ssl.CERT_REQUIRED


@pytest.mark.parametrize(("files", "named", "variable"), TABLES["a_file_that_cant_be_used_is_named_with_its_variable"])
def test_a_file_that_cant_be_used_is_named_with_its_variable(
    folder: Path, files: dict[str, str], named: str, variable: str
) -> None:
    with pytest.raises(TlsFileError, match=rf"/{named} can't be used \(.+\); see ASSAY_KAFKA__{variable}"):
        context(folder, **files)
