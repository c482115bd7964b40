"""aiokafka sends the offsets and the end of a transaction again if it gets no answer.

The first request may arrive after the second one, and the broker can't tell it from a request of the producer's next
transaction: it would set the group's offset back, or end that transaction. No upstream issue is known. Delete this file
if ``test_late_commit_after_a_repeated_one_ends_the_next`` of ``tests/kafka/test_late_commit.py`` fails.
"""

from __future__ import annotations

from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, NodeNotReadyError
from aiokafka.protocol.transaction import TxnOffsetCommitRequest

from streams.kafka.aiokafka_fixes.refused_partitions import fail_refused_records
from streams.kafka.aiokafka_fixes.waiting_batches import fail_waiting_batches


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
