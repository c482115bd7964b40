"""Turns one raw record into output records: decode, decide, encode.

Each input gives its output records, one dead letter, one retry record, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, assert_never

import structlog
from aiokafka import ConsumerRecord

from schemas.event import Envelope, Event, OutputIds
from schemas.needs import Ask
from schemas.outcome import Dead, DeadReason, Drop, Emit, Outcome, Retry, Stage
from streams.pipeline.failures import Input, dead_letter, next_retry_topic, retry_record
from streams.pipeline.handler_runner import HandlerRunner, exhausted
from streams.pipeline.metrics import PipelineMetrics
from streams.runtime.clock import Clock
from streams.telemetry.tracing import RecordSpan, no_spans
from streams.topology import TOPIC_BYTES, RetryTopic
from streams.topology.codec import MAX_DETAIL, OutputRecord, decode, encode, timestamp
from streams.workers.handler_jobs import RawRecord

log = structlog.get_logger(__name__)


class Done(NamedTuple):
    """The records to write for an input."""

    outputs: tuple[OutputRecord, ...]
    size: int  # bytes to write

    @classmethod
    def of(cls, *outputs: OutputRecord) -> Done:
        return cls(outputs, sum([output.size for output in outputs]))


class Started(NamedTuple):
    """An input whose processing has started: when, in monotonic seconds, and its trace span."""

    input: Input
    produced: datetime | None  # when the original record was written; None if it does not say
    at: float
    span: RecordSpan


@dataclass(frozen=True, slots=True)
class Pending:
    """A record whose handler asked for something, has to be tried again, or runs in a child process."""

    source: Event | RawRecord
    first: Ask | Retry | None  # the handler's first answer; None if the handler was not called yet
    started: Started


@dataclass(eq=False, repr=False)
class RecordProcessor:
    """Processes the records of one handler's topic, or of one of its retry topics."""

    runner: HandlerRunner
    clock: Clock
    observer: PipelineMetrics
    # The retry topic that the records come from; None for the handler's own topic.
    retry_topic: RetryTopic | None = None
    spans: Callable[[ConsumerRecord], RecordSpan] = no_spans
    # Called for each record; says whether it became a dead letter.
    on_done: Callable[[bool], None] = lambda _: None

    def __post_init__(self) -> None:
        self._handler = self.runner.handler
        self._topics = {topic.event: topic for topic in self._handler.emits}
        self._source = f"assay/{self._handler.name}"
        self._ids = OutputIds(self._handler.name, self._handler.version, self.runner.rules.config_version)

    @property
    def concurrency(self) -> int:
        return self.runner.concurrency

    def begin(self, record: ConsumerRecord) -> Done | Pending:
        """Processes a record as far as possible without waiting; never raises."""
        started = self._start(record)
        try:
            if self.runner.pool is not None:
                return Pending(
                    RawRecord(record.value, tuple(record.headers), started.produced, record.key), None, started
                )
            # Step 4. Decode the record.
            event = decode(self._handler.consumes, record.value, record.headers, started.produced, record.key)
            if isinstance(event, Dead):
                return self._result_of(started, event, Stage.DECODE)
            answer = self.runner.decide(event)
            if isinstance(answer, Ask | Retry):
                return Pending(event, answer, started)
            return self._result_of(started, answer, Stage.HANDLE)
        except Exception as error:
            return self._fail(started, error)

    async def complete(self, pending: Pending) -> Done:
        """Continues with a record that has to wait for a service; never raises."""
        started = pending.started
        record = started.input.record
        try:
            identity = (record.topic, record.partition, record.offset)
            at_most = 1 if self.retry_topic else None
            with started.span.active():
                tried = await self.runner.finish(
                    pending.source, pending.first, identity, at_most, started.input.provenance.run
                )
            return self._result_of(started, tried.outcome, tried.stage, tried.attempts)
        except Exception as error:
            return self._fail(started, error)

    def refuse(self, record: ConsumerRecord, refusal: Dead) -> Done:
        """The dead letter of a record whose outputs the broker refuses."""
        return self._result_of(self._start(record), refusal, Stage.ENCODE)

    def _start(self, record: ConsumerRecord) -> Started:
        at, span = self.clock.monotonic(), self.spans(record)
        input_ = Input.of(record, retried=self.retry_topic is not None)
        if span.traceparent is not None:
            input_ = input_._replace(provenance=input_.provenance._replace(traceparent=span.traceparent))
        return Started(input_, timestamp(input_.origin.timestamp_ms), at, span)

    def _fail(self, started: Started, error: Exception) -> Done:
        """The dead letter of a record whose processing raised, so that it does not block its partition."""
        record = started.input.record
        where = {"partition": record.partition, "offset": record.offset}
        log.error("processing failed", handler=self._handler.name, exc_info=error, **where)
        bug = Dead(DeadReason.HANDLER_BUG, f"{type(error).__name__}: {error}"[:MAX_DETAIL])
        return self._result_of(started, bug, Stage.HANDLE)

    def _result_of(self, started: Started, outcome: Outcome, stage: Stage, attempts: int = 1) -> Done:
        """The records of an outcome; counts it."""
        input_ = started.input
        # Step 7. Encode the events, or make a retry record or a dead letter.
        if isinstance(outcome, Emit):
            encoded = self._encode(outcome.events, input_)
            if isinstance(encoded, Done):
                seconds = self.clock.monotonic() - started.at
                self.observer.emitted(outcome.events, input_.replayed, seconds)
                started.span.decided(outcome.events)
                self._note(started, "emit", "")
                return encoded
            outcome, stage = encoded, Stage.ENCODE
        match outcome:
            case Drop(reason):
                self._note(started, "drop", reason)
                return Done.of()
            case Retry():
                origin = input_.origin._replace(attempts=input_.origin.attempts + attempts)
                input_ = input_._replace(origin=origin)
                retry_topic = next_retry_topic(self._handler.retry_topics, self.retry_topic, outcome.after_seconds)
                if retry_topic is not None:
                    self._note(started, "retry", outcome.reason)
                    self.observer.retried(outcome.reason, input_.replayed)
                    longest, now = self.runner.retry.longest_wish_seconds, self.clock.now()
                    return Done.of(retry_record(self._handler, retry_topic, input_, outcome, now, longest))
                refusal = exhausted(outcome, origin.attempts)
            case Dead():
                refusal = outcome
            case _:
                assert_never(outcome)
        if stage is Stage.DECODE:
            place = f"{input_.record.topic}/{input_.record.partition}/{input_.record.offset}"
            log.warning("a record can't be read", reason=refusal.reason, record=place, error=refusal.detail)
        self._note(started, "dead", refusal.reason)
        self.observer.died(refusal.reason, stage, input_.replayed)
        return Done.of(dead_letter(self._handler, input_, refusal, stage, self.clock.now()))

    def _encode(self, events: Sequence[Event], input_: Input) -> Done | Dead:
        """The output records of a handler's events, or why they cannot be written."""
        provenance = input_.provenance
        records = []
        total = 0
        now = self.clock.now()
        for ordinal, event in enumerate(events):
            topic = self._topics.get(type(event))
            if topic is None:
                return Dead(DeadReason.OUTPUT_INVALID, f"{self._handler.name} does not emit {type(event).__name__}")
            envelope = Envelope(
                id=self._ids.of(provenance.identity, ordinal),
                source=self._source,
                time=now,
                correlation_id=provenance.correlation_id,
                causation_id=provenance.identity,
                traceparent=provenance.traceparent,
                run=provenance.run,
            )
            try:
                output = encode(topic, event, envelope)
            except Exception as error:
                return Dead(DeadReason.OUTPUT_INVALID, f"{topic.name}: {error}"[:MAX_DETAIL])
            size = output.size
            if size > TOPIC_BYTES:
                return Dead(DeadReason.OUTPUT_TOO_LARGE, f"{topic.name}: {size} bytes, {TOPIC_BYTES} at most")
            records.append(output)
            total += size
        return Done(tuple(records), total)

    def _note(self, started: Started, outcome: str, reason: str) -> None:
        age = None if started.produced is None else (self.clock.now() - started.produced).total_seconds()
        self.on_done(outcome == "dead")
        self.observer.handled(outcome, reason, self.clock.monotonic() - started.at, age, started.input.replayed)
        started.span.ended(outcome, reason)
