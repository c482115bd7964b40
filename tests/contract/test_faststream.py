"""Facts about FastStream that intake depends on. An upgrade that changes one of these facts fails here.

No broker is needed: a builder that can be replaced makes FastStream's consumer, and the product replaces it too.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from types import SimpleNamespace
from typing import Annotated, Any

import anyio
import pytest
from aiokafka import ConsumerRebalanceListener, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaConnectionError
from faststream import AckPolicy
from faststream.kafka import KafkaBroker
from pydantic import SkipValidation

from streams.pipeline.intake import _decode, _parse
from tests.streams.doubles import raw_record

PARTITION = TopicPartition("in", 0)
MIXED = (
    raw_record(b'{"fine": true}', [("content-type", b"application/json")], offset=0),
    raw_record(b'{"cut', offset=1),
    raw_record(None, offset=2),
    raw_record(b"\xff\xfe", [("binary", b"\xff\x00")], offset=3),
    raw_record(b"", [("none", None)], offset=4),
    raw_record(b"x", [("content-type", b"image/png"), ("reply_to", b"elsewhere"), ("reply_to", b"twice")], offset=5),
    raw_record(b"[" * 5000, key=None, offset=6),
)
TURNS = 200
"""Of the event loop, in which whatever follows from a poll has come about."""
AS_THEY_CAME: dict[str, Any] = {"parser": _parse, "decoder": _decode}


class Consumer:
    """Returns the given polls, and records its calls."""

    def __init__(self, polls: Sequence[Any], asked: list[str]) -> None:
        self.polls = list(polls)
        self.asked = asked
        self.listener: Any = None
        self._coordinator = SimpleNamespace(member_id="member")
        self._group_id = "group"

    def subscribe(self, *, listener: Any, **_: Any) -> None:
        self.listener = listener

    async def start(self) -> None: ...

    async def stop(self) -> None:
        self.asked.append("stop")

    async def getmany(self, **_: Any) -> dict[TopicPartition, list[ConsumerRecord]]:
        await asyncio.sleep(0)
        if not self.polls:
            return {}
        self.asked.append("poll")
        answer = self.polls.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return {PARTITION: list(answer)}


class Intake:
    """A broker as the product makes it, over the consumer above."""

    def __init__(self, *polls: Any, **options: Any) -> None:
        self.got: list[Any] = []
        self.asked: list[str] = []
        self.consumers: list[Consumer] = []
        logger = logging.getLogger("faststream.quiet")
        logger.setLevel(logging.CRITICAL + 1)
        self.broker = KafkaBroker(
            "127.0.0.1:1", consumer_only=True, allow_auto_create_topics=False, graceful_timeout=1.0, logger=logger
        )
        subscriber = self.broker.subscriber(
            "in",
            batch=True,
            group_id="group",
            ack_policy=AckPolicy.MANUAL,
            no_reply=True,
            max_records=100,
            batch_timeout_ms=1,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            **options,
        )

        async def intake(records: Annotated[Any, SkipValidation]) -> None:
            self.asked.append("intake")
            self.got += records

        subscriber(intake)
        self.subscriber = subscriber
        self._polls = polls

    def build(self, **_: Any) -> Consumer:
        self.consumers.append(Consumer(self._polls, self.asked))
        return self.consumers[-1]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Consumer]:
        await self.broker.connect()
        self.broker.config.broker_config.builder = partial(self.build)
        await self.subscriber.start()
        try:
            yield self.consumers[0]
        finally:
            await self.broker.stop()

    async def until_polled_out(self) -> None:
        async with asyncio.timeout(30):
            while self.consumers[0].polls:  # noqa: ASYNC110 - the consumer is asked
                await asyncio.sleep(0.001)
            for _ in range(TURNS):
                await asyncio.sleep(0)


async def test_the_next_poll_begins_when_intake_has_returned() -> None:
    """So at the start of a poll everything that was delivered before has been through intake."""
    intake = Intake(MIXED[:1], MIXED[1:2], MIXED[2:3], **AS_THEY_CAME)
    async with intake.running():
        await intake.until_polled_out()
    assert [what for what in intake.asked if what in {"poll", "intake"}] == ["poll", "intake"] * 3


@pytest.mark.parametrize("error", [KafkaConnectionError("gone"), RuntimeError("anything")], ids=["kafka", "other"])
async def test_polling_continues_after_a_failed_poll(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """FastStream does not request the records of the failed poll again; the product's consumer does."""
    pauses: list[float] = []

    async def at_once(seconds: float) -> None:
        pauses.append(seconds)
        await asyncio.sleep(0)

    monkeypatch.setattr(anyio, "sleep", at_once)
    intake = Intake(error, MIXED[:1], **AS_THEY_CAME)
    async with intake.running():
        await intake.until_polled_out()
    assert [record.offset for record in intake.got] == [0]
    assert (5 in pauses) is isinstance(error, KafkaConnectionError)


async def test_rebalance_listener_is_called_before_other_tasks_run() -> None:
    """So the listener can pause the partition before any record is fetched."""

    class Listener(ConsumerRebalanceListener):  # type: ignore[misc] # aiokafka is not typed
        told: tuple[str, Any] = ("", None)

        async def on_partitions_assigned(self, assigned: Any) -> None:
            self.told = ("assigned", assigned)

        async def on_partitions_revoked(self, revoked: Any) -> None:
            self.told = ("revoked", revoked)

    listener = Listener()
    intake = Intake(listener=listener, **AS_THEY_CAME)
    async with intake.running() as consumer:
        for what in ("assigned", "revoked"):
            call = getattr(consumer.listener, f"on_partitions_{what}")({PARTITION})
            with pytest.raises(StopIteration):
                call.send(None)
            assert listener.told == (what, {PARTITION})
