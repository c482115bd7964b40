"""The metrics of one handler's records, outputs and transactions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import structlog

from schemas.event import Event
from schemas.outcome import DeadReason, RetryReason, Stage
from streams.telemetry.decision_metrics import DecisionMetrics
from streams.telemetry.labels import LANES, Lane
from streams.telemetry.metrics import Metrics

log = structlog.get_logger(__name__)


class PipelineMetrics:
    """Counts one handler's records, outputs and transactions.

    Replay traffic has its own label, so that it raises no alert: the work of a replay's group, and every record that a
    replay or backfill wrote. ``replayed`` says so of a record.
    """

    def __init__(self, metrics: Metrics, handler: str, lane: Lane = "live") -> None:
        """Binds the handler's label once, so the hot path does not look it up; ``lane`` is the group's traffic."""
        self._metrics = metrics
        self._handler = handler
        self._lane: Lane = lane
        self._duration = {kind: metrics.handler_duration_seconds.labels(handler, kind) for kind in LANES}
        self._age = metrics.event_age_seconds.labels(handler)
        metrics.breaker_open.labels(handler, lane).set(0)
        self._outcomes: Counter[tuple[str, str, Lane]] = Counter()
        self._seconds: dict[Lane, list[float]] = {kind: [] for kind in LANES}
        self._ages: list[float] = []
        # At 0 from the start, so that the first one counts as an increase.
        metrics.transactions_total.labels(handler, "in_doubt", lane)
        metrics.dead_letter_pauses_total.labels(handler, lane)
        metrics.handler_events_total.labels(handler, "emit", "", lane)
        self._decisions = DecisionMetrics(metrics)
        self._held: dict[str, tuple[int, int, int, float]] = {}

    def handled(self, outcome: str, reason: str, seconds: float, age: float | None, replayed: bool) -> None:
        """A record has its outcome, ``seconds`` after its work started and ``age`` seconds after it was produced.

        The metrics change with the next commit, or the next second (``flush``).
        """
        lane = self._lane_of(replayed)
        self._outcomes[outcome, reason, lane] += 1
        self._seconds[lane].append(seconds)
        if age is not None and lane == "live":
            self._ages.append(max(age, 0.0))

    def flush(self) -> None:
        """Counts what was handled since the last call. A metric changes once for each batch, because it has locks."""
        for (outcome, reason, lane), number in self._outcomes.items():
            self._metrics.handler_events_total.labels(self._handler, outcome, reason, lane).inc(number)
        self._outcomes.clear()
        for lane, seconds in self._seconds.items():
            self._duration[lane].observe_many(seconds)
            seconds.clear()
        self._age.observe_many(self._ages)
        self._ages.clear()

    def retried(self, reason: RetryReason, replayed: bool) -> None:
        self._metrics.retries_total.labels(self._handler, reason, self._lane_of(replayed)).inc()

    def died(self, reason: DeadReason, stage: Stage, replayed: bool) -> None:
        self._metrics.dead_events_total.labels(self._handler, reason, stage, self._lane_of(replayed)).inc()

    def committed(self, result: str, seconds: float) -> None:
        """A commit ended: ``committed`` or ``in_doubt``."""
        self.flush()
        self._metrics.transactions_total.labels(self._handler, result, self._lane).inc()
        self._metrics.transaction_seconds.labels(self._handler).observe(seconds)

    def rebalanced(self) -> None:
        self._metrics.rebalances_total.labels(self._handler).inc()

    def holds(self, topic: str, records: int, size: int, in_flight: int, oldest_seconds: float) -> None:
        """What the handler holds of a topic; the gauges are sums over its own and its retry topics."""
        self.flush()
        self._held[topic] = (records, size, in_flight, oldest_seconds)
        all_records, all_sizes, all_in_flight, ages = zip(*self._held.values(), strict=True)
        self._metrics.records_held.labels(self._handler).set(sum(all_records))
        self._metrics.bytes_held.labels(self._handler).set(sum(all_sizes))
        self._metrics.handler_in_flight.labels(self._handler).set(sum(all_in_flight))
        self._metrics.oldest_unfinished_seconds.labels(self._handler, self._lane).set(max(ages))

    def breaker(self, closed: bool, cause: str = "") -> None:
        """The handler's circuit breaker has opened, because of ``cause``, or closed."""
        self._metrics.breaker_open.labels(self._handler, self._lane).set(not closed)
        if closed:
            log.info("circuit breaker closed, intake resumed", handler=self._handler)
        else:
            log.warning("circuit breaker open, intake paused", handler=self._handler, cause=cause or "unknown")

    def paused(self, cause: str) -> None:
        """Intake pauses because of ``cause``: too many dead letters."""
        self._metrics.dead_letter_pauses_total.labels(self._handler, self._lane).inc()
        log.error("too many dead letters, intake paused: check the last deploy", handler=self._handler, cause=cause)

    def lags(self, topic: str, records: int) -> None:
        """The handler's lag on the partitions that it holds. The name of a replay's plan is removed from the topic."""
        if self._lane == "replay":
            topic = topic.partition(".replay.")[0]
        self._metrics.consumer_lag_records.labels(self._handler, topic, self._lane).set(records)

    def emitted(self, events: Sequence[Event], replayed: bool, seconds: float) -> None:
        """A record's output events, ``seconds`` after its work started."""
        self._decisions.emitted(events, self._lane_of(replayed), seconds)

    def _lane_of(self, replayed: bool) -> Lane:
        return "replay" if replayed else self._lane
