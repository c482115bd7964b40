"""The transactions of aiokafka's producers. Three defects; no upstream issue of them is known.

1. It sends the offsets and the end of a transaction again if it gets no answer. The first request may arrive after the
   second one, and the broker can't tell it from a request of the producer's next transaction: it would set the group's
   offset back, or end that transaction. Delete ``SingleEndProducer`` if ``test_late_offsets_set_the_group_back`` of
   ``tests/kafka/test_late_offsets.py`` fails.
2. It sends records to partitions that the broker refused to add to the transaction. While the end of the previous
   transaction is not written to such a partition, the broker takes the records for records of that one, and commits
   them. Delete ``fail_refused_records`` if the fault rounds no longer find the seeded bug ``refused_sent`` of
   ``tests/faults/bugs.py``.
3. It expects each failed batch among the pending ones, where a batch that waits to be sent again is missing. To fail
   all batches then raises a KeyError. Delete ``fail_waiting_batches`` if ``fail_all`` also
   fails them.
"""

from __future__ import annotations

from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, NodeNotReadyError
from aiokafka.producer.message_accumulator import MessageAccumulator
from aiokafka.protocol.transaction import TxnOffsetCommitRequest


class SingleEndProducer(AIOKafkaProducer):  # type: ignore[misc] # aiokafka is not typed
    """A producer that sends the offsets and the end of a transaction once, and nothing outside of a transaction.

    Without an answer, the transaction fails. A new producer then gets a new epoch, and the broker refuses the late
    request.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        end, send = self._sender._do_txn_commit, self.client.send

        async def end_once(result: object) -> None:
            await end(result)
            if self._txn_manager.needs_transaction_commit() is not None:
                self._txn_manager.fatal_error(KafkaError("no confirmation of the end of the transaction"))

        async def send_once(node_id: int, request: object, **group: Any) -> object:
            try:
                return await send(node_id, request, **group)
            except NodeNotReadyError:
                raise  # it was not sent
            except KafkaError as error:
                if isinstance(request, TxnOffsetCommitRequest):
                    self._txn_manager.fatal_error(KafkaError(f"no answer to the offsets of the transaction: {error}"))
                raise

        self._sender._do_txn_commit = end_once
        self.client.send = send_once
        fail_waiting_batches(self._message_accumulator)
        fail_refused_records(self)


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


def fail_waiting_batches(accumulator: MessageAccumulator) -> None:
    """Has ``fail_all`` treat the batches that wait to be sent again as pending ones."""
    fail_all = accumulator.fail_all

    def fail_held(error: Exception) -> None:
        for again in accumulator._batches.values():
            accumulator._pending_batches.update(again)
        fail_all(error)

    accumulator.fail_all = fail_held
