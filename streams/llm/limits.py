"""The rate limits of a model: requests and tokens a minute and concurrent calls, for this process's share.

Two rules hold together. *Window*: in any 60 seconds, plus a margin for network delay, calls use at most the limit.
*Rate*: calls are spread over the minute, so that the rates of all processes together never exceed the limit, also while
shares move between processes. A task whose share has grown starts with a pause, not with a burst.

The share of a process needs no coordinator: a task's part of its model is its weight among the model's tasks, and a
process's part of a task is the part of the partitions that it holds. Each partition has one owner, so the parts never
exceed the whole, also during a rebalance. Replays have a fixed part of every limit, live traffic has the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from streams.llm.settings import ModelLimits
from streams.runtime.clock import Clock

MINUTE = 60.0
_LOOK_AGAIN_SECONDS = 1.0  # longest time until a waiting call notices a changed share
_CUT_SECONDS = 5.0  # refusals of the server within this time count as one
_LEAST_FACTOR = 0.05
_RECOVERY_PER_MINUTE = 0.2


class RateWindow:
    """A limit of an amount a minute: requests, or tokens."""

    def __init__(self, margin: float) -> None:
        """Nothing may be taken before ``set_limit``. The window is a minute plus ``margin`` minutes.

        Half of the margin makes up for calls that started late.
        """
        self._window = MINUTE * (1 + margin)
        self._tolerance = MINUTE * margin / 2
        self._limit = 0.0
        self._due = -math.inf
        self._log: deque[tuple[float, float]] = deque()
        self._taken = 0.0

    def set_limit(self, amount: float, now: float, fresh: bool = False) -> None:
        """Sets the amount a minute; ``fresh`` starts with the pause that one call costs."""
        self._limit = amount
        if fresh and amount > 0:
            self._due = max(self._due, now + self._tolerance + self._window / amount)

    def pause(self, amount: float, now: float) -> float:
        """Seconds until the amount may be taken; infinity if the limit is 0."""
        if self._limit <= 0:
            return math.inf
        self._forget(now)
        part = amount / self._limit
        wait = self._due - self._tolerance - now
        excess = self._taken + part - 1.0 - 1e-9
        # An amount above the whole minute's limit is let through alone.
        for moment, taken in self._log:
            if excess <= 0:
                break
            excess -= taken
            wait = max(wait, moment + self._window - now)
        return max(0.0, wait)

    def take(self, amount: float, now: float) -> None:
        """Takes the amount now; ``pause`` must be 0. The log keeps it as a share of the limit."""
        part = amount / self._limit
        self._log.append((now, part))
        self._taken += part
        self._due = max(self._due, now) + self._window * part

    def correct(self, amount: float) -> None:
        """Adds an amount, which may be negative, to the last one taken, perhaps by another call."""
        if self._limit > 0 and self._log:
            moment, taken = self._log[-1]
            part = max(amount / self._limit, -taken)
            self._log[-1] = (moment, taken + part)
            self._taken += part
            self._due += self._window * part

    def spacing(self) -> float:
        return self._window / self._limit if self._limit > 0 else math.inf

    def _forget(self, now: float) -> None:
        while self._log and self._log[0][0] + self._window <= now:
            self._taken -= self._log.popleft()[1]
        if not self._log:
            self._taken = 0.0


class TaskQueue:
    """One task's share of a model's limits, and the calls that wait for it."""

    def __init__(self, margin: float) -> None:
        self.requests, self.tokens = RateWindow(margin), RateWindow(margin)
        self.in_flight = 0
        self.waiting: deque[asyncio.Event] = deque()
        self.share = -1.0  # -1 before the first turn

    def wake(self) -> None:
        if self.waiting:
            self.waiting[0].set()


@dataclass(slots=True)
class ModelTurn:
    """A call that may be made now; ``over`` must be called after it."""

    queue: TaskQueue
    tokens: int
    waited: float
    limited: float  # seconds of ``waited`` in which the call was first in its queue and the limits held it back

    def over(self, tokens: int | None) -> None:
        """The call has ended. ``tokens`` is what it used, None if unknown."""
        self.queue.in_flight -= 1
        if tokens is not None:
            self.queue.tokens.correct(tokens - self.tokens)
        self.queue.wake()


@dataclass(frozen=True, slots=True)
class NoTurn:
    """No call may be made within the patience."""

    waited: float
    limited: float
    after_seconds: float  # expected seconds until a turn
    paused: bool  # whether the server asked to wait for longer than the patience; else other calls have the turns


class Limiter:
    """Decides when a task may call one model. Headers and refusals of the server lower the limits."""

    def __init__(self, limits: ModelLimits, shares: Shares, margin: float, clock: Clock) -> None:
        """``limits`` are those of the whole fleet; ``margin`` is as in ``RateWindow``."""
        self._configured = {"requests": limits.requests_per_minute, "tokens": limits.tokens_per_minute}
        self._in_flight = limits.in_flight
        self._shares = shares
        self._clock = clock
        self._queues: defaultdict[str, TaskQueue] = defaultdict(lambda: TaskQueue(margin))
        self._paused_until = -math.inf
        self._factor = 1.0
        self._cut_at = -math.inf
        self._server_limits: dict[str, int] = {}

    async def turn(self, task: str, tokens: int, patience: float) -> ModelTurn | NoTurn:
        """Waits for a turn, first come, first served in each task; refuses at once if the wait would be too long."""
        queue = self._queues[task]
        asked = self._clock.monotonic()
        until = asked + patience
        limited = 0.0
        ticket = asyncio.Event()
        queue.waiting.append(ticket)
        try:
            while True:
                now = self._clock.monotonic()
                self._adjust(task, queue, now)
                pause = max(queue.requests.pause(1, now), queue.tokens.pause(tokens, now), self._paused_until - now)
                first = queue.waiting[0] is ticket
                if first and pause <= 0 and queue.in_flight < max(1, math.floor(self._in_flight * queue.share)):
                    queue.requests.take(1, now)
                    queue.tokens.take(tokens, now)
                    queue.in_flight += 1
                    return ModelTurn(queue, tokens, now - asked, limited)
                ahead = 0 if first else queue.waiting.index(ticket) * queue.requests.spacing()
                # Without a share the wait is unknown: the share may come with the next rebalance.
                expected = pause + ahead if math.isfinite(pause) else 0.0
                if now + expected > until or now >= until:
                    return NoTurn(now - asked, limited, max(expected, 1.0), self._paused_until > until)
                seconds = until - now
                if first:
                    seconds = min(seconds, _LOOK_AGAIN_SECONDS, pause if pause > 0 else seconds)
                ticket.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await ticket.wait()
                if first and pause > 0:
                    limited += self._clock.monotonic() - now
        finally:
            queue.waiting.remove(ticket)
            queue.wake()

    def rate_limited(self, seconds: float) -> None:
        """On 429: pauses for ``seconds``, halves the rate and recovers 20 % a minute (AIMD)."""
        now = self._clock.monotonic()
        self._paused_until = max(self._paused_until, now + seconds)
        if now - self._cut_at > _CUT_SECONDS:
            self._factor = max(_LEAST_FACTOR, self._factor_at(now) / 2)
            self._cut_at = now

    def on_limits(self, requests_per_minute: int | None, tokens_per_minute: int | None) -> None:
        """Applies the limits in a response's headers if they are lower than the configured ones."""
        named = {"requests": requests_per_minute, "tokens": tokens_per_minute}
        self._server_limits |= {name: value for name, value in named.items() if value is not None}

    def allowed(self, task: str) -> float:
        return self._minute("requests", self._shares.of(task), self._clock.monotonic())

    def _adjust(self, task: str, queue: TaskQueue, now: float) -> None:
        share = self._shares.of(task)
        starts_at_once = queue.share < 0 and (share >= 1 or self._shares.at_once)
        fresh = share > queue.share and not starts_at_once
        queue.requests.set_limit(self._minute("requests", share, now), now, fresh)
        queue.tokens.set_limit(self._minute("tokens", share, now), now)
        queue.share = share

    def _minute(self, name: Literal["requests", "tokens"], share: float, now: float) -> float:
        configured = self._configured[name]
        amount = min(configured, self._server_limits.get(name, configured)) * self._factor_at(now) * share
        # Whole requests: fractions would add up to one too many over the fleet.
        return float(math.floor(amount + 1e-9)) if amount >= 1 else amount

    def _factor_at(self, now: float) -> float:
        return min(1.0, self._factor + (now - self._cut_at) / MINUTE * _RECOVERY_PER_MINUTE)


class Shares:
    """This process's shares of the models' limits. A process that reads no topics has the whole part."""

    def __init__(
        self, models: Mapping[str, str], weights: Mapping[str, float], part: float = 1.0, at_once: bool = False
    ) -> None:
        """Takes model and weight (1 by default) of each task, and the part of all limits for such processes.

        With ``at_once`` a task's first question waits for no turn, as in a command that a user waits for.
        """
        self.at_once = at_once
        self.models = dict(models)
        self._part = part
        self._weights = dict(weights)
        self._topics: dict[str, dict[str, float]] = {}

    def expect(self, task: str, topics: Sequence[str]) -> None:
        """Makes the task's share depend on the assigned partitions of these topics; 0 until the first assignment."""
        self._topics[task] = dict.fromkeys(topics, 0.0)

    def on_assignment(self, task: str, topic: str, held: int, total: int) -> None:
        """This process holds so many of all partitions of the topic."""
        parts = self._topics.get(task)
        if parts is not None and topic in parts:
            parts[topic] = min(1.0, held / total) if total > 0 else 0.0

    def of(self, task: str) -> float:
        """The task's share of its model's limits in this process, 0 to 1."""
        model = self.models.get(task)
        weights = [self._weights.get(other, 1.0) for other, asked in self.models.items() if asked == model]
        weight = self._weights.get(task, 1.0)
        part = self._part * (weight / sum(weights) if model is not None and sum(weights) > 0 else 1.0)
        parts = self._topics.get(task)
        return part if parts is None else part * sum(parts.values()) / len(parts)
