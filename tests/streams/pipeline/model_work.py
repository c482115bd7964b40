"""Work without a handler: as long as the record says, with one output that names the record's offset."""

import asyncio

from aiokafka import ConsumerRecord

from schemas.outcome import Dead, Retry, RetryReason
from streams.pipeline.failures import Input
from streams.pipeline.processor import Done, Pending, RecordWork, Started
from streams.telemetry.tracing import no_spans
from streams.topology.codec import UNREADABLE_HEADER, OutputRecord
from tests.streams.doubles import PAGE

OUT, DEAD = "out", "dead"


class ModelWork(RecordWork):
    """Work that takes as long as the record says, and writes one output for it, which names the offset."""

    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency

    @property
    def concurrency(self) -> int:
        return self._concurrency

    def begin(self, record: ConsumerRecord) -> Done | Pending:
        if any(name == UNREADABLE_HEADER for name, _ in record.headers):
            return _output(record, DEAD)
        delay = float(record.value.split()[0])
        started = Started(Input.of(record), None, delay, no_spans(record))
        return Pending(PAGE, Retry(RetryReason.UNAVAILABLE), started) if delay else _output(record, OUT)

    async def complete(self, pending: Pending) -> Done:
        await asyncio.sleep(pending.started.at)
        return _output(pending.started.input.record, OUT)

    def refuse(self, record: ConsumerRecord, refusal: Dead) -> Done:  # noqa: ARG002 - the signature is the product's
        return _output(record, DEAD)


def _output(record: ConsumerRecord, topic: str) -> Done:
    return Done.of(OutputRecord(topic, record.key, str(record.offset).encode(), ()))
