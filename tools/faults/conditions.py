"""What a worker may be subject to besides fail points: sequence numbers near their end, or a bad deploy.

``CONDITIONS`` names them; each says something when it has come about.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest.mock import patch

from aiokafka import TopicPartition
from aiokafka.producer.transaction_manager import TransactionManager

from streams.kafka import transactions
from streams.kafka.transactions import RecordWriter

_LAST = 2**31 - 1
"""The last sequence number that aiokafka writes as the broker expects."""
_BEFORE_LAST = 100
_RENEWED_AFTER = 50
"""With the records of a commit above this, fewer than ``_BEFORE_LAST``."""


@contextmanager
def _near_the_last_number() -> Iterator[None]:
    """The first producer of each id begins near the end of its numbers; a broker takes any first number of a new id."""
    seen: set[str] = set()
    init, increment = TransactionManager.__init__, TransactionManager.increment_sequence_number

    def begin(manager: Any, transactional_id: str, *values: Any) -> None:
        init(manager, transactional_id, *values)
        if transactional_id not in seen:
            seen.add(transactional_id)
            manager._sequence_numbers = defaultdict(lambda: _LAST - _BEFORE_LAST)

    def count(manager: Any, partition: TopicPartition, number: int) -> None:
        increment(manager, partition, number)
        if manager.sequence_number(partition) < 0:
            print("overflow", flush=True)

    with (
        patch.object(TransactionManager, "__init__", begin),
        patch.object(TransactionManager, "increment_sequence_number", count),
    ):
        yield


@contextmanager
def sequences_overflow() -> Iterator[None]:
    """Sequence numbers end, and the producer is not replaced before."""
    with _near_the_last_number():
        yield


@contextmanager
def sequences_renewed() -> Iterator[None]:
    """Sequence numbers would end, and the producer is replaced before, as with a thousand million records."""
    start = RecordWriter.start

    async def tell(writer: RecordWriter) -> None:
        if writer.needs_renewal:
            print("renewed", flush=True)
        await start(writer)

    with (
        _near_the_last_number(),
        patch.object(transactions, "RECORDS_OF_A_PRODUCER", _RENEWED_AFTER),
        patch.object(RecordWriter, "start", tell),
    ):
        yield


CONDITIONS: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "sequences_overflow": sequences_overflow,
    "sequences_renewed": sequences_renewed,
    "bad_deploy": contextlib.nullcontext,
}
