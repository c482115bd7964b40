"""Plans the topics of the topology, creates missing ones, reports differences, and lists the rights of accounts.

The number of partitions of an existing topic is never changed, because that would move keys to other partitions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import TopicAlreadyExistsError, for_code

from schemas.dead import dead_letter_topic
from streams.kafka.clients import make_admin, opened
from streams.kafka.settings import KafkaSettings
from streams.topology import (
    DEAD_LETTER_BYTES,
    DEAD_LETTER_RETENTION_DAYS,
    DECISIONS_REVIEWED,
    HANDLERS,
    RETENTION_DAYS,
    TOPIC_BYTES,
    TOPICS,
    Handler,
    Topic,
)

_DAY_MS = 24 * 60 * 60 * 1000
_FOR_EVER = -1
EXPECTED = {
    "message.timestamp.type": "CreateTime",
    "retention.bytes": "-1",
    "unclean.leader.election.enable": "false",
}
"""What a cluster's defaults, or an operator, may have changed: ages and replays by time need the producers' timestamps,
retention by size deletes unread records early, and an unclean election loses committed ones."""
_IN_SYNC = "min.insync.replicas"
_LEAST_IN_SYNC = 2  # of three replicas and more: with one, a commit is lost with its broker
_NOT_TOLD = "None"  # the value of a key that the cluster does not report; not every provider reports all
_LEADER_LOOKS = 50
_LEADER_PAUSE_SECONDS = 0.1


def no_topic(*names: str) -> str:
    """What to say of topics that the cluster does not have; named with the prefix."""
    if len(names) == 1:
        return f"there is no topic {names[0]} on the cluster; `assay topics create` makes it"
    return f"there are no topics {', '.join(names)} on the cluster; `assay topics create` makes them"


class TopicsError(Exception):
    """The cluster refused to create a topic; the message says which and why."""


@dataclass(frozen=True, slots=True)
class PlannedTopic:
    """A topic as it should be; ``name`` has the prefix."""

    name: str
    partitions: int
    replication: int
    config: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between a topic and its plan; ``actual`` is "" if the topic does not exist."""

    topic: str
    what: str
    planned: str
    actual: str


def plan_topics(
    kafka: KafkaSettings, topics: Sequence[Topic] = TOPICS, handlers: Sequence[Handler] = HANDLERS
) -> tuple[PlannedTopic, ...]:
    """Every topic of the topology, and each handler's retry topics and dead letter topic."""
    prefix, replication = kafka.topic_prefix, kafka.replication_factor

    def planned(name: str, partitions: int, size: int, days: int, compacted: bool = False) -> PlannedTopic:
        config = {
            "cleanup.policy": "compact" if compacted else "delete",
            "compression.type": "producer",
            "max.message.bytes": str(size),
            "retention.ms": str(_FOR_EVER if compacted else days * _DAY_MS),
        }
        return PlannedTopic(prefix + name, partitions, replication, config)

    events = [planned(topic.name, topic.partitions, TOPIC_BYTES, RETENTION_DAYS, topic.compacted) for topic in topics]
    dead = [
        planned(
            dead_letter_topic(handler.consumes.name, handler.group),
            handler.consumes.partitions,
            DEAD_LETTER_BYTES,
            DEAD_LETTER_RETENTION_DAYS,
        )
        for handler in handlers
    ]
    # A retry record is as large as a dead letter: the original and our headers.
    retried = [
        planned(retry.topic, handler.consumes.partitions, DEAD_LETTER_BYTES, RETENTION_DAYS)
        for handler in handlers
        for retry in handler.retry_topics
    ]
    return (*events, *retried, *dead)


async def create_topics(
    kafka: KafkaSettings, topics: Sequence[Topic] = TOPICS, handlers: Sequence[Handler] = HANDLERS
) -> list[str]:
    """Creates missing topics of the topology, as ``make_topics``."""
    return await make_topics(kafka, plan_topics(kafka, topics, handlers))


async def make_topics(kafka: KafkaSettings, wanted: Sequence[PlannedTopic]) -> list[str]:
    """Creates the topics that are missing, and returns their names. Raises TopicsError, KafkaError."""
    async with opened(make_admin(kafka)) as admin:
        existing = set(await admin.list_topics())
        missing = [topic for topic in wanted if topic.name not in existing]
        if not missing:
            return []
        answer = await admin.create_topics(
            [NewTopic(t.name, t.partitions, t.replication, topic_configs=dict(t.config)) for t in missing]
        )
        await _until_led(admin, missing)
    for name, code, *message in answer.topic_errors:
        error = for_code(code)
        # Another process may create the same topics at the same time.
        if code and error is not TopicAlreadyExistsError:
            raise TopicsError(f"topic {name}: {error.__name__} {message[0] if message and message[0] else ''}".rstrip())
    return [topic.name for topic in missing]


async def _until_led(admin: AIOKafkaAdminClient, topics: Sequence[PlannedTopic]) -> None:
    """Waits until every partition has a leader; until then, records are refused and sent again."""
    wanted = sum(topic.partitions for topic in topics)
    for _ in range(_LEADER_LOOKS):
        described = await admin.describe_topics([topic.name for topic in topics])
        led = sum(partition["leader"] >= 0 for topic in described for partition in topic["partitions"])
        if led >= wanted:
            return
        await asyncio.sleep(_LEADER_PAUSE_SECONDS)


async def find_differences(kafka: KafkaSettings) -> list[Difference]:
    """The differences between the cluster's topics and the plan. Raises KafkaError."""
    async with opened(make_admin(kafka)) as admin:
        existing = set(await admin.list_topics())
        differences: list[Difference] = []
        for topic in plan_topics(kafka):
            if topic.name not in existing:
                differences.append(Difference(topic.name, "topic", f"{topic.partitions} partitions", ""))
            else:
                differences += await _compare(admin, topic)
        return differences


async def _compare(admin: AIOKafkaAdminClient, topic: PlannedTopic) -> list[Difference]:
    watched = {**topic.config, **EXPECTED, _IN_SYNC: ""}
    there = await describe_topic(admin, replace(topic, config=watched))
    differences = []
    if there.partitions != topic.partitions:
        differences.append(Difference(topic.name, "partitions", str(topic.partitions), str(there.partitions)))
    if there.replication < topic.replication:
        differences.append(Difference(topic.name, "replicas", str(topic.replication), str(there.replication)))
    in_sync = there.config[_IN_SYNC]
    if there.replication > _LEAST_IN_SYNC and in_sync.isdigit() and int(in_sync) < _LEAST_IN_SYNC:
        differences.append(Difference(topic.name, _IN_SYNC, str(_LEAST_IN_SYNC), in_sync))
    differences += [
        Difference(topic.name, key, value, there.config[key])
        for key, value in {**topic.config, **EXPECTED}.items()
        if there.config[key] not in (value, _NOT_TOLD)
    ]
    return differences


async def describe_topic(admin: AIOKafkaAdminClient, topic: PlannedTopic) -> PlannedTopic:
    """An existing topic as it is on the cluster, with the configuration keys of the plan."""
    [described] = await admin.describe_topics([topic.name])
    [response] = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic.name)])
    actual = {entry[0]: entry[1] for _, _, _, _, entries in response.resources for entry in entries}
    config = {key: str(actual.get(key)) for key in topic.config}
    replicas = min(len(partition["replicas"]) for partition in described["partitions"])
    return replace(topic, partitions=len(described["partitions"]), replication=replicas, config=config)


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
