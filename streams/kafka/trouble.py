"""Explains trouble with Kafka in one line that says what to do, and finds what keeps a process waiting."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Collection
from typing import get_args

from aiokafka.conn import AIOKafkaConnection, collect_hosts
from aiokafka.errors import (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    IllegalSaslStateError,
    KafkaConnectionError,
    KafkaError,
    NoError,
    SaslAuthenticationFailed,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailed,
    UnknownTopicOrPartitionError,
    UnsupportedSaslMechanismError,
    for_code,
)
from aiokafka.protocol.metadata import MetadataRequest

from streams.kafka.clients import TlsFileError, connection, make_admin, opened
from streams.kafka.settings import KafkaSettings, SecurityProtocol
from streams.kafka.topics import TopicsError, no_topic

_REFUSAL_SECONDS = 5.0  # the time that a server has to refuse a client
_ANSWER_SECONDS = 4.0  # the time that a cluster has to say what it lacks
_CLOSE_SECONDS = 0.5
_FORBIDDEN = (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailed,
)


async def find_causes(kafka: KafkaSettings, topics: Collection[str], groups: Collection[str]) -> list[str]:
    """Why a process can't use topics and groups, named with the prefix: no answer, no such topic, no right to see it.

    Empty if the cluster shows them all. Rights to read and to write show only in use.
    """
    try:
        async with asyncio.timeout(_ANSWER_SECONDS), opened(make_admin(kafka)) as admin:
            answers = await admin.describe_topics(list(topics))
            errors = [for_code(answer["error_code"])(answer["topic"]) for answer in answers]
            for group in groups:
                try:
                    await admin.find_coordinator(group)
                except GroupAuthorizationFailedError:
                    errors.append(GroupAuthorizationFailedError(group))
    except TimeoutError:
        return [f"Kafka at {kafka.bootstrap_servers} did not answer within {_ANSWER_SECONDS:g} s"]
    except (KafkaError, OSError, ValueError) as error:
        return [await explain_trouble(error, kafka)]
    missing = [error.args[0] for error in errors if isinstance(error, UnknownTopicOrPartitionError)]
    others = [error for error in errors if not isinstance(error, NoError | UnknownTopicOrPartitionError)]
    return [*([no_topic(*sorted(missing))] if missing else []), *(describe_error(error, kafka) for error in others)]


async def explain_trouble(error: Exception, kafka: KafkaSettings) -> str:
    """What went wrong with Kafka, and what to do if that is known; takes a few seconds at most."""
    if isinstance(error, TopicsError | TlsFileError):
        return str(error)
    if isinstance(error, KafkaConnectionError):
        # aiokafka does not say why it can't connect.
        if refusal := await _refusal(kafka):
            return f"Kafka at {kafka.bootstrap_servers} {refusal}"
        todo = "start one with `assay broker --detach`, or set" if kafka.security_protocol == "PLAINTEXT" else "see"
        return f"no Kafka at {kafka.bootstrap_servers}; {todo} ASSAY_KAFKA__BOOTSTRAP_SERVERS"
    return f"Kafka at {kafka.bootstrap_servers}: {describe_error(error, kafka)}"


def describe_error(error: Exception, kafka: KafkaSettings) -> str:
    """An error of a request, and whose right is missing if it is one of rights."""
    while isinstance(error.__cause__, KafkaError):
        error = error.__cause__
    # Kafka's own errors bear their name in their text.
    what = str(error) if isinstance(error, KafkaError) else f"{type(error).__name__}: {error}"
    if isinstance(error, _FORBIDDEN):
        what += f"; the cluster's ACLs do not give {_user(kafka)} the right, `assay topics acl` lists those needed"
    return " ".join(what.split())


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


def _user(kafka: KafkaSettings) -> str:
    return f"the user {kafka.sasl_username!r}" if "SASL" in kafka.security_protocol else "this client"
