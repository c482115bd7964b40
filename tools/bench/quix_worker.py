"""Quix Streams with the same function, exactly once. It runs in its own environment (``quix-requirements.txt``).

Its pinned packages conflict with ours. It commits at its default interval.
"""

from tools.bench.child import Meter, Task
from tools.bench.work import encoded, scorer

MAX_BYTES = 14 * 1024 * 1024
RUN_SECONDS = 600


def main() -> None:
    # Here, because this package is in no environment but its own.
    from quixstreams import Application

    task = Task.given()
    meter = Meter(task.broker)
    score = scorer()
    application = Application(
        broker_address=task.bootstrap,
        consumer_group=f"{task.prefix}quix",
        processing_guarantee="exactly-once",
        auto_offset_reset="earliest",
        auto_create_topics=False,
        consumer_extra_config={"max.partition.fetch.bytes": MAX_BYTES, "fetch.message.max.bytes": MAX_BYTES},
        producer_extra_config={"compression.type": "zstd", "message.max.bytes": MAX_BYTES},
        loglevel="WARNING",
    )

    def scored(body: bytes, key: bytes, timestamp: int, headers: object) -> bytes:
        meter.count()
        return encoded(score(key.decode(), body))

    source = application.topic(
        task.prefix + task.source, key_deserializer="bytes", value_deserializer="bytes", value_serializer="bytes"
    )
    target = application.topic(task.prefix + task.target, key_serializer="bytes", value_serializer="bytes")
    application.dataframe(source).apply(scored, metadata=True).to_topic(target)
    application.run(count=task.records, timeout=RUN_SECONDS)
    meter.tell()


if __name__ == "__main__":
    main()
