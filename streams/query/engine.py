"""The query engine: runs the handler ``rank_results`` outside of Kafka, with the same services and limits.

A command or an HTTP client gets what a record of ``ranking.requested.v1`` gets from the pipeline: the same handler,
rules, journal, budget and limits. A person waits for the answer, so there is one more attempt in place, no retry topic,
and a time limit for everything.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Protocol

import structlog

from schemas.needs import Ask
from schemas.outcome import Dead, DeadReason, Drop, Emit, Outcome, Retry
from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted, StageName, StageOutcome
from streams.clock import Clock, SystemClock
from streams.pipeline.breaker import ClosedBreaker
from streams.pipeline.handler_runner import Chance, HandlerRunner, Services, retry_of
from streams.ranking_model import make_ready
from streams.settings import Settings
from streams.telemetry.decisions import QueryMetrics
from streams.telemetry.labels import RefusalReason, Via
from streams.telemetry.metrics import Metrics
from streams.topology import Handler, handler_named

log = structlog.get_logger("assay.query")

RANKING_HANDLER = "rank_results"
_TRIES = 2
_BUSY_SECONDS = 1.0
"""When a refused client may try again."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A query that was not answered.

    Attributes:
        reason: The category, for programs and metrics.
        detail: The reason for people, with what to do.
        after_seconds: When another attempt may succeed; None if unknown, or never.
        no_model: Why a model is unavailable, without text from its server; "" for other reasons.
    """

    reason: RefusalReason
    detail: str
    after_seconds: float | None = None
    no_model: str = ""


class Queries(Protocol):
    """Answers queries: this process, or an application over HTTP."""

    async def answer(self, request: RankingRequested) -> RankingCompleted | Refusal:
        """The results, or a refusal; expected failures don't raise."""
        ...


class QueryEngine:
    """Answers queries in this process."""

    def __init__(
        self,
        settings: Settings,
        services: Services,
        clock: Clock | None = None,
        chance: Chance = random.random,
        metrics: Metrics | None = None,
        via: Via = "command",
        handler: Handler | None = None,
        hindrance: Callable[[], str] = lambda: "",
    ) -> None:
        """Opens nothing; the caller closes the services.

        ``hindrance`` is called before each query and says why this process can't answer now; "" if it can. ``via`` is
        the kind of client, for metrics and logs. The defaults are the system's clock and the topology's handler.

        Raises:
            SettingsError: Sections of the configuration don't go together, or its trees can't be asked.
        """
        handler = handler or handler_named(RANKING_HANDLER)
        if handler is None:
            raise LookupError(f"the topology has no handler {RANKING_HANDLER}")
        if settings.ranking_model:
            make_ready(settings.ranking_model)
            if warning := settings.ranking_model.other_config(settings.ranking):
                log.warning(warning)
        self._clock = clock or SystemClock()
        self._limits = settings.query
        self._telling = QueryMetrics(metrics, via)
        self._hindrance = hindrance
        self._underway = 0
        self._numbers = count()
        retry = retry_of(handler, settings.processing.retries)
        breaker = ClosedBreaker(settings.processing.breaker, self._clock)
        self._runner = HandlerRunner(
            handler, settings.rules(handler.rules), retry, services, self._clock, chance, breaker
        )

    async def answer(self, request: RankingRequested) -> RankingCompleted | Refusal:
        """The results of a query, or a refusal. A request without ``requested_at`` is of now."""
        began = self._clock.monotonic()
        answer = await self._bounded(request)
        seconds = self._clock.monotonic() - began
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
        if detail := self._hindrance():
            return Refusal("unavailable", detail, _BUSY_SECONDS)
        with self._one_more():
            try:
                async with asyncio.timeout(self._limits.seconds):
                    return await self._decide(request)
            except TimeoutError:
                detail = f"no answer within {self._limits.seconds:g} seconds (query.seconds, ASSAY_QUERY__SECONDS)"
                return Refusal("timeout", detail, _BUSY_SECONDS)

    async def _decide(self, request: RankingRequested) -> RankingCompleted | Refusal:
        if request.requested_at is None:
            request = request.model_copy(update={"requested_at": self._clock.now()})
        # Work without waits blocks the event loop, so other tasks run between two queries.
        await asyncio.sleep(0)
        first = self._runner.decide(request)
        if not isinstance(first, Ask | Retry | Generator):
            return _answer(first)
        tried = await self._runner.finish(request, first, next(self._numbers), _TRIES)
        answer = _answer(tried.outcome)
        if isinstance(answer, Refusal) and tried.unavailable is not None:
            return replace(answer, no_model=tried.unavailable.cause)
        return answer

    @contextmanager
    def _one_more(self) -> Iterator[None]:
        self._underway += 1
        try:
            yield
        finally:
            self._underway -= 1


def _answer(outcome: Outcome) -> RankingCompleted | Refusal:
    """The answer to the client for a handler's outcome."""
    match outcome:
        case Emit(events):
            completed = next((event for event in events if isinstance(event, RankingCompleted)), None)
            if completed is None:
                return Refusal("failed", "the handler emitted no event with results: a bug")
            # On Kafka the event states this. A waiting client gets a refusal, because the request is invalid.
            for note in completed.notes:
                if note.stage is StageName.RETRIEVAL and note.outcome is StageOutcome.FAILED:
                    return Refusal("invalid", note.because)
            return completed
        case Retry(_, detail, after_seconds):
            return Refusal("unavailable", detail or "what the query needs can't be reached", after_seconds)
        case Dead(reason, detail):
            invalid = reason in (DeadReason.INVALID, DeadReason.UNDECODABLE, DeadReason.TOO_LARGE)
            return Refusal("invalid" if invalid else "failed", f"{reason}: {detail}")
        case Drop(dropped):
            return Refusal("invalid", f"the query was dropped: {dropped}")
