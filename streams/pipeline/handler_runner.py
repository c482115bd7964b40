"""Runs one input to its outcome: calls the handler, answers its requests, and retries in place.

A handler that raises has a bug; the input becomes a dead letter with that reason. This module does not know Kafka, so
``assay try`` runs handlers exactly as the pipeline does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Hashable
from dataclasses import dataclass
from typing import Protocol

from schemas.event import Event
from schemas.needs import Ask, Need
from schemas.outcome import Dead, DeadReason, Outcome, Retry, RetryReason, Steps
from schemas.replies import ModelUnavailable, Reply
from schemas.rules import Rules
from streams.clock import Clock
from streams.codec import MAX_DETAIL
from streams.pipeline.breaker import Breaker
from streams.resilience.backoff import Chance, full_jitter
from streams.settings import RetrySettings
from streams.topology import Handler


class Services(Protocol):
    """What handlers may ask for."""

    async def answer(self, need: Need, run: str | None) -> Reply:
        """The reply to a need of a record that ``run`` has written, None for live traffic.

        Expected trouble is part of the reply.
        """
        ...


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """What the tries in place came to; a ``Retry`` has used them up. Tries in vain for everybody are not counted.

    ``unavailable`` is why no model can be asked, where that is what the ``Retry`` is for.
    """

    outcome: Outcome
    attempts: int
    unavailable: ModelUnavailable | None = None


class HandlerRunner:
    """Runs one handler under one configuration.

    ``decide`` answers at once where the handler doesn't ask; ``finish`` goes on where it does, where it works in steps,
    or where it wants to be tried again. The split spares the hot path an event loop round trip for each record.
    """

    def __init__(
        self,
        handler: Handler,
        rules: Rules,
        retry: RetrySettings,
        services: Services,
        clock: Clock,
        chance: Chance,
        breaker: Breaker,
        on_retry: Callable[[Retry, bool], None] = lambda _, __: None,
    ) -> None:
        """Takes everything the handler's run depends on.

        Args:
            handler: The declaration.
            rules: The handler's configuration.
            retry: How often and how patiently to retry in place.
            services: Answers the handler's needs.
            clock: For the pauses between tries.
            chance: For their jitter.
            breaker: Holds tries back while what the handler needs is down.
            on_retry: Told of every retry in place, and whether a run has written its record, for the metrics.
        """
        self.handler = handler
        self.rules = rules
        self.retry = retry
        self._services = services
        self._clock = clock
        self._chance = chance
        self._breaker = breaker
        self._on_retry = on_retry

    def decide(self, event: Event) -> Outcome | Ask | Steps:
        """The handler's first answer; an exception becomes ``Dead(handler_bug)``."""
        return self._guarded(lambda: self.handler.fn(event, self.rules))

    async def finish(
        self,
        event: Event,
        first: Ask | Retry | Steps,
        record: Hashable,
        at_most: int | None = None,
        run: str | None = None,
    ) -> AttemptResult:
        """Goes on from a first answer that was not final, until it is, or the tries in place are used up.

        Args:
            event: The input.
            first: What ``decide`` answered.
            record: Tells records apart for the breaker.
            at_most: Tries in place; the settings' number where None.
            run: The replay that wrote the record; None for live traffic.
        """
        answer: Outcome | Ask | Steps = first
        if isinstance(answer, Generator):
            answer = await self._stepped(answer)
            if not isinstance(answer, Retry):
                return AttemptResult(answer, 1)
        attempts = 0
        probe = isinstance(first, Ask) and await self._breaker.turn()
        while True:
            try:
                outcome, down = await self._converse(event, answer, run)
            finally:
                if probe:
                    self._breaker.probed()
            if not isinstance(outcome, Retry):
                self._breaker.succeeded()
                return AttemptResult(outcome, attempts + 1)
            if down is not None and down.busy:
                self._breaker.rate_limited()
                await self._clock.sleep(self._in_line(outcome))
                probe = await self._breaker.turn()
                answer = self.decide(event)
                continue
            # What a model's server says may repeat what it was asked, and the breaker's cause is logged.
            cause = outcome.detail if down is None else down.cause
            self._breaker.failed(record, outcome.after_seconds, probe, cause)
            if self._breaker.closed:
                attempts += 1
                pause = self._pause(attempts, outcome)
                lasting = down is not None and down.lasting
                if attempts >= (at_most or self.retry.max_attempts) or pause is None or lasting:
                    return AttemptResult(outcome, attempts, down)
                self._on_retry(outcome, run is not None)
                await self._clock.sleep(pause)
            probe = await self._breaker.turn()
            answer = self.decide(event)

    async def _stepped(self, steps: Steps) -> Outcome:
        """The outcome of a handler that works in steps. Other tasks get a turn between two of them."""
        while True:
            try:
                next(steps)
            except StopIteration as end:
                outcome: Outcome = end.value
                return outcome
            except Exception as error:
                return _bug(error)
            await asyncio.sleep(0)

    def _guarded(self, call: Callable[[], Outcome | Ask | Steps]) -> Outcome | Ask | Steps:
        try:
            return call()
        except Exception as error:
            return _bug(error)

    async def _converse(
        self, event: Event, answer: Outcome | Ask | Steps, run: str | None
    ) -> tuple[Outcome, ModelUnavailable | None]:
        """Answers asks until an outcome comes or the declared bound of rounds is reached.

        Returns:
            The outcome, and where it is to try again because no model can be asked, why that is.
        """
        replies: tuple[Reply, ...] = ()
        while isinstance(answer, Ask):
            state = answer.state
            if self.handler.read is None or len(replies) >= self.handler.rounds:
                return Dead(DeadReason.ROUNDS_EXHAUSTED, f"more than {self.handler.rounds} asks"), None
            try:
                async with asyncio.timeout(self.retry.attempt_seconds):
                    replies = (*replies, await self._services.answer(answer.need, run))
            except Exception as error:
                # Expected trouble is part of a reply. What is left (a full disk, a bug) must not hold the partition up.
                return Retry(RetryReason.UNAVAILABLE, f"{type(error).__name__}: {error}"[:MAX_DETAIL]), None
            answer = self._guarded(lambda: self.handler.resume(event, replies, self.rules, state))  # noqa: B023
        if isinstance(answer, Generator):
            answer = await self._stepped(answer)
        last = replies[-1] if replies else None
        if not isinstance(answer, Retry) or not isinstance(last, ModelUnavailable):
            return answer, None
        if not last.busy:
            # The gateway knows of all questions; a record must not use its tries up to find out the same.
            self._breaker.open(answer.after_seconds, last.cause)
        return answer, last

    def _in_line(self, wanted: Retry) -> float:
        """Seconds before a record asks for a turn again: more than half of what is foreseen, not all at once."""
        foreseen = wanted.after_seconds if wanted.after_seconds is not None else self.retry.max_seconds
        return min(foreseen, self.retry.in_place_wish_seconds) * (1 + self._chance()) / 2

    def _pause(self, attempt: int, wanted: Retry) -> float | None:
        """Seconds before the next try: what the provider wishes, else full jitter; None where the wish is too long.

        A wish is never cut short: a record that may wait in a retry topic goes there, any other has come to its end.
        """
        wish = wanted.after_seconds
        if wish is None or not wish >= 0:
            return full_jitter(attempt, self.retry.first_seconds, self.retry.max_seconds, self._chance)
        longest = self.retry.max_seconds if self.handler.tiers else self.retry.in_place_wish_seconds
        return wish if wish <= longest else None


def _bug(error: Exception) -> Dead:
    return Dead(DeadReason.HANDLER_BUG, f"{type(error).__name__}: {error}"[:MAX_DETAIL])


def retry_of(handler: Handler, settings: RetrySettings) -> RetrySettings:
    """The settings with the handler's own short retries, where it has some."""
    if (own := handler.retry) is None:
        return settings
    return settings.model_copy(
        update={"max_attempts": own.attempts, "first_seconds": own.first_seconds, "max_seconds": own.max_seconds}
    )


def exhausted(retry: Retry, attempts: int) -> Dead:
    """The end of a record that was tried as often as it may be."""
    detail = f"{retry.reason} after {attempts} {'try' if attempts == 1 else 'tries'}: {retry.detail}"
    return Dead(DeadReason.RETRIES_EXHAUSTED, detail[:MAX_DETAIL])
