"""Runs one input to its outcome: calls the handler, answers its requests, and retries in place.

A handler that raises has a bug; its input becomes a dead letter. The handler is called in this process, or in a child
process. This module does not know Kafka, so ``assay try`` runs handlers exactly as the pipeline does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Protocol

from schemas.event import Event, Run
from schemas.needs import Ask, Need
from schemas.outcome import Dead, DeadReason, Outcome, Retry, RetryReason, Stage
from schemas.replies import Reply
from schemas.rules import Rules
from streams.pipeline.breaker import Breaker
from streams.runtime.backoff import Chance, full_jitter
from streams.runtime.clock import Clock
from streams.settings.model import RetrySettings
from streams.topology import Handler
from streams.topology.codec import MAX_DETAIL
from streams.workers.handler_jobs import Answer, RawRecord, answer_in, answer_of
from streams.workers.pool import WorkerPool


class Services(Protocol):
    """Answers the requests of handlers."""

    async def answer(self, need: Need, run: Run | None) -> Reply:
        """The reply to a request. Expected trouble is part of the reply.

        Args:
            need: The request.
            run: The replay or backfill that wrote the input; None for live traffic.
        """


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """The result of the attempts in place: a final outcome, or a ``Retry`` if the attempts are exhausted.

    An attempt that fails while the circuit breaker is open is not counted.
    """

    outcome: Outcome
    attempts: int
    stage: Stage = Stage.HANDLE


@dataclass(eq=False, repr=False)
class HandlerRunner:
    """Runs one handler under one configuration.

    ``decide`` returns the handler's first answer in this process. If that is not final, ``finish`` continues with it.
    The split spares the hot path an event loop round trip for each record. A handler in a child process has ``finish``
    only.

    Attributes:
        rules: The configuration of the handler's decisions.
        retry: Its retries in place; ``chance`` makes their pauses random.
        on_retry: Called before a retry in place; its flag says whether a run wrote the input.
        pool: Child processes for a handler that runs in one; None to run every handler in this process.
    """

    handler: Handler
    rules: Rules
    retry: RetrySettings
    services: Services
    clock: Clock
    chance: Chance
    breaker: Breaker
    on_retry: Callable[[Retry, bool], None] = lambda _, __: None
    pool: WorkerPool | None = None

    def __post_init__(self) -> None:
        if self.handler.runs != "process":
            self.pool = None

    @property
    def concurrency(self) -> int:
        return self.handler.concurrency if self.pool is None else max(self.handler.concurrency, self.pool.concurrency)

    def decide(self, event: Event) -> Outcome | Ask:
        """The handler's first answer; an exception becomes ``Dead(handler_bug)``."""
        return answer_of(self.handler, self.rules, event).of

    async def finish(
        self,
        source: Event | RawRecord,
        first: Ask | Retry | None,
        record: Hashable,
        at_most: int | None = None,
        run: Run | None = None,
    ) -> AttemptResult:
        """Continues from a first answer to a final outcome, or until the attempts in place are exhausted.

        Args:
            source: The input.
            first: The answer of ``decide``; None if the handler was not called yet.
            record: Identifies the record for the circuit breaker, which counts different records.
            at_most: Attempts in place; None for the number in the settings.
            run: The replay or backfill that wrote the record; None for live traffic.
        """
        answer, stage = (first, Stage.HANDLE) if first is not None else await self._answer(source)
        if not isinstance(answer, Ask | Retry):
            return AttemptResult(answer, 1, stage)
        attempts = 0
        probe = isinstance(answer, Ask) and await self.breaker.turn()
        while True:
            outcome = await self._attempt(source, answer, run, probe)
            if not isinstance(outcome, Retry):
                self.breaker.succeeded()
                return AttemptResult(outcome, attempts + 1)
            if (trouble := outcome.trouble) is not None and trouble.busy:
                self.breaker.rate_limited()
                await self.clock.sleep(self._busy_pause(outcome))
            else:
                self.breaker.failed(
                    record, outcome.after_seconds, probe, outcome.detail if trouble is None else trouble.cause
                )
                if self.breaker.closed:
                    attempts += 1
                    pause = self._pause(attempts, outcome)
                    lasting = trouble is not None and trouble.lasting
                    if attempts >= (at_most or self.retry.max_attempts) or pause is None or lasting:
                        return AttemptResult(outcome, attempts)
                    self.on_retry(outcome, run is not None)
                    await self.clock.sleep(pause)
            probe = await self.breaker.turn()
            answer = (await self._answer(source)).of

    async def _attempt(self, source: Event | RawRecord, answer: Outcome | Ask, run: Run | None, probe: bool) -> Outcome:
        try:
            outcome = await self._converse(source, answer, run)
            if isinstance(outcome, Retry) and (trouble := outcome.trouble) is not None and not trouble.busy:
                # Other records would use up attempts to find out the same.
                self.breaker.open(outcome.after_seconds, trouble.cause)
            return outcome
        finally:
            if probe:
                self.breaker.probed()

    async def _converse(self, source: Event | RawRecord, answer: Outcome | Ask, run: Run | None) -> Outcome:
        """Answers the handler's requests until it returns an outcome, or has made as many requests as it may."""
        replies: tuple[Reply, ...] = ()
        while isinstance(answer, Ask):
            need, state = answer.need, answer.state
            if type(need) not in self.handler.asks:
                return Dead(DeadReason.HANDLER_BUG, f"its declaration does not permit {type(need).__name__}")
            if len(replies) >= self.handler.rounds:
                return Dead(DeadReason.ROUNDS_EXHAUSTED, f"more than {self.handler.rounds} asks")
            try:
                # Step 6. Ask the service; the handler then decides again.
                async with asyncio.timeout(self.retry.attempt_seconds):
                    replies = (*replies, await self.services.answer(need, run))
            except Exception as error:
                # Expected trouble is part of a reply. Anything else (a full disk, a bug) must not block the partition.
                return Retry(RetryReason.UNAVAILABLE, f"{type(error).__name__}: {error}"[:MAX_DETAIL])
            answer = (await self._answer(source, replies, state)).of
        return answer

    async def _answer(self, source: Event | RawRecord, replies: tuple[Reply, ...] = (), state: Any = None) -> Answer:
        return await answer_in(self.pool, self.handler, self.rules, source, replies, state)

    def _busy_pause(self, retry: Retry) -> float:
        """Seconds until the next attempt on a busy service: jitter over the upper half of its Retry-After."""
        seconds = retry.after_seconds if retry.after_seconds is not None else self.retry.max_seconds
        return min(seconds, self.retry.in_place_wish_seconds) * (1 + self.chance()) / 2

    def _pause(self, attempt: int, retry: Retry) -> float | None:
        """Seconds until the next attempt: the provider's Retry-After, otherwise exponential back-off with full jitter.

        A Retry-After is never shortened. None if it is too long to wait in place: the record then goes to a retry
        topic, or has failed for good.
        """
        retry_after = retry.after_seconds
        if retry_after is None or not retry_after >= 0:
            return full_jitter(attempt, self.retry.first_seconds, self.retry.max_seconds, self.chance)
        longest = self.retry.max_seconds if self.handler.retry_topics else self.retry.in_place_wish_seconds
        return retry_after if retry_after <= longest else None


def exhausted(retry: Retry, attempts: int) -> Dead:
    """The refusal of an input whose attempts are exhausted."""
    detail = f"{retry.reason} after {attempts} {'try' if attempts == 1 else 'tries'}: {retry.detail}"
    return Dead(DeadReason.RETRIES_EXHAUSTED, detail[:MAX_DETAIL])
