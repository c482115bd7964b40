"""aiokafka sends records to partitions that the broker refused to add to the transaction.

While the end of the previous transaction is not written to such a partition, the broker takes the records for records
of that one, and commits them. No upstream issue is known. Delete this file if the fault rounds no longer find the
seeded bug ``refused_sent`` of ``tests/faults/bugs.py``.
"""

from __future__ import annotations

from aiokafka import AIOKafkaProducer
from aiokafka.producer.message_accumulator import MessageAccumulator


def fail_refused_records(producer: AIOKafkaProducer) -> None:
    """Has an error of the transaction fail the records that were not sent yet."""
    refuse = producer._txn_manager.error_transaction

    def refuse_all(error: Exception) -> None:
        refuse(error)
        fail_unsent(producer._message_accumulator, error)

    producer._txn_manager.error_transaction = refuse_all


def fail_unsent(accumulator: MessageAccumulator, error: Exception) -> None:
    """Fails the records that were never sent. Others belong to partitions that were added before."""
    waiting = accumulator._batches
    for partition, batches in list(waiting.items()):
        for batch in [batch for batch in batches if not batch.retry_count]:
            batches.remove(batch)
            batch.failure(error)
            batch._drain_waiter.exception()  # asyncio warns about errors that are not retrieved
        if not batches:
            del waiting[partition]
