"""aiokafka expects each failed batch among the pending ones, where a batch that waits to be sent again is missing.

To fail all batches then raises a KeyError. No upstream issue is known. Delete this file if
``MessageAccumulator.fail_all`` also fails batches that wait to be sent again.
"""

from __future__ import annotations

from aiokafka.producer.message_accumulator import MessageAccumulator


def fail_waiting_batches(accumulator: MessageAccumulator) -> None:
    """Has ``fail_all`` treat the batches that wait to be sent again as pending ones."""
    fail_all = accumulator.fail_all

    def fail_held(error: Exception) -> None:
        for again in accumulator._batches.values():
            accumulator._pending_batches.update(again)
        fail_all(error)

    accumulator.fail_all = fail_held
