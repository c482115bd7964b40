"""The processing of records in a replay and in a promotion, and the progress of both.

A replay adds a selection before the pipeline's own processing and the plan's names behind it. A record that is not
selected writes nothing and moves the plan's offset. A promotion copies a record of a shadow topic to the live topic; it
skips records of other handlers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from aiokafka import ConsumerRecord

from schemas.event import RUN_HEADER
from schemas.outcome import Dead, Stage
from streams.clock import Clock
from streams.codec import OutputRecord
from streams.pipeline.failures import Input, dead_letter
from streams.pipeline.group import Subscription
from streams.pipeline.handler_runner import HandlerRunner
from streams.pipeline.metrics import PipelineMetrics
from streams.pipeline.processor import Done, Pending, RecordProcessor
from streams.replay.pace import ReplayRate
from streams.replay.selection import Selector
from streams.telemetry.metrics import Metrics
from streams.telemetry.tracing import RecordSpan, no_spans
from streams.topology import Handler


@dataclass(frozen=True, slots=True)
class ReplaySubscription(Subscription):
    """What a plan's group reads: the handler's own topic, or the shadow that an earlier stage wrote.

    Attributes:
        reads: The topic, before the prefix.
        own_group: The plan's group, before the prefix, apart from the handler's own.
    """

    reads: str = ""
    own_group: str = ""

    @property
    def topic(self) -> str:
        """The topic that is read."""
        return self.reads

    @property
    def group(self) -> str:
        """The plan's group."""
        return self.own_group


@dataclass(frozen=True, slots=True)
class Route:
    """Where a plan's results go: for each topic that the handler may write the one that is written instead.

    Attributes:
        places: What has no place in it is withheld.
        dead_letters: Which of the topics that are written has the dead letters.
    """

    places: Mapping[str, str]
    dead_letters: str

    def of(self, done: Done) -> Done:
        """What is written instead of a handler's results."""
        kept = [self._moved(output) for output in done.outputs if output.topic in self.places]
        return Done.of(*kept)

    def _moved(self, output: OutputRecord) -> OutputRecord:
        return output._replace(topic=self.places[output.topic])


class ReplayProcessor(RecordProcessor):
    """The work of one handler on the records of a plan's stage."""

    def __init__(
        self,
        runner: HandlerRunner,
        clock: Clock,
        observer: PipelineMetrics,
        *,
        run: str,
        means: Selector,
        route: Route,
        pace: ReplayRate,
        metrics: Metrics,
        spans: Callable[[ConsumerRecord], RecordSpan] = no_spans,
    ) -> None:
        """Takes what ``RecordProcessor`` takes, and what the plan says.

        Args:
            runner: The handler under its configuration.
            clock: For envelopes and durations.
            observer: Told of outcomes.
            run: The plan's run, which every result names.
            means: Whether a record is meant; never raises.
            route: Where results go.
            pace: Told of every record that is started.
            metrics: Counts what is done and what is passed over.
            spans: Begins the trace span of a record.
        """
        super().__init__(runner, clock, observer, spans=spans)
        self._run = run.encode()
        self._means = means
        self._route = route
        self._pace = pace
        self.replayed = 0
        """Records handled in this process."""
        self.passed_over = 0
        """Records that are not meant, in this process."""
        self.dead = 0
        """Records that became dead letters, in this process."""
        handler, records = runner.handler.name, metrics.replay_records_total
        self._done, self._skipped = records.labels(handler, "replayed"), records.labels(handler, "passed_over")

    def begin(self, record: ConsumerRecord) -> Done | Pending:
        """Does a record's work as far as it goes without waiting; nothing for one that is not meant."""
        if not self._means(record):
            self.passed_over += 1
            self._skipped.inc()
            return Done.of()
        self._pace.took()
        begun = super().begin(self._marked(record))
        return begun if isinstance(begun, Pending) else self._ended(begun)

    async def complete(self, pending: Pending) -> Done:
        """Goes on with a record that has to wait for a service."""
        return self._ended(await super().complete(pending))

    def refuse(self, record: ConsumerRecord, refusal: Dead) -> Done:
        """The dead letter of a record whose results can't be written."""
        return self._route.of(super().refuse(self._marked(record), refusal))

    def _ended(self, done: Done) -> Done:
        self.replayed += 1
        self._done.inc()
        routed = self._route.of(done)
        self.dead += any(output.topic == self._route.dead_letters for output in routed.outputs)
        return routed

    def _marked(self, record: ConsumerRecord) -> ConsumerRecord:
        """The record as one of this run, whatever run wrote it first."""
        headers = [(name, value) for name, value in record.headers if name != RUN_HEADER]
        return replace(record, headers=(*headers, (RUN_HEADER, self._run)))


class PromotionProcessor:
    """Copies one handler's records from a shadow to the live topic; others on the same shadow are not its own."""

    def __init__(self, handler: Handler, live: str, letters: str, clock: Clock) -> None:
        """Takes whose records, where they go, where one goes that the live topic does not take, and time."""
        self._handler = handler
        self._source = f"assay/{handler.name}".encode()
        self._live = live
        self._letters = letters
        self._clock = clock
        self.copied = 0
        """Records copied in this process."""

    def begin(self, record: ConsumerRecord) -> Done:
        """The record as it is, on the live topic."""
        if dict(record.headers).get("ce_source") != self._source:
            return Done.of()
        self.copied += 1
        return Done.of(OutputRecord(self._live, record.key, record.value, tuple(record.headers)))

    async def complete(self, pending: Pending) -> Done:
        """A copy never waits for a service."""
        raise NotImplementedError

    def refuse(self, record: ConsumerRecord, refusal: Dead) -> Done:
        """The dead letter of a record that the live topic does not take."""
        letter = dead_letter(self._handler, Input.of(record), refusal, Stage.ENCODE, self._clock.now())
        return Done.of(letter._replace(topic=self._letters))


@dataclass(slots=True)
class ReplayProgress:
    """How far a plan has come; offsets are of the present stage, counts are of this process."""

    plan: str
    handler: str = ""
    stage: int = 0
    stages: int = 0
    total: int = 0
    remaining: int = 0
    replayed: int = 0
    passed_over: int = 0
    dead: int = 0
    deleted: int = 0
    spent_usd: float = 0.0
    members: int = 0
    note: str = ""
    """Why nothing goes on for now."""
