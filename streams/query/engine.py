"""The query engine: runs the handler ``rank_results`` outside of Kafka, with the same services and limits.

A command or an HTTP client gets what a record of ``ranking.requested.v1`` gets from the pipeline: the same handler,
rules, journal, budget and limits. A person waits for the answer, so there is one more attempt in place, no retry topic,
and a time limit for everything.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol

import structlog

from schemas.outcome import Dead, DeadReason, Drop, Emit, Outcome, Retry
from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted, StageName, StageOutcome
from streams.llm.limits import Shares
from streams.pipeline.handler_runner import Services
from streams.pipeline.local import LocalHandler
from streams.runtime.backoff import Chance
from streams.runtime.clock import Clock, SystemClock
from streams.settings.model import Settings
from streams.telemetry.decision_metrics import QueryMetrics
from streams.telemetry.labels import RefusalReason, Via
from streams.telemetry.metrics import Metrics
from streams.topology import HANDLERS, Handler
from streams.workers.pool import WorkerPool

log = structlog.get_logger("assay.query")

_TRIES = 2
_BUSY_SECONDS = 1.0  # when a refused client may try again


@dataclass(frozen=True, slots=True)
class Refusal:
    """A query that was not answered."""

    reason: RefusalReason  # the category, for programs and metrics
    detail: str  # the reason for people, with what to do
    after_seconds: float | None = None  # when another attempt may succeed; None if unknown, or never
    no_model: str = ""  # why a model is unavailable, without text from its server; "" for other reasons


class Queries(Protocol):
    """Answers queries: this process, or an application over HTTP."""

    async def answer(self, request: RankingRequested) -> RankingCompleted | Refusal:
        """The results, or a refusal; expected failures don't raise."""
        ...


@dataclass(eq=False, repr=False)
class QueryEngine:
    """Answers queries in this process; the caller closes the services and the pool.

    Raises SettingsError if sections of the configuration don't go together, or its trees can't be asked.

    Attributes:
        via: The kind of client, for metrics and logs.
        handler: The handler of the topology that answers queries, by default.
        shares: Without them this process has no limits by partition.
    """

    settings: Settings
    services: Services
    clock: Clock = field(default_factory=SystemClock)
    chance: Chance = random.random
    metrics: Metrics | None = None
    via: Via = "command"
    handler: Handler = field(default_factory=lambda: query_handler())
    shares: Shares | None = None
    pool: WorkerPool | None = None

    def __post_init__(self) -> None:
        settings = self.settings
        if settings.ranking_model and (warning := settings.ranking_model.other_config(settings.ranking)):
            log.warning(warning)
        self._limits = settings.query
        self._telling = QueryMetrics(self.metrics, self.via)
        self._asks_model = not settings.llm.offline and settings.ranking.model_ranking.enabled
        self._underway = 0
        self._numbers = count()
        self._local = LocalHandler(settings, self.handler, self.services, self.pool, self.clock, self.chance)

    async def answer(self, request: RankingRequested) -> RankingCompleted | Refusal:
        """The results of a query, or a refusal. A request without ``requested_at`` is of now."""
        began = self.clock.monotonic()
        answer = await self._bounded(request)
        seconds = self.clock.monotonic() - began
        if isinstance(answer, Refusal):
            # Text from a model's server may repeat the query, which must not be logged.
            self._telling.refused(request, answer.reason, answer.no_model or answer.detail, seconds)
        else:
            self._telling.answered(answer, seconds)
        return answer

    async def _bounded(self, request: RankingRequested) -> RankingCompleted | Refusal:
        most = self._limits.parallel
        if self._underway >= most:
            return Refusal("busy", f"{most} queries are under way already; ask again later", _BUSY_SECONDS)
        if self.shares is not None and self._asks_model and self.shares.of(self.handler.name) <= 0:
            # Without partitions this process has no share of the model's limits, and a query would wait for a turn.
            topic, name = self.handler.consumes.name, self.handler.name
            detail = (
                f"this process has no part of the model's limits, for no partition of {topic} is its own (or the weight"
                f" of {name} is 0); ask another replica, or again when its group has settled"
            )
            return Refusal("unavailable", detail, _BUSY_SECONDS)
        self._underway += 1
        try:
            async with asyncio.timeout(self._limits.seconds):
                if request.requested_at is None:
                    request = request.model_copy(update={"requested_at": self.clock.now()})
                return _answer((await self._local.attempt(request, next(self._numbers), _TRIES)).outcome)
        except TimeoutError:
            detail = f"no answer within {self._limits.seconds:g} seconds (query.seconds, ASSAY_QUERY__SECONDS)"
            return Refusal("timeout", detail, _BUSY_SECONDS)
        finally:
            self._underway -= 1


def query_handler() -> Handler:
    return next(handler for handler in HANDLERS if handler.answers_queries)


def _answer(outcome: Outcome) -> RankingCompleted | Refusal:
    match outcome:
        case Emit(events):
            completed = next((event for event in events if isinstance(event, RankingCompleted)), None)
            if completed is None:
                return Refusal("failed", "the handler emitted no event with results: a bug")
            # On Kafka the event states this. A waiting client gets a refusal, because the request is invalid.
            for note in completed.notes:
                if note.stage is StageName.RETRIEVAL and note.outcome is StageOutcome.FAILED:
                    return Refusal("invalid", note.reason)
            return completed
        case Retry(_, detail, after_seconds, trouble):
            no_model = "" if trouble is None else trouble.cause
            return Refusal("unavailable", detail or "what the query needs can't be reached", after_seconds, no_model)
        case Dead(reason, detail):
            invalid = reason in (DeadReason.INVALID, DeadReason.UNDECODABLE, DeadReason.TOO_LARGE)
            return Refusal("invalid" if invalid else "failed", f"{reason}: {detail}")
        case Drop(dropped):
            return Refusal("invalid", f"the query was dropped: {dropped}")
