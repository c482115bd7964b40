"""FastStream as intake and wiring: a router for each handler, which delivers raw batches and acknowledges nothing.

FastStream's parsers raise on a header that is not text, and one bad header would lose its whole batch. Therefore parser
*and* decoder are replaced and pass raw records on. Only the pipeline commits offsets.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Annotated, Any

from aiokafka import ConsumerRecord
from faststream import AckPolicy
from faststream.kafka import KafkaBroker, KafkaRouter
from faststream.kafka.message import FAKE_CONSUMER, KafkaAckableMessage
from faststream.kafka.subscriber.usecase import BatchSubscriber
from faststream.message import StreamMessage
from faststream.prometheus import ConsumeAttrs, MetricsSettingsProvider, PrometheusMiddleware
from prometheus_client import CollectorRegistry
from pydantic import SkipValidation

from streams.kafka.aiokafka_fixes.batches import limit_unpacking
from streams.kafka.clients import connection, started
from streams.pipeline.consumer import CountingConsumer
from streams.pipeline.group import ConsumerGroup, Subscription
from streams.settings.model import Settings
from streams.topology import DEAD_LETTER_BYTES, MIB

_IDLE_POLL_MS = 50
_NEVER_LEAVE_MS = 60 * 60 * 1000
"""aiokafka leaves the group after this time without a poll. The pipeline detects stalled work itself (``health``)."""
_METADATA_MS = 30_000
"""A group stops until the next metadata if its topic is unknown to its leader for a moment. aiokafka waits 5 min."""


class IntakeBroker(KafkaBroker):
    """A FastStream broker whose consumers count their polls, and whose subscribers start at the same time.

    Each subscriber waits for its assignment; one after another, eight groups take 25 s, together 0.25 s.
    """

    def __init__(self, settings: Settings, groups: tuple[ConsumerGroup, ...], registry: CollectorRegistry) -> None:
        super().__init__(
            settings.kafka.bootstrap_servers,
            consumer_only=True,
            allow_auto_create_topics=False,
            graceful_timeout=1.0,
            logger=_quiet_logger(),
        )
        self._settings = settings
        self._groups = tuple((group, self._subscribe(group, registry)) for group in groups)

    async def start(self) -> None:
        """Connects, then starts every subscriber at once; if one fails, the others are cancelled."""
        await self.connect()
        limit_unpacking(self._settings.kafka.max_unpacked_bytes)
        options = connection(self._settings.kafka) | {"metadata_max_age_ms": _METADATA_MS}
        self.config.broker_config.builder = partial(CountingConsumer, **options)
        starts = [asyncio.ensure_future(self._start(group, subscriber)) for group, subscriber in self._groups]
        try:
            await asyncio.gather(*starts)
        finally:
            # Otherwise one could join its group after everything was stopped.
            for start in starts:
                start.cancel()
            await asyncio.gather(*starts, return_exceptions=True)
        self.running = True

    async def _start(self, group: ConsumerGroup, subscriber: BatchSubscriber) -> None:
        group.find_consumer = lambda: subscriber.consumer
        group.start()
        await started(subscriber.start())

    def _subscribe(self, group: ConsumerGroup, registry: CollectorRegistry) -> BatchSubscriber:
        kafka, pipeline = self._settings.kafka, self._settings.pipeline
        name = kafka.topic_prefix + group.subscription.group
        router = KafkaRouter(middlewares=[_metrics(registry, kafka.topic_prefix, group.subscription)])
        subscriber: BatchSubscriber = router.subscriber(
            f"{kafka.topic_prefix}{group.subscription.topic}",
            batch=True,
            group_id=name,
            ack_policy=AckPolicy.MANUAL,
            no_reply=True,
            max_records=pipeline.poll_records,
            batch_timeout_ms=_IDLE_POLL_MS,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            fetch_max_bytes=pipeline.fetch_max_bytes,
            max_partition_fetch_bytes=min(pipeline.fetch_max_bytes, DEAD_LETTER_BYTES + MIB),
            fetch_max_wait_ms=100,
            session_timeout_ms=int(kafka.session_timeout_seconds * 1000),
            heartbeat_interval_ms=int(1000 * min(kafka.heartbeat_seconds, kafka.session_timeout_seconds / 10)),
            rebalance_timeout_ms=int(kafka.rebalance_timeout_seconds * 1000),
            max_poll_interval_ms=_NEVER_LEAVE_MS,
            listener=group,
            parser=_parse,
            decoder=_decode,
        )

        async def intake(records: Annotated[Any, SkipValidation]) -> None:
            # Step 1. Pass the records of a poll on as they are.
            group.intake(records)

        subscriber(intake)
        self.include_router(router)
        return subscriber


class _Intake(MetricsSettingsProvider[Any, Any]):
    """What FastStream counts of a poll: the topic, the records and their bytes."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self.messaging_system = "kafka"

    def get_consume_attrs_from_message(self, msg: StreamMessage[Any]) -> ConsumeAttrs:
        size = sum(len(record.value or b"") for record in msg.raw_message)
        return {"destination_name": self._topic, "message_size": size, "messages_count": len(msg.raw_message)}

    def get_publish_destination_name_from_cmd(self, cmd: Any) -> str:
        return str(cmd.destination)


def _metrics(registry: CollectorRegistry, prefix: str, subscription: Subscription) -> PrometheusMiddleware[Any, Any]:
    """FastStream's own metrics of a group. Their label ``handler`` is the topic; the router adds the group.

    The name of a replay's plan is removed from both, because it would make the label unbounded.
    """
    topic, group = (prefix + without_plan(name) for name in (subscription.topic, subscription.group))
    counted = _Intake(topic)
    return PrometheusMiddleware(
        settings_provider_factory=lambda _: counted,
        registry=registry,
        app_name="assay",
        custom_labels={"consumer_group": group},
    )


def without_plan(name: str) -> str:
    """The name of a group or topic as a label.

    >>> without_plan("assay.score_page.replay.after-the-fix"), without_plan("assay.score_page")
    ('assay.score_page.replay', 'assay.score_page')
    """
    of, replay, _ = name.partition(".replay.")
    return f"{of}.replay" if replay else name


def _quiet_logger() -> logging.Logger:
    """FastStream's logger without its line for every assignment, and its warning that it creates no topics."""
    logger = logging.getLogger("faststream")
    logger.setLevel(logging.WARNING)
    logger.addFilter(lambda record: not record.getMessage().startswith("Auto create topics is disabled"))
    return logger


async def _parse(records: tuple[ConsumerRecord, ...]) -> KafkaAckableMessage:
    return KafkaAckableMessage(raw_message=records, body=[], consumer=FAKE_CONSUMER)


async def _decode(message: KafkaAckableMessage) -> Any:
    return message.raw_message
