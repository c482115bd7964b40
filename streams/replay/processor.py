"""The processing of records in a replay.

A replay selects records before the pipeline's own processing, and sends the results to the plan's topics. A record that
is not selected writes nothing and moves the plan's offset.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from aiokafka import ConsumerRecord
from typing_extensions import override

from schemas.event import RUN_HEADER
from schemas.outcome import Dead
from streams.pipeline.handler_runner import HandlerRunner
from streams.pipeline.metrics import PipelineMetrics
from streams.pipeline.processor import Done, Pending, RecordProcessor
from streams.replay.pace import ReplayRate
from streams.replay.selection import Selector
from streams.runtime.clock import Clock
from streams.telemetry.metrics import Metrics
from streams.telemetry.tracing import RecordSpan, no_spans


@dataclass(frozen=True, slots=True)
class Route:
    """Where a plan's results go.

    Attributes:
        topics: For each topic of the handler the topic that is written instead; other results are withheld.
        dead_letters: The plan's topic of dead letters.
    """

    topics: Mapping[str, str]
    dead_letters: str

    def of(self, done: Done) -> Done:
        """The results, on the plan's topics."""
        kept = (output for output in done.outputs if output.topic in self.topics)
        return Done.of(*(output._replace(topic=self.topics[output.topic]) for output in kept))


class ReplayProcessor(RecordProcessor):
    """The processing of the records of a stage."""

    def __init__(
        self,
        runner: HandlerRunner,
        clock: Clock,
        observer: PipelineMetrics,
        *,
        run: str,
        selects: Selector,
        route: Route,
        pace: ReplayRate,
        metrics: Metrics,
        spans: Callable[[ConsumerRecord], RecordSpan] = no_spans,
    ) -> None:
        """Takes what ``RecordProcessor`` takes, and the plan's part; ``pace`` counts every record that is started."""
        super().__init__(runner, clock, observer, spans=spans)
        self._run = run.encode()
        self._selects = selects
        self._route = route
        self._pace = pace
        self.replayed = 0
        """Records handled in this process."""
        self.passed_over = 0
        """Records that were not selected, in this process."""
        self.dead = 0
        """Records that became dead letters, in this process."""
        handler, records = runner.handler.name, metrics.replay_records_total
        self._done, self._skipped = records.labels(handler, "replayed"), records.labels(handler, "passed_over")

    @override
    def begin(self, record: ConsumerRecord) -> Done | Pending:
        if not self._selects(record):
            self.passed_over += 1
            self._skipped.inc()
            return Done.of()
        self._pace.took()
        begun = super().begin(self._marked(record))
        return begun if isinstance(begun, Pending) else self._ended(begun)

    @override
    async def complete(self, pending: Pending) -> Done:
        return self._ended(await super().complete(pending))

    @override
    def refuse(self, record: ConsumerRecord, refusal: Dead) -> Done:
        return self._route.of(super().refuse(self._marked(record), refusal))

    def _ended(self, done: Done) -> Done:
        self.replayed += 1
        self._done.inc()
        routed = self._route.of(done)
        self.dead += any(output.topic == self._route.dead_letters for output in routed.outputs)
        return routed

    def _marked(self, record: ConsumerRecord) -> ConsumerRecord:
        """The record with this run in its headers, in place of the run that wrote it."""
        headers = [(name, value) for name, value in record.headers if name != RUN_HEADER]
        return replace(record, headers=(*headers, (RUN_HEADER, self._run)))
