"""The rights that each account needs on a cluster with ACLs, derived from the topology.

An account is a handler's workers, or one of three others: ``topics`` creates the topics, ``lag`` reports how far groups
are behind, and ``console`` shows decisions and writes reviews. To send dead letters again, to delete them and to replay
takes an operator's account. Rights are on exact names, except transactional ids: there is one for each partition of a
topic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from schemas.dead import dead_letter_topic
from streams.kafka.settings import KafkaSettings
from streams.topology import DECISIONS_REVIEWED, HANDLERS, TOPICS, Handler

Operation = Literal["Read", "Write", "Create", "Describe", "DescribeConfigs"]
Resource = Literal["topic", "group", "transactional-id"]
TOPICS_ACCOUNT, LAG_ACCOUNT, CONSOLE_ACCOUNT = "topics", "lag", "console"
_SEES: tuple[Operation, ...] = ("Describe", "DescribeConfigs")


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
    of_groups = sorted({name for handler in handlers for name in _topics_of_groups(handler)})
    every = sorted({topic.name for topic in TOPICS} | set(of_groups))
    found += [Acl(TOPICS_ACCOUNT, "topic", prefix + name, False, ("Create", *_SEES)) for name in every]
    for account, topics in ((LAG_ACCOUNT, of_groups), (CONSOLE_ACCOUNT, every)):
        found += [Acl(account, "topic", prefix + name, False, ("Read", *_SEES)) for name in topics]
        groups = [group for handler in handlers for group in _groups_of(handler)]
        found += [Acl(account, "group", prefix + group, False, ("Describe",)) for group in groups]
    return [*found, Acl(CONSOLE_ACCOUNT, "topic", prefix + DECISIONS_REVIEWED.name, False, ("Write",))]


def written_by(handler: Handler) -> set[str]:
    """The topics that a worker writes, before the prefix: its outputs, its retry topics and its dead letters."""
    return {topic.name for topic in handler.emits} | {*_topics_of_groups(handler)} - {handler.consumes.name}


def _groups_of(handler: Handler) -> tuple[str, ...]:
    return handler.group, *(retry.group for retry in handler.retry_topics)


def _topics_of_groups(handler: Handler) -> tuple[str, ...]:
    dead = dead_letter_topic(handler.consumes.name, handler.group)
    return handler.consumes.name, *(retry.topic for retry in handler.retry_topics), dead


def _of_handler(prefix: str, handler: Handler) -> Iterator[Acl]:
    """A worker reads its own topic and its retry topics, and writes those, its outputs and its dead letters."""
    retries = [retry.topic for retry in handler.retry_topics]
    reads = {handler.consumes.name, *retries}
    writes = written_by(handler)
    for name in sorted(reads | writes):
        operations: list[Operation] = ["Read"] if name in reads else []
        operations += ["Write", "Describe"] if name in writes else ["Describe"]
        yield Acl(handler.name, "topic", prefix + name, False, tuple(operations))
    for group in _groups_of(handler):
        yield Acl(handler.name, "group", prefix + group, False, ("Read", "Describe"))
    # The dot ends the handler's name, so that no other handler's name begins with it.
    yield Acl(handler.name, "transactional-id", f"{prefix}{handler.group}.", True, ("Write", "Describe"))


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
