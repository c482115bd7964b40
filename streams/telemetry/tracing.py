"""Traces of the pipeline: a span for each record, and one below it for each request to a service.

Traces are off by default. Then OpenTelemetry is not imported, and a record costs one call of an empty function. If they
are on, a record's span continues the ``traceparent`` of the record, and its outputs carry the span's own. One trace
connects a crawled page with the indexed document, and a batch through its extraction with the next batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol

from typing_extensions import override

from schemas.event import Event

if TYPE_CHECKING:
    # Commands without Kafka trace their requests too, and aiokafka is an extra.
    from aiokafka import ConsumerRecord

Value = str | int | float | bool | Sequence[str]


class RecordSpan(Protocol):
    """The work on one record."""

    @property
    def traceparent(self) -> str | None:
        """The context for the record's outputs; None if they keep the record's own."""
        ...

    def active(self) -> AbstractContextManager[object]:
        """Spans of requests that start in the block become children of this one."""
        ...

    def decided(self, events: Sequence[Event]) -> None:
        """Adds the decision in the events of the record."""
        ...

    def ended(self, outcome: str, reason: str) -> None:
        """Ends the span with the outcome of the record."""
        ...


class CallSpan(Protocol):
    """A request to a service."""

    def note(self, attributes: Mapping[str, Value]) -> None:
        """Adds attributes of the response, named by the OpenTelemetry conventions."""
        ...

    def failed(self, kind: str) -> None:
        """Marks the request as failed; ``kind`` has few values."""
        ...


class Tracer(Protocol):
    """Creates spans."""

    def records(self, handler: str, group: str) -> Callable[[ConsumerRecord], RecordSpan]:
        """Returns the function that starts the span of a record for a handler's consumer group."""
        ...

    def call(self, name: str, attributes: Mapping[str, Value]) -> AbstractContextManager[CallSpan]:
        """A span around a request, below the span of the current record."""
        ...

    async def aclose(self) -> None:
        """Sends the remaining spans, within the exporter's timeout."""
        ...


class _NoSpan:
    traceparent = None

    def active(self) -> AbstractContextManager[object]:
        return _NOTHING

    def decided(self, events: Sequence[Event]) -> None: ...

    def ended(self, outcome: str, reason: str) -> None: ...

    def note(self, attributes: Mapping[str, Value]) -> None: ...

    def failed(self, kind: str) -> None: ...


_NOTHING = nullcontext()
_NO_SPAN = _NoSpan()
_NO_CALL = nullcontext(_NO_SPAN)


def no_spans(_: ConsumerRecord) -> RecordSpan:
    """Starts no span."""
    return _NO_SPAN


class NoTracer(Tracer):
    """Traces nothing."""

    @override
    def records(self, handler: str, group: str) -> Callable[[ConsumerRecord], RecordSpan]:
        return no_spans

    @override
    def call(self, name: str, attributes: Mapping[str, Value]) -> AbstractContextManager[CallSpan]:
        return _NO_CALL

    @override
    async def aclose(self) -> None: ...
