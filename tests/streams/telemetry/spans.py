"""A tracer whose finished spans a test can read."""

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from streams.telemetry.otel import OtelTracer


class Spans(OtelTracer):
    """Keeps its spans in memory, in the order in which they ended."""

    def __init__(self) -> None:
        self._memory = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._memory))
        super().__init__(provider)

    @property
    def ended(self) -> tuple[ReadableSpan, ...]:
        return self._memory.get_finished_spans()

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.ended if span.name == name]


def ids(span: ReadableSpan) -> tuple[str, str]:
    """Trace and span as ``traceparent`` writes them."""
    context = span.context
    assert context is not None
    return f"{context.trace_id:032x}", f"{context.span_id:016x}"


def parent(span: ReadableSpan) -> str | None:
    """The span above it."""
    return f"{span.parent.span_id:016x}" if span.parent is not None else None
