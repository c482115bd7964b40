"""aiokafka takes a cluster that names no broker for a bug of its caller, and fails an assertion.

A broker that missed its own heartbeats names no broker. No upstream issue is known. Delete this file if
``tests/streams/kafka/test_fenced_broker.py`` passes without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from aiokafka.errors import KafkaConnectionError

_NO_BROKER = "Did we not perform bootstrap?"


@contextmanager
def no_broker_is_an_error() -> Iterator[None]:
    """Raises KafkaConnectionError in place of aiokafka's assertion."""
    try:
        yield
    except AssertionError as error:
        if str(error) != _NO_BROKER:
            raise
        raise KafkaConnectionError(f"the cluster names no broker now ({error})") from error
