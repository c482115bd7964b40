"""A real Kafka with secured listeners: TLS, TLS with client certificates, SASL over TLS and SASL without it."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from streams.local_kafka.broker import LocalKafka, free_port
from streams.local_kafka.install import CLUSTER_ID, write_properties
from tests.kafka.installation import kafka_tool

USERS = {"assay": "a secret; with =", "worker": "has some", "stranger": "has none", "viewer": "reads"}
"""The first may do everything. The others may log in, and have the rights that a test gives them."""
KEY_PASSWORD = "of the key"
PROTOCOLS = {"TLS": "SSL", "MUTUAL": "SSL", "OTHERNAME": "SSL", "SASLTLS": "SASL_SSL", "SASL": "SASL_PLAINTEXT"}
"""Names of listeners and what is spoken there. MUTUAL wants a client's certificate; OTHERNAME has another host's."""
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@dataclass(frozen=True)
class SecuredKafka:
    """Where its listeners are, and the folder with the files that ``write_certificates`` makes."""

    ports: dict[str, int]
    folder: Path

    def at(self, listener: str) -> str:
        """The bootstrap servers of a listener."""
        return f"127.0.0.1:{self.ports[listener]}"


@contextlib.contextmanager
def secured_kafka(folder: Path) -> Iterator[SecuredKafka]:
    """A broker with all of the listeners, for as long as the context is open."""
    write_certificates(folder)
    ports = {name: free_port() for name in ("PLAINTEXT", *PROTOCOLS)}
    properties = _properties(folder, ports)
    _format(folder / "kafka", properties)
    with LocalKafka(port=ports["PLAINTEXT"], data_dir=folder / "kafka", properties=properties):
        yield SecuredKafka(ports, folder)


def write_certificates(folder: Path) -> None:
    """Two authorities, and of the first one the certificates of the broker and of a client."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "authority.pem")
    trustme.CA().cert_pem.write_to_path(folder / "other.pem")
    for name, host in (("server", "127.0.0.1"), ("elsewhere", "elsewhere.example")):
        certificate = authority.issue_cert(host)
        (folder / f"{name}.pem").write_bytes(_key(certificate) + _chain(certificate))
    certificate = authority.issue_cert("assay.example", common_name="assay")
    (folder / "client.pem").write_bytes(_chain(certificate))
    (folder / "client.key").write_bytes(_key(certificate))
    encrypted = _key(certificate, BestAvailableEncryption(KEY_PASSWORD.encode()))
    (folder / "encrypted.key").write_bytes(encrypted)
    (folder / "both.pem").write_bytes(_chain(certificate) + encrypted)


def _properties(folder: Path, ports: dict[str, int]) -> dict[str, str | int]:
    clients = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())
    controller = free_port()
    map_ = {"CONTROLLER": "PLAINTEXT", "PLAINTEXT": "PLAINTEXT"} | PROTOCOLS
    plain = " ".join(f'user_{name}="{password}"' for name, password in USERS.items())
    modules = {
        "PLAIN": f"org.apache.kafka.common.security.plain.PlainLoginModule required {plain};",
        "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
        "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
    }
    return {
        "listeners": f"{clients},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": clients,
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in map_.items()),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(folder / "server.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(folder / "authority.pem"),
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.othername.ssl.keystore.type": "PEM",
        "listener.name.othername.ssl.keystore.location": str(folder / "elsewhere.pem"),
        **{
            f"listener.name.{listener}.sasl.enabled.mechanisms": ",".join(mechanisms)
            for listener, mechanisms in (("sasltls", MECHANISMS), ("sasl", MECHANISMS[:2]))
        },
        **{
            f"listener.name.{listener}.{mechanism.lower()}.sasl.jaas.config": modules[mechanism]
            for listener in ("sasltls", "sasl")
            for mechanism in MECHANISMS
        },
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        # The broker itself, and clients without a name, which come by the listeners without SASL.
        "super.users": "User:ANONYMOUS;User:assay;User:CN=assay",
        "ssl.principal.mapping.rules": "RULE:^.*(CN=[^,]+).*$/$1/,DEFAULT",
    }


def _format(folder: Path, properties: dict[str, str | int]) -> None:
    """Gives the broker's folder its identity and its SCRAM users."""
    folder.mkdir()
    file = write_properties(folder, 1, 2, properties=properties)
    users = [
        f'--add-scram={mechanism}=[name="{name}",password="{password}"]'
        for mechanism in MECHANISMS[1:]
        for name, password in USERS.items()
    ]
    kafka_tool("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(file), *users)


def _key(certificate: trustme.LeafCert, encryption: KeySerializationEncryption | None = None) -> bytes:
    """Its private key in PKCS 8, the only form that Kafka reads."""
    key = load_pem_private_key(certificate.private_key_pem.bytes(), None)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption or NoEncryption())


def _chain(certificate: trustme.LeafCert) -> bytes:
    return b"".join(blob.bytes() for blob in certificate.cert_chain_pems)
