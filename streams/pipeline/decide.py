"""One input to its outcome: calls the handler, answers what it asks for, retries in place what may pass.

A handler that raises has a bug; here it becomes a reason, and the input is kept as a dead letter. Kafka is not known
here, so ``assay try`` runs handlers exactly as the pipeline does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from schemas.event import Event
from schemas.outcome import Ask, Dead, DeadReason, Drop, Emit, Need, Outcome, Reply, Retry, RetryReason
from schemas.rules import Rules
from streams.clock import Clock
from streams.codec import MAX_DETAIL
from streams.settings import RetrySettings
from streams.topology import Handler, InPlaceRetry

Chance = Callable[[], float]
"""A number in [0, 1), for jitter."""


class World(Protocol):
    """What handlers may ask for."""

    async def answer(self, need: Need) -> Reply:
        """The reply to a need. Expected trouble is part of the reply."""
        ...


class Decider:
    """Runs one handler under one configuration.

    ``decide`` answers at once where the handler doesn't ask; ``finish`` goes on where it does, or where it wants to be
    tried again. The split spares the hot path an event loop round trip for each record.
    """

    def __init__(
        self,
        handler: Handler,
        rules: Rules,
        retry: InPlaceRetry,
        world: World,
        clock: Clock,
        chance: Chance,
        on_retry: Callable[[Retry], None] = lambda _: None,
    ) -> None:
        """Takes everything the handler's run depends on.

        Args:
            handler: The declaration.
            rules: The handler's configuration.
            retry: How often and how patiently to retry in place.
            world: Answers the handler's needs.
            clock: For the pauses between tries.
            chance: For their jitter.
            on_retry: Told of every retry, for the metrics.
        """
        self.handler = handler
        self.rules = rules
        self._retry = retry
        self._world = world
        self._clock = clock
        self._chance = chance
        self._on_retry = on_retry

    def decide(self, event: Event) -> Outcome | Ask:
        """The handler's first answer; an exception becomes ``Dead(handler_bug)``."""
        return self._guarded(lambda: self.handler.fn(event, self.rules))

    async def finish(self, event: Event, first: Ask | Retry) -> Emit | Drop | Dead:
        """Goes on from a first answer that was not final, until it is."""
        answer: Outcome | Ask = first
        attempt = 1
        while True:
            outcome = await self._converse(event, answer) if isinstance(answer, Ask) else answer
            if not isinstance(outcome, Retry):
                return outcome
            if attempt >= self._retry.attempts:
                detail = f"{outcome.reason} after {attempt} tries: {outcome.detail}"
                return Dead(DeadReason.RETRIES_EXHAUSTED, detail[:MAX_DETAIL])
            self._on_retry(outcome)
            await self._clock.sleep(self._pause(attempt, outcome))
            attempt += 1
            answer = self.decide(event)

    async def _converse(self, event: Event, ask: Ask) -> Outcome:
        """Answers asks until an outcome comes or the declared bound of rounds is reached."""
        replies: tuple[Reply, ...] = ()
        read = self.handler.read
        answer: Outcome | Ask = ask
        while isinstance(answer, Ask):
            if read is None or len(replies) >= self.handler.rounds:
                return Dead(DeadReason.ROUNDS_EXHAUSTED, f"more than {self.handler.rounds} asks")
            try:
                replies = (*replies, await self._world.answer(answer.need))
            except Exception as error:
                # Expected trouble is part of a reply. What is left (a full disk, a bug) must not hold the partition up.
                return Retry(RetryReason.UNAVAILABLE, f"{type(error).__name__}: {error}"[:MAX_DETAIL])
            answer = self._guarded(lambda: read(event, replies, self.rules))  # noqa: B023 - called at once
        return answer

    def _guarded(self, call: Callable[[], Outcome | Ask]) -> Outcome | Ask:
        try:
            return call()
        except Exception as error:
            return Dead(DeadReason.HANDLER_BUG, f"{type(error).__name__}: {error}"[:MAX_DETAIL])

    def _pause(self, attempt: int, wanted: Retry) -> float:
        """Seconds before the next try: the provider's wish within our bound, else full jitter."""
        if wanted.after_seconds is not None:
            return max(0.0, min(self._retry.max_seconds, wanted.after_seconds))
        ceiling: float = min(self._retry.max_seconds, self._retry.first_seconds * 2 ** (attempt - 1))
        return self._chance() * ceiling


def retry_of(handler: Handler, settings: RetrySettings) -> InPlaceRetry:
    """The handler's own short retries, else those of the settings."""
    return handler.retry or InPlaceRetry(
        attempts=settings.max_attempts, first_seconds=settings.first_seconds, max_seconds=settings.max_seconds
    )
