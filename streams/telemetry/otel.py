"""Traces with OpenTelemetry: spans of records and calls, sent over OTLP. Only imported where traces are on.

Names follow the semantic conventions for messaging, generative AI and HTTP clients. Attributes contain sizes and
outcomes, never text of a page, prompt or reply. The module sets no global provider, so it does not change the
OpenTelemetry of a host application.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager

from aiokafka import ConsumerRecord
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from typing_extensions import override

from schemas.claims import ClaimEvaluated
from schemas.event import RUN_HEADER, Event
from schemas.pages import ScoredPage
from schemas.relevance import RelevanceJudged
from schemas.retrieval import ResultsClassified, RetrievalEvaluated
from schemas.search import SearchEvaluated
from streams.telemetry.settings import TelemetrySettings
from streams.telemetry.tracing import CallSpan, RecordSpan, Tracer, Value

_LONGEST = 512  # longest attribute, in characters; a URL may be as long as a page
_W3C = TraceContextTextMapPropagator()
_CONTEXT = ("traceparent", "tracestate")


def exporting_tracer(settings: TelemetrySettings, version: str) -> OtelTracer:
    provider = TracerProvider(
        sampler=ParentBased(TraceIdRatioBased(settings.traces_share)),
        resource=Resource.create({"service.name": "assay", "service.version": version}),
        span_limits=SpanLimits(max_attribute_length=_LONGEST),
        shutdown_on_exit=False,
    )
    timeout = settings.traces_timeout_seconds
    exporter = OTLPSpanExporter(endpoint=settings.otlp_endpoint or None, timeout=timeout)
    provider.add_span_processor(BatchSpanProcessor(exporter, export_timeout_millis=1000 * timeout))
    return OtelTracer(provider)


class OtelTracer(Tracer):
    """A ``Tracer`` with its own provider, which it shuts down when it is closed."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("assay")

    @override
    def records(self, handler: str, group: str) -> Callable[[ConsumerRecord], RecordSpan]:
        always: dict[str, Value] = {
            "messaging.system": "kafka",
            "messaging.operation.name": "process",
            "messaging.operation.type": "process",
            "messaging.consumer.group.name": group,
            "assay.handler": handler,
        }

        def begin(record: ConsumerRecord) -> RecordSpan:
            texts = _texts(record)
            attributes = always | {
                "messaging.destination.name": record.topic,
                "messaging.destination.partition.id": str(record.partition),
                "messaging.kafka.offset": record.offset,
                "messaging.message.body.size": len(record.value or b""),
            }
            for name, header in (("id", "ce_id"), ("conversation_id", "ce_correlationid")):
                if header in texts:
                    attributes[f"messaging.message.{name}"] = texts[header]
            if RUN_HEADER in texts:
                attributes["assay.run"] = texts[RUN_HEADER]
            span = self._tracer.start_span(
                f"process {record.topic}", _parent(texts), kind=SpanKind.CONSUMER, attributes=attributes
            )
            return _Record(span)

        return begin

    @override
    @contextmanager
    def call(self, name: str, attributes: Mapping[str, Value]) -> Iterator[CallSpan]:
        # Cancellation ends the span too. Expected errors are values, and the caller records them.
        with self._tracer.start_as_current_span(
            name, kind=SpanKind.CLIENT, attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            call = _Call(span)
            try:
                yield call
            except BaseException as error:
                call.failed(type(error).__name__)
                raise

    @override
    async def aclose(self) -> None:
        await asyncio.to_thread(self._provider.shutdown)


class _Record(RecordSpan):
    def __init__(self, span: Span) -> None:
        self._span = span
        carrier: dict[str, str] = {}
        _W3C.inject(carrier, trace.set_span_in_context(span, Context()))
        self.traceparent = carrier.get("traceparent")

    @override
    def active(self) -> AbstractContextManager[object]:
        return trace.use_span(self._span, end_on_exit=False, record_exception=False, set_status_on_exception=False)

    @override
    def decided(self, events: Sequence[Event]) -> None:
        if self._span.is_recording():
            self._span.set_attributes(evaluation_of(events))

    @override
    def ended(self, outcome: str, reason: str) -> None:
        self._span.set_attributes({"assay.outcome": outcome, "assay.reason": reason})
        if outcome in ("retry", "dead"):
            _fail(self._span, reason)
        self._span.end()


class _Call(CallSpan):
    def __init__(self, span: Span) -> None:
        self._span = span

    @override
    def note(self, attributes: Mapping[str, Value]) -> None:
        self._span.set_attributes(attributes)

    @override
    def failed(self, kind: str) -> None:
        _fail(self._span, kind)


def _fail(span: Span, kind: str) -> None:
    span.set_attribute("error.type", kind)
    span.set_status(StatusCode.ERROR)


def _texts(record: ConsumerRecord) -> dict[str, str]:
    return {
        name: value.decode("utf-8", "replace")
        for name, value in record.headers
        if value and len(value) <= _LONGEST and (name in _CONTEXT or name.startswith(("ce_", RUN_HEADER)))
    }


def _parent(texts: Mapping[str, str]) -> Context:
    """The trace of a record; an invalid ``traceparent`` counts as missing."""
    return _W3C.extract({name: texts[name] for name in _CONTEXT if name in texts}, Context())


def evaluation_of(events: Sequence[Event]) -> Mapping[str, str | float]:
    """The attributes of the first decision among the events; empty for events that decide nothing about a text.

    Scores are from 0 to 1, as consoles for traces expect them.
    """
    for event in events:
        match event:
            case ScoredPage():
                score = None if event.cts_score is None else event.cts_score / 100
                return _evaluation("content_trust", score, event.trust_label)
            case ResultsClassified():
                label = "needs_extraction" if event.needs_extraction else "usable"
                return _evaluation("actionable_information", event.actionable_information, label)
            case RetrievalEvaluated():
                return _evaluation("retrieval", event.overall_score, "passed" if event.passed else "failed")
            case SearchEvaluated():
                return _evaluation("search", event.quality_score, event.recommendation)
            case RelevanceJudged():
                return _evaluation("relevance", None, event.outcome)
            case ClaimEvaluated():
                label = event.band if event.status == "success" else event.status
                return _evaluation("decontextualization", event.decontextualization_score, label)
    return {}


def _evaluation(name: str, score: float | None, label: str) -> Mapping[str, str | float]:
    given: dict[str, str | float] = {"gen_ai.evaluation.name": name, "gen_ai.evaluation.score.label": str(label)}
    return given if score is None else given | {"gen_ai.evaluation.score.value": score}
