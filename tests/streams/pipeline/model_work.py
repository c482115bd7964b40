"""Work without a handler: as long as the record says, with one output that names the record's offset."""

import asyncio
from datetime import datetime

from aiokafka import ConsumerRecord

from schemas.outcome import Dead, Retry, RetryReason
from streams.codec import UNREADABLE_HEADER, OutputRecord
from streams.pipeline.failures import Origin
from streams.pipeline.processor import Done, Pending, RecordProcessor, Started
from streams.telemetry.tracing import no_spans
from tests.streams.doubles import PAGE, START

OUT, DEAD = "out", "dead"


class ModelWork(RecordProcessor):
    """Work that takes as long as the record says, and writes one output for it, which names the offset."""

    def __init__(self, due: datetime = START) -> None:
        """Takes when records of a retry topic are due; needs nothing of what real work needs."""
        self._due = due

    def origin(self, record: ConsumerRecord) -> Origin:
        return Origin.of(record, retried=False)._replace(not_before_ms=int(1000 * self._due.timestamp()))

    def begin(self, record: ConsumerRecord) -> Done | Pending:
        if any(name == UNREADABLE_HEADER for name, _ in record.headers):
            return _output(record, DEAD)
        delay = float(record.value.split()[0])
        begun = Started(delay, no_spans(record))
        return Pending(PAGE, Retry(RetryReason.UNAVAILABLE), begun) if delay else _output(record, OUT)

    async def complete(self, record: ConsumerRecord, pending: Pending) -> Done:
        await asyncio.sleep(pending.begun.at)
        return _output(record, OUT)

    def refuse(self, record: ConsumerRecord, refusal: Dead) -> Done:  # noqa: ARG002 - the signature is the product's
        return _output(record, DEAD)


def _output(record: ConsumerRecord, topic: str) -> Done:
    return Done.of(OutputRecord(topic, record.key, str(record.offset).encode(), ()))
