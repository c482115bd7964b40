"""Runs the Kafka work of commands, and explains trouble with Kafka in one line that says what to do."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Coroutine
from typing import Any, get_args

from aiokafka.conn import AIOKafkaConnection, collect_hosts
from aiokafka.errors import (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    IllegalSaslStateError,
    KafkaConnectionError,
    KafkaError,
    SaslAuthenticationFailed,
    TopicAuthorizationFailedError,
    UnsupportedSaslMechanismError,
)
from aiokafka.protocol.metadata import MetadataRequest

from streams.cli.output import tell
from streams.kafka.clients import TlsFileError, connection
from streams.kafka.settings import KafkaSettings, SecurityProtocol
from streams.kafka.topics import TopicsError
from streams.settings.model import Settings
from streams.workers.template import ChildStartError

_REFUSAL_SECONDS = 5.0
"""The time that a server has to refuse a client."""
_CLOSE_SECONDS = 0.5
_FORBIDDEN = (ClusterAuthorizationFailedError, GroupAuthorizationFailedError, TopicAuthorizationFailedError)


class NoTopicError(Exception):
    """The cluster does not have a topic that a command needs; the message says what to do."""


def run_with_kafka(command: str, settings: Settings, work: Coroutine[Any, Any, int]) -> int:
    """Returns what the work returns; 1 after a line on standard error for trouble, 2 for no topic; 130 after Ctrl-C."""
    # aiokafka logs each failed connection attempt; the line below reports it once.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    try:
        return asyncio.run(_work(command, settings, work))
    except KeyboardInterrupt:
        return 130


async def _work(command: str, settings: Settings, work: Coroutine[Any, Any, int]) -> int:
    try:
        return await work
    except BrokenPipeError:
        raise
    except NoTopicError as error:
        return tell(command, str(error), 2)
    except (KafkaError, TopicsError, OSError, ValueError) as error:
        return tell(command, await explain_trouble(error, settings), 1)


async def explain_trouble(error: Exception, settings: Settings) -> str:
    """What went wrong with Kafka, and what to do if that is known; takes a few seconds at most."""
    where = settings.kafka.bootstrap_servers
    if isinstance(error, TopicsError | TlsFileError | ChildStartError):
        return str(error)
    if isinstance(error, KafkaConnectionError):
        # aiokafka does not say why it can't connect.
        refusal = await _refusal(settings.kafka)
        return f"Kafka at {where} {refusal}" if refusal else _no_kafka(settings.kafka)
    # Kafka's own errors bear their name in their text.
    what = str(error) if isinstance(error, KafkaError) else f"{type(error).__name__}: {error}"
    if isinstance(error, _FORBIDDEN):
        what += f"; the cluster's ACLs do not give {_user(settings.kafka)} the right"
    return f"Kafka at {where}: {' '.join(what.split())}"


async def _refusal(kafka: KafkaSettings) -> str:
    """Why a server refuses the client, and what to do; "" if no server answers."""
    options = connection(kafka)
    for host, port, _ in collect_hosts(options.pop("bootstrap_servers")):
        server = AIOKafkaConnection(host, port, **options)
        try:
            async with asyncio.timeout(_REFUSAL_SECONDS):
                await server.connect()
                await server.send(MetadataRequest([]))
        except (KafkaError, OSError) as error:
            if refusal := _describe(error, kafka):
                # With TLS, closing takes a message each way.
                await asyncio.wait([server.close()], timeout=_CLOSE_SECONDS)
                return refusal
        server.close()
    return ""


def _describe(error: Exception, kafka: KafkaSettings) -> str:
    """Describes a refusal; "" for an error that a missing server causes too."""
    spoken = kafka.security_protocol
    match error:
        case ssl.SSLCertVerificationError():
            return f"has a certificate that is not trusted: {error.verify_message}; see ASSAY_KAFKA__SSL_CAFILE"
        case SaslAuthenticationFailed():
            how = kafka.sasl_mechanism
            return f"refuses {_user(kafka)} by {how}; see ASSAY_KAFKA__SASL_USERNAME, __SASL_PASSWORD, __SASL_MECHANISM"
        case UnsupportedSaslMechanismError():
            return f"does not offer {kafka.sasl_mechanism} here; see ASSAY_KAFKA__SASL_MECHANISM"
        case IllegalSaslStateError():
            return f"does not use SASL here; set ASSAY_KAFKA__SECURITY_PROTOCOL to {spoken.removeprefix('SASL_')}"
        case KafkaConnectionError() | ssl.SSLError() | ConnectionResetError():
            certificate = ", or a certificate: ASSAY_KAFKA__SSL_CERTFILE" if "SSL" in spoken else ""
            others = f"({', '.join(name for name in get_args(SecurityProtocol) if name != spoken)}){certificate}"
            return f"closes {spoken} connections; it may need another ASSAY_KAFKA__SECURITY_PROTOCOL {others}"
    return ""


def _no_kafka(kafka: KafkaSettings) -> str:
    local = kafka.security_protocol == "PLAINTEXT"
    todo = "start one with `assay broker --detach`, or set" if local else "see"
    return f"no Kafka at {kafka.bootstrap_servers}; {todo} ASSAY_KAFKA__BOOTSTRAP_SERVERS"


def _user(kafka: KafkaSettings) -> str:
    return f"the user {kafka.sasl_username!r}" if "SASL" in kafka.security_protocol else "this client"
