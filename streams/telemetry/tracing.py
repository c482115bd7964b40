"""Traces of the pipeline: a span for each record, and one below it for each request to a service.

Traces are off by default. Then OpenTelemetry is not imported, and a record costs one call of an empty function. If they
are on, a record's span continues the ``traceparent`` of the record, and its outputs carry the span's own. One trace
leads from a crawled page to the indexed document, and from a batch through its extraction to the next batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from aiokafka import ConsumerRecord

Value = str | int | float | bool


class RecordSpan(Protocol):
    """The work on one record."""

    @property
    def traceparent(self) -> str | None:
        """The context that the record's outputs carry; None where they carry the record's own on."""
        ...

    def active(self) -> AbstractContextManager[object]:
        """While it lasts, requests to services are this record's."""
        ...

    def ended(self, outcome: str, reason: str) -> None:
        """The record came to an outcome."""
        ...


class CallSpan(Protocol):
    """A request to somebody else."""

    def note(self, attributes: Mapping[str, Value]) -> None:
        """What came of it, under names of the OpenTelemetry conventions."""
        ...

    def failed(self, kind: str) -> None:
        """It came to nothing; ``kind`` is one of few words."""
        ...


class Tracer(Protocol):
    """Where spans come from."""

    def records(self, handler: str, group: str) -> Callable[[ConsumerRecord], RecordSpan]:
        """What begins the span of a record that a handler's consumer group works on."""
        ...

    def call(self, name: str, attributes: Mapping[str, Value]) -> AbstractContextManager[CallSpan]:
        """A span around a request, below the record that is being worked on."""
        ...

    async def aclose(self) -> None:
        """Sends what is left."""
        ...


class _NoSpan:
    """Stands for every span where there are no traces."""

    traceparent = None

    def active(self) -> AbstractContextManager[object]:
        return _NOTHING

    def ended(self, outcome: str, reason: str) -> None: ...

    def note(self, attributes: Mapping[str, Value]) -> None: ...

    def failed(self, kind: str) -> None: ...


_NOTHING = nullcontext()
_NO_SPAN = _NoSpan()
_NO_CALL = nullcontext(_NO_SPAN)


def no_spans(_: ConsumerRecord) -> RecordSpan:
    """Begins nothing."""
    return _NO_SPAN


class NoTracer:
    """Traces nothing."""

    def records(self, handler: str, group: str) -> Callable[[ConsumerRecord], RecordSpan]:  # noqa: ARG002
        """Begins nothing."""
        return no_spans

    def call(self, name: str, attributes: Mapping[str, Value]) -> AbstractContextManager[CallSpan]:  # noqa: ARG002
        """Surrounds nothing."""
        return _NO_CALL

    async def aclose(self) -> None:
        """Has nothing left."""
