"""Turns one raw record into output records: decode, decide, encode. Every input gives a result.

Each input gives its output records, one dead letter, one retry record, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import structlog
from aiokafka import ConsumerRecord

from schemas.event import Envelope, Event, OutputIds, Provenance
from schemas.needs import Ask
from schemas.outcome import Dead, DeadReason, Drop, Emit, Outcome, Retry, Stage, Steps
from streams.clock import Clock
from streams.codec import MAX_DETAIL, OutputRecord, decode, encode, timestamp
from streams.pipeline.failures import Origin, dead_letter, next_tier, retry_record
from streams.pipeline.handler_runner import HandlerRunner, exhausted
from streams.pipeline.metrics import PipelineMetrics
from streams.telemetry.tracing import RecordSpan, no_spans
from streams.topology import TOPIC_BYTES, RetryTopic

log = structlog.get_logger(__name__)


class Done(NamedTuple):
    """What a record caused."""

    outputs: tuple[OutputRecord, ...]
    size: int
    """Bytes to write."""

    @classmethod
    def of(cls, *outputs: OutputRecord) -> Done:
        """Made of its outputs."""
        return cls(outputs, sum([output.size for output in outputs]))


class Started(NamedTuple):
    """The work on a record, as it began."""

    at: float
    span: RecordSpan


@dataclass(frozen=True, slots=True)
class Pending:
    """A record whose handler asked for something, works in steps, or wants to be tried again."""

    event: Event
    first: Ask | Retry | Steps
    begun: Started


class RecordWork(Protocol):
    """What a consumer group does with each record: a handler's work, or anything else that comes to outputs."""

    def origin(self, record: ConsumerRecord) -> Origin:
        """Where a record stood first, and when it is due."""
        ...

    def begin(self, record: ConsumerRecord) -> Done | Pending:
        """Does a record's work as far as it goes without waiting; never raises."""
        ...

    async def complete(self, record: ConsumerRecord, pending: Pending) -> Done:
        """Goes on with a record that has to wait for a service; never raises."""
        ...

    def refuse(self, record: ConsumerRecord, refusal: Dead) -> Done:
        """What becomes of a record whose outputs can't be written."""
        ...


class RecordProcessor:
    """Does the work of one handler on raw records of its topic, or of one of its retry topics."""

    def __init__(
        self,
        runner: HandlerRunner,
        clock: Clock,
        observer: PipelineMetrics,
        tier: RetryTopic | None = None,
        spans: Callable[[ConsumerRecord], RecordSpan] = no_spans,
    ) -> None:
        """Takes what the work is done with.

        Args:
            runner: The handler's.
            clock: For envelopes and durations.
            observer: Told of every outcome.
            tier: The retry topic that the records come from; None for the handler's own.
            spans: Begins the trace span of a record.
        """
        self._runner = runner
        self._handler = runner.handler
        self._clock = clock
        self._observer = observer
        self._tier = tier
        self._spans = spans
        self._topics = {topic.event: topic for topic in runner.handler.emits}
        self._source = f"assay/{runner.handler.name}"
        self._ids = OutputIds(runner.handler.name, runner.handler.version, runner.rules.config_version)

    def origin(self, record: ConsumerRecord) -> Origin:
        """Where a record stood first, and when it is due."""
        return Origin.of(record, retried=self._tier is not None)

    def begin(self, record: ConsumerRecord) -> Done | Pending:
        """Does a record's work as far as it goes without waiting."""
        begun = Started(self._clock.monotonic(), self._spans(record))
        try:
            produced = timestamp(record.timestamp if self._tier is None else self.origin(record).timestamp_ms)
            event = decode(self._handler.consumes, record.value, record.headers, produced)
            if isinstance(event, Dead):
                return self._close(record, event, Stage.DECODE, begun)
            answer = self._runner.decide(event)
            if isinstance(answer, Ask | Retry | Generator):
                return Pending(event, answer, begun)
            return self._close(record, answer, Stage.HANDLE, begun)
        except Exception as error:
            return self._bury(record, error, begun)

    async def complete(self, record: ConsumerRecord, pending: Pending) -> Done:
        """Goes on with a record that has to wait for a service."""
        try:
            identity = (record.topic, record.partition, record.offset)
            at_most = 1 if self._tier else None
            run = Provenance.of(record.headers, "").run
            with pending.begun.span.active():
                tried = await self._runner.finish(pending.event, pending.first, identity, at_most, run)
            return self._close(record, tried.outcome, Stage.HANDLE, pending.begun, tried.attempts)
        except Exception as error:
            return self._bury(record, error, pending.begun)

    def _bury(self, record: ConsumerRecord, error: Exception, begun: Started) -> Done:
        """The dead letter of a record that a fault of ours has met: it must not stop the records behind it."""
        where = {"partition": record.partition, "offset": record.offset}
        log.error("processing failed", handler=self._handler.name, exc_info=error, **where)
        bug = Dead(DeadReason.HANDLER_BUG, f"{type(error).__name__}: {error}"[:MAX_DETAIL])
        return self._close(record, bug, Stage.HANDLE, begun)

    def refuse(self, record: ConsumerRecord, refusal: Dead) -> Done:
        """The dead letter of a record whose outputs can't be written."""
        return self._close(record, refusal, Stage.ENCODE, Started(self._clock.monotonic(), self._spans(record)))

    def _close(self, record: ConsumerRecord, outcome: Outcome, stage: Stage, begun: Started, attempts: int = 1) -> Done:
        origin = self.origin(record)
        provenance = Provenance.of(record.headers, origin.identity)
        if begun.span.traceparent is not None:
            provenance = provenance._replace(traceparent=begun.span.traceparent)
        if isinstance(outcome, Emit):
            encoded = self._encode(outcome.events, provenance)
            if isinstance(encoded, Dead):
                outcome, stage = encoded, Stage.ENCODE
            else:
                seconds = self._clock.monotonic() - begun.at
                self._observer.emitted(outcome.events, provenance.run is not None, seconds)
                self._note(origin, provenance, "emit", "", begun)
                return encoded
        match outcome:
            case Drop(reason):
                self._note(origin, provenance, "drop", reason, begun)
                return Done.of()
            case Retry():
                total = origin.attempts + attempts
                tier = next_tier(self._handler.tiers, self._tier, outcome.after_seconds)
                if tier is not None:
                    self._note(origin, provenance, "retry", outcome.reason, begun)
                    self._observer.retried(outcome.reason, provenance.run is not None)
                    longest = self._runner.retry.longest_wish_seconds
                    later = retry_record(
                        self._handler,
                        tier,
                        origin,
                        record.key,
                        record.value,
                        record.headers,
                        outcome,
                        total,
                        provenance,
                        self._clock.now(),
                        longest,
                    )
                    return Done.of(later)
                refusal = exhausted(outcome, total)
            case Dead():
                refusal = outcome
        self._note(origin, provenance, "dead", refusal.reason, begun)
        self._observer.died(refusal.reason, stage, provenance.run is not None)
        letter = dead_letter(
            self._handler,
            origin,
            record.key,
            record.value,
            record.headers,
            refusal,
            stage,
            provenance,
            self._clock.now(),
        )
        return Done.of(letter)

    def _encode(self, events: Sequence[Event], provenance: Provenance) -> Done | Dead:
        """The output records of a handler's events, or why they can't be written."""
        records = []
        total = 0
        now = self._clock.now()
        for ordinal, event in enumerate(events):
            topic = self._topics.get(type(event))
            if topic is None:
                return Dead(DeadReason.OUTPUT_INVALID, f"{self._handler.name} does not emit {type(event).__name__}")
            envelope = Envelope(
                id=self._ids.of(provenance.identity, ordinal),
                type=topic.name,
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

    def _note(self, origin: Origin, provenance: Provenance, outcome: str, reason: str, begun: Started) -> None:
        produced = timestamp(origin.timestamp_ms)
        age = (self._clock.now() - produced).total_seconds() if produced else None
        replayed = provenance.run is not None
        self._observer.handled(outcome, reason, self._clock.monotonic() - begun.at, age, replayed)
        begun.span.ended(outcome, reason)
