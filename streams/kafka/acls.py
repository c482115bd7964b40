"""The rights that each account needs on a cluster with ACLs, derived from the topology.

An account is a handler's workers, or one of two others: ``topics`` creates the topics, ``lag`` reports how far groups
are behind. Rights are on exact names, except transactional ids: there is one for each partition of a topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from schemas.dead import dead_letter_topic
from streams.kafka.settings import KafkaSettings
from streams.topology import HANDLERS, TOPICS, Handler

Operation = Literal["Read", "Write", "Create", "Describe", "DescribeConfigs"]
Resource = Literal["topic", "group", "transactional-id"]
TOPICS_ACCOUNT, LAG_ACCOUNT = "topics", "lag"


@dataclass(frozen=True, slots=True)
class Acl:
    """Operations that an account may use on a resource; ``name`` has the topic prefix."""

    account: str
    resource: Resource
    name: str
    prefixed: bool
    operations: tuple[Operation, ...]


def needed_acls(kafka: KafkaSettings, handlers: Sequence[Handler] = HANDLERS) -> list[Acl]:
    """The rights of each account, in the order of the handlers."""
    prefix = kafka.topic_prefix
    found = [acl for handler in handlers for acl in _of_handler(prefix, handler)]
    names = {prefix + topic.name for topic in TOPICS}
    for handler in handlers:
        names |= {prefix + dead_letter_topic(handler.consumes.name, handler.group)}
        names |= {prefix + retry.topic for retry in handler.retry_topics}
    makes: tuple[Operation, ...] = ("Create", "Describe", "DescribeConfigs")
    found += [Acl(TOPICS_ACCOUNT, "topic", name, False, makes) for name in sorted(names)]
    return [*found, *_of_lag(prefix, handlers)]


def _of_handler(prefix: str, handler: Handler) -> Iterator[Acl]:
    """A worker reads its own topic and its retry topics, and writes those, its outputs and its dead letters."""
    retries = [retry.topic for retry in handler.retry_topics]
    reads = {handler.consumes.name, *retries}
    writes = {topic.name for topic in handler.emits} | {
        *retries,
        dead_letter_topic(handler.consumes.name, handler.group),
    }
    for name in sorted(reads | writes):
        operations: list[Operation] = ["Read"] if name in reads else []
        operations += ["Write", "Describe"] if name in writes else ["Describe"]
        yield Acl(handler.name, "topic", prefix + name, False, tuple(operations))
    for group in (handler.group, *(retry.group for retry in handler.retry_topics)):
        yield Acl(handler.name, "group", prefix + group, False, ("Read", "Describe"))
    # The dot ends the handler's name, so that no other handler's name begins with it.
    yield Acl(handler.name, "transactional-id", f"{prefix}{handler.group}.", True, ("Write", "Describe"))


def _of_lag(prefix: str, handlers: Iterable[Handler]) -> Iterator[Acl]:
    for handler in handlers:
        retries = handler.retry_topics
        dead = dead_letter_topic(handler.consumes.name, handler.group)
        for name in (handler.consumes.name, *(retry.topic for retry in retries), dead):
            yield Acl(LAG_ACCOUNT, "topic", prefix + name, False, ("Read", "Describe", "DescribeConfigs"))
        for group in (handler.group, *(retry.group for retry in retries)):
            yield Acl(LAG_ACCOUNT, "group", prefix + group, False, ("Describe",))


def command_of(acl: Acl, principal: str, bootstrap_servers: str) -> str:
    """The command of Kafka's own tool that grants the rights.

    >>> acl = Acl("lag", "group", "assay.x", False, ("Describe",))
    >>> command_of(acl, "User:lag", "broker:9092")
    'kafka-acls.sh --bootstrap-server broker:9092 --add --allow-principal User:lag --operation Describe --group assay.x'
    """
    operations = " ".join(f"--operation {operation}" for operation in acl.operations)
    pattern = " --resource-pattern-type prefixed" if acl.prefixed else ""
    return (
        f"kafka-acls.sh --bootstrap-server {bootstrap_servers} --add --allow-principal {principal} {operations} "
        f"--{acl.resource} {acl.name}{pattern}"
    )
