"""Dead letters as they stand on their topics, with what has become of them.

A letter that was sent again keeps standing where it was; a marker behind it in the same partition says so
(``x-redriven-of``). Reading streams: letters are as large as pages, and there may be many.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from schemas.dead import REDRIVEN_OF, DeadLetter, dead_letter_topic
from streams.dlq.selection import Selection
from streams.kafka import make_admin
from streams.settings import Settings
from streams.topology import HANDLERS, Handler

_POLL_MS = 500


@dataclass(frozen=True, slots=True)
class Letter:
    """A dead letter, and the run that sent it again, if one did."""

    handler: str
    record: ConsumerRecord
    note: DeadLetter
    redriven_by: str | None

    @property
    def id(self) -> str:
        """``handler/partition/offset``, by which ``assay dlq show`` finds it."""
        return f"{self.handler}/{self.record.partition}/{self.record.offset}"

    @property
    def size(self) -> int:
        """Bytes of key and value."""
        return len(self.record.key or b"") + len(self.record.value or b"")


async def partitions_of(settings: Settings, selection: Selection) -> list[tuple[Handler, TopicPartition]]:
    """The partitions of the selected handlers' dead letter topics, as far as the topics exist."""
    admin = make_admin(settings.kafka)
    await admin.start()
    try:
        existing = set(await admin.list_topics())
        wanted = [(handler, topic_of(settings, handler)) for handler in HANDLERS if selection.wants(handler.name)]
        found = []
        for handler, topic in wanted:
            if topic in existing:
                [described] = await admin.describe_topics([topic])
                numbers = sorted(partition["partition"] for partition in described["partitions"])
                found += [(handler, TopicPartition(topic, number)) for number in numbers]
        return found
    finally:
        await admin.close()


def topic_of(settings: Settings, handler: Handler) -> str:
    """The name of a handler's dead letter topic on the cluster."""
    return settings.kafka.topic_prefix + dead_letter_topic(handler.consumes.name, handler.group)


async def redriven(reader: AIOKafkaConsumer, partition: TopicPartition) -> dict[int, str]:
    """For each letter of a partition that was sent again, the run that did it, by offset."""
    runs: dict[int, str] = {}
    async for record in records(reader, partition):
        texts = {name: (value or b"").decode("utf-8", "replace") for name, value in record.headers}
        if (offset := texts.get(REDRIVEN_OF, "")).isdecimal():
            runs[int(offset)] = texts.get("x-run", "")
    return runs


async def letters(
    reader: AIOKafkaConsumer, handler: str, partition: TopicPartition, runs: Mapping[int, str], start: int = 0
) -> AsyncIterator[Letter]:
    """The letters of a partition in order, markers left out."""
    async for record in records(reader, partition, start):
        if not is_marker(record.headers):
            yield Letter(handler, record, DeadLetter.of(record.headers), runs.get(record.offset))


async def records(reader: AIOKafkaConsumer, partition: TopicPartition, start: int = 0) -> AsyncIterator[ConsumerRecord]:
    """Committed records of a partition, from an offset to the end as it is now."""
    reader.assign([partition])
    first = (await reader.beginning_offsets([partition]))[partition]
    end = (await reader.end_offsets([partition]))[partition]
    reader.seek(partition, max(first, start))
    while await reader.position(partition) < end:
        for some in (await reader.getmany(partition, timeout_ms=_POLL_MS)).values():
            for record in some:
                if record.offset < end:
                    yield record


def is_marker(headers: Iterable[tuple[str, bytes | None]]) -> bool:
    """Whether a record of a dead letter topic only says that another one was sent again."""
    return any(name == REDRIVEN_OF for name, _ in headers)
