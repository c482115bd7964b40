"""Which Kafka the tests run on: the one that is named, else one in a container, else one started here.

``ASSAY_KAFKA__BOOTSTRAP_SERVERS`` names one. A container is taken where a Docker engine answers.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from streams.broker import LocalKafka
from streams.broker_files import BROKER_PROPERTIES

NAMED = "ASSAY_KAFKA__BOOTSTRAP_SERVERS"
ENGINE_SECONDS = 1.0
_OF_THE_IMAGE = ("process.roles", "node.id", "listener", "controller.", "inter.broker.")
"""Settings that the image makes itself."""


@contextlib.contextmanager
def kafka_server(environment: Mapping[str, str] = os.environ) -> Iterator[str]:
    """The bootstrap servers of a Kafka that answers for as long as the context is open."""
    if named := environment.get(NAMED):
        yield named
    elif docker_answers(environment.get("DOCKER_HOST") or "unix:///var/run/docker.sock"):
        from testcontainers.community.kafka import KafkaContainer

        container = KafkaContainer().with_kraft()
        for key, value in BROKER_PROPERTIES.items():
            if not key.startswith(_OF_THE_IMAGE):
                container.with_env("KAFKA_" + key.upper().replace(".", "_"), str(value))
        with container:
            yield container.get_bootstrap_server()
    else:
        with LocalKafka() as local:
            yield local.bootstrap_servers


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
