"""Traces of the pipeline: a span for each record, and one below it for each request to a service.

Traces are off by default. Then OpenTelemetry is not imported, and a record costs one call of an empty function. If they
are on, a record's span continues the ``traceparent`` of the record, and its outputs carry the span's own. One trace
connects a crawled page with the indexed document, and a batch through its extraction with the next batch.

The classes here trace nothing; ``streams.telemetry.otel`` overrides their methods.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from schemas.event import Event

if TYPE_CHECKING:
    # Commands without Kafka trace their requests too, and aiokafka is an extra.
    from aiokafka import ConsumerRecord

Value = str | int | float | bool | Sequence[str]


class RecordSpan:
    """The work on one record."""

    traceparent: str | None = None  # the context for the record's outputs; None if they keep the record's own

    def active(self) -> AbstractContextManager[object]:
        """Spans of requests that start in the block become children of this one."""
        return _NOTHING

    def decided(self, events: Sequence[Event]) -> None:
        """Adds the decision in the events of the record."""

    def ended(self, outcome: str, reason: str) -> None:
        """Ends the span with the outcome of the record."""


class CallSpan:
    def note(self, attributes: Mapping[str, Value]) -> None:
        """Adds attributes of the response, named by the OpenTelemetry conventions."""

    def failed(self, kind: str) -> None:
        """Marks the request as failed; ``kind`` has few values."""


_NOTHING = nullcontext()
_NO_RECORD = RecordSpan()
_NO_CALL = nullcontext(CallSpan())


def no_spans(_: ConsumerRecord) -> RecordSpan:
    return _NO_RECORD


class Tracer:
    def records(self, handler: str, group: str) -> Callable[[ConsumerRecord], RecordSpan]:  # noqa: ARG002
        """Returns the function that starts the span of a record for a handler's consumer group."""
        return no_spans

    def call(self, name: str, attributes: Mapping[str, Value]) -> AbstractContextManager[CallSpan]:  # noqa: ARG002
        """A span around a request, below the span of the current record."""
        return _NO_CALL

    async def aclose(self) -> None:
        """Sends the remaining spans, within the exporter's timeout."""
