"""The loop of a program without a framework: getmany, decode, work, encode, send, await, commit. At least once.

Modes: ``pages`` and ``notes`` do the same work as the pipeline, ``forward`` copies the bytes. It decodes with the same
models and compresses as the pipeline does. It writes no envelope, derives no ids, has no metrics, does not keep the
order of a retry and its successors, and stops at the first bad record.
"""

import asyncio
from collections.abc import Callable

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord

from tools.bench.child import Meter, Task
from tools.bench.work import NoRules, Note, encoded, scorer, see

MIB = 1024 * 1024
WAIT_MS = 100


async def drain(task: Task, meter: Meter) -> None:
    work = _work(task.mode)
    consumer = AIOKafkaConsumer(
        task.prefix + task.source,
        bootstrap_servers=task.bootstrap,
        group_id=f"{task.prefix}bare",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        fetch_max_bytes=24 * MIB,
        max_partition_fetch_bytes=14 * MIB,
    )
    producer = AIOKafkaProducer(
        bootstrap_servers=task.bootstrap,
        enable_idempotence=True,
        acks="all",
        compression_type="zstd",
        max_batch_size=MIB,
        max_request_size=64 * MIB,
    )
    await consumer.start()
    await producer.start()
    while meter.seen < task.records:
        sent = []
        polled = await consumer.getmany(timeout_ms=WAIT_MS, max_records=500)
        for records in polled.values():
            for record in records:
                meter.count()
                sent.append(await producer.send(task.prefix + task.target, work(record), key=record.key))
        if sent:
            await asyncio.gather(*sent)
            await consumer.commit()
    meter.tell()
    await consumer.stop()
    await producer.stop()


def _work(mode: str) -> Callable[[ConsumerRecord], bytes]:
    if mode == "forward":
        return lambda record: bytes(record.value)
    if mode == "notes":
        none = NoRules()
        return lambda record: see(Note.model_validate_json(record.value), none).events[0].to_json()
    score = scorer()
    return lambda record: encoded(score(record.key.decode(), record.value))


if __name__ == "__main__":
    given = Task.given()
    asyncio.run(drain(given, Meter(given.broker)))
