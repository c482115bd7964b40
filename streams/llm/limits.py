"""The rate limits of a model: requests and tokens a minute and concurrent calls, for this process's share.

Two rules hold together. *Window*: in any 60 seconds, plus a margin for network delay, no more is taken than the limit.
*Rate*: calls are spread over the minute, so that the rates of all processes together never exceed the limit, also while
shares move between processes. A task whose share has grown starts with a pause, not with a burst.

A task that has used its share may borrow from another task of this process that has no waiting calls. The call counts
against the other task's window and rate, so the sum stays within the limit. Borrowing stops when the other task has
waiting calls.

The share of a process needs no coordinator: a task's part of its model is its weight among the model's tasks, and a
process's part of a task is the part of the partitions that it holds. Each partition has one owner, so the parts never
exceed the whole, also during a rebalance. Replays have a fixed part of every limit, live traffic has the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from streams.clock import Clock
from streams.llm.settings import ModelLimits

MINUTE = 60.0
_LOOK_AGAIN_SECONDS = 1.0
"""How long a share that has changed may go unnoticed by those that wait."""
_CUT_SECONDS = 5.0
"""Complaints within so many seconds are one."""
_LEAST_FACTOR = 0.05
_RECOVERY_PER_MINUTE = 0.2


class RateWindow:
    """One thing that is so much a minute: requests, or tokens."""

    def __init__(self, margin: float) -> None:
        """Nothing may be taken until ``limit`` says how much.

        Args:
            margin: Part of a minute added to the window; half of it is what lateness is made up for.
        """
        self._window = MINUTE * (1 + margin)
        self._tolerance = MINUTE * margin / 2
        self._limit = 0.0
        self._due = -math.inf
        self._log: deque[tuple[float, float]] = deque()
        self._taken = 0.0

    def limit(self, amount: float, now: float, fresh: bool = False) -> None:
        """Sets what a minute has; ``fresh`` begins with the pause that one taking costs."""
        self._limit = amount
        if fresh and amount > 0:
            self._due = max(self._due, now + self._tolerance + self._window / amount)

    def pause(self, amount: float, now: float) -> float:
        """Seconds until the amount may be taken; infinity while nothing may."""
        if self._limit <= 0:
            return math.inf
        self._forget(now)
        part = amount / self._limit
        wait = self._due - self._tolerance - now
        excess = self._taken + part - 1.0 - 1e-9
        # What is more than a minute's whole amount is let through alone.
        for moment, taken in self._log:
            if excess <= 0:
                break
            excess -= taken
            wait = max(wait, moment + self._window - now)
        return max(0.0, wait)

    def holds(self, amount: float) -> bool:
        """Whether the amount fits into a minute."""
        return amount <= self._limit

    def take(self, amount: float, now: float) -> None:
        """Takes the amount now, where ``pause`` is 0; it stays in the log as the part of the limit that it was."""
        part = amount / self._limit
        self._log.append((now, part))
        self._taken += part
        self._due = max(self._due, now) + self._window * part

    def correct(self, amount: float) -> None:
        """So much more than was taken was used, or less."""
        if self._limit > 0 and self._log:
            moment, taken = self._log[-1]
            part = max(amount / self._limit, -taken)
            self._log[-1] = (moment, taken + part)
            self._taken += part
            self._due += self._window * part

    def spacing(self) -> float:
        """Seconds from one taking of 1 to the next."""
        return self._window / self._limit if self._limit > 0 else math.inf

    def _forget(self, now: float) -> None:
        while self._log and self._log[0][0] + self._window <= now:
            self._taken -= self._log.popleft()[1]
        if not self._log:
            self._taken = 0.0


class TaskQueue:
    """One task's part of a model's limits, and those that wait for it."""

    def __init__(self, margin: float) -> None:
        self.requests = RateWindow(margin)
        self.tokens = RateWindow(margin)
        self.in_flight = 0
        self.waiting: deque[asyncio.Event] = deque()
        self.share = -1.0

    def wake(self) -> None:
        """Lets the first of those that wait look again."""
        if self.waiting:
            self.waiting[0].set()


@dataclass(slots=True)
class ModelTurn:
    """A call that may be made now; ``over`` must be called after it.

    Attributes:
        lane: From whose share it is taken.
        home: The lane of the task that asked.
        tokens: As many as were foreseen.
        waited: Seconds.
        limited: Those of them in which nobody was before it, and the model's limits held it back.
    """

    lane: TaskQueue
    home: TaskQueue
    tokens: int
    waited: float
    limited: float

    def over(self, tokens: int | None) -> None:
        """The call has ended and used so many tokens, None where that isn't known."""
        self.lane.in_flight -= 1
        if tokens is not None:
            self.lane.tokens.correct(tokens - self.tokens)
        self.lane.wake()
        self.home.wake()


@dataclass(frozen=True, slots=True)
class NoTurn:
    """No call may be made within the patience.

    Attributes:
        waited: Seconds.
        limited: As in ``ModelTurn``.
        after_seconds: Until there may be a turn, as far as can be foreseen.
        resting: Whether the server wishes to be left alone for longer than that; else others have the turns.
    """

    waited: float
    limited: float
    after_seconds: float
    resting: bool


def _together(lanes: Sequence[TaskQueue]) -> float:
    """Seconds from one taking to the next, by all the lanes."""
    rate = sum(1 / lane.requests.spacing() for lane in lanes)
    return 1 / rate if rate > 0 else math.inf


class Limiter:
    """Who may ask one model when. Limits are learnt: a server's headers and complaints lower them."""

    def __init__(
        self,
        limits: ModelLimits,
        share: Callable[[str], float],
        margin: float,
        clock: Clock,
        at_once: bool = False,
        beside: Callable[[str], Sequence[str]] = lambda _: (),
    ) -> None:
        """Takes what the model takes from the whole fleet, and each task's share of it in this process.

        Args:
            limits: Of the model.
            share: Of a task in this process.
            margin: As in ``RateWindow``.
            clock: Time.
            at_once: Whether a task's first question goes without the pause; all that follow keep to the pace.
            beside: The other tasks of this process that ask the same model, and may lend a task their share.
        """
        self._at_once = at_once
        self._beside = beside
        self._limits = limits
        self._share = share
        self._margin = margin
        self._clock = clock
        self._lanes: dict[str, TaskQueue] = {}
        self._rest_until = -math.inf
        self._factor = 1.0
        self._cut_at = -math.inf
        self._stated: Mapping[str, int] = {}

    async def turn(self, task: str, tokens: int, patience: float) -> ModelTurn | NoTurn:
        """Waits for a turn, first come, first served in each task; refuses at once what would wait for too long."""
        lane = self._lane(task)
        asked = self._clock.monotonic()
        until = asked + patience
        limited = 0.0
        ticket = asyncio.Event()
        lane.waiting.append(ticket)
        try:
            while True:
                now = self._clock.monotonic()
                self._adjust(task, lane, now)
                waited = now - asked
                payers = [lane, *self._lenders(task, lane, tokens, now)]
                pauses = [self._pause(payer, tokens, now) for payer in payers]
                first = lane.waiting[0] is ticket
                for payer, pause in zip(payers, pauses, strict=True):
                    if first and pause <= 0 and payer.in_flight < self._most_in_flight(payer):
                        payer.requests.take(1, now)
                        payer.tokens.take(tokens, now)
                        payer.in_flight += 1
                        return ModelTurn(payer, lane, tokens, waited, limited)
                pause = min(pauses)
                ahead = 0 if first else lane.waiting.index(ticket) * _together(payers)
                # Without a share there is nothing to foresee: it may come with the next rebalance.
                foreseen = pause + ahead if math.isfinite(pause) else 0.0
                if now + foreseen > until or now >= until:
                    return NoTurn(waited, limited, max(foreseen, 1.0), self._rest_until > until)
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
            lane.waiting.remove(ticket)
            lane.wake()

    def pressed(self, seconds: float) -> None:
        """The server complained of too much: rests for so long, and takes half from now on, growing again slowly."""
        now = self._clock.monotonic()
        self._rest_until = max(self._rest_until, now + seconds)
        if now - self._cut_at > _CUT_SECONDS:
            self._factor = max(_LEAST_FACTOR, self._factor_at(now) / 2)
            self._cut_at = now

    def stated(self, requests_per_minute: int | None, tokens_per_minute: int | None) -> None:
        """The limits in a response's headers: believed where they are lower than those configured."""
        named = {"requests": requests_per_minute, "tokens": tokens_per_minute}
        self._stated = {**self._stated, **{name: value for name, value in named.items() if value is not None}}

    def allowed(self, task: str) -> float:
        """Requests a minute of a task in this process at this moment."""
        return self._minute(self._limits.requests_per_minute, "requests", self._share(task), self._clock.monotonic())

    def _adjust(self, task: str, lane: TaskQueue, now: float) -> None:
        share = self._share(task)
        alone = lane.share < 0 and (share >= 1 or self._at_once)
        fresh = share > lane.share and not alone
        lane.requests.limit(self._minute(self._limits.requests_per_minute, "requests", share, now), now, fresh)
        lane.tokens.limit(self._minute(self._limits.tokens_per_minute, "tokens", share, now), now)
        lane.share = share

    def _lane(self, task: str) -> TaskQueue:
        return self._lanes.setdefault(task, TaskQueue(self._margin))

    def _lenders(self, task: str, lane: TaskQueue, tokens: int, now: float) -> list[TaskQueue]:
        """The lanes whose share a task may use too: no call waits in them.

        A task without a share of its own uses none. What is more than a lane's whole minute goes through its own lane
        alone, and calls under way together stay within the limit of all shares, so that lending keeps the total.
        """
        if lane.share <= 0:
            return []
        lanes = [lane]
        for other in self._beside(task):
            lanes.append(lender := self._lane(other))
            self._adjust(other, lender, now)
        most = math.floor(self._limits.in_flight * sum(max(0.0, one.share) for one in lanes) + 1e-9)
        if sum(one.in_flight for one in lanes) >= most:
            return []
        return [lender for lender in lanes[1:] if not lender.waiting and lender.tokens.holds(tokens)]

    def _most_in_flight(self, lane: TaskQueue) -> int:
        return max(1, math.floor(self._limits.in_flight * lane.share))

    def _minute(self, configured: int, name: str, share: float, now: float) -> float:
        amount = min(configured, self._stated.get(name, configured)) * self._factor_at(now) * share
        # Whole requests, for parts of them would add up to one too many over the fleet.
        return float(math.floor(amount + 1e-9)) if amount >= 1 else amount

    def _factor_at(self, now: float) -> float:
        return min(1.0, self._factor + (now - self._cut_at) / MINUTE * _RECOVERY_PER_MINUTE)

    def _pause(self, lane: TaskQueue, tokens: int, now: float) -> float:
        return max(lane.requests.pause(1, now), lane.tokens.pause(tokens, now), self._rest_until - now)


class Shares:
    """This process's parts. A process that holds no partitions because it reads no topics has everything."""

    def __init__(
        self, models: Mapping[str, str], weights: Mapping[str, float], part: float = 1.0, at_once: bool = False
    ) -> None:
        """Takes each task's model and weight, and the part of all limits that is there for such processes.

        Args:
            models: Of each task.
            weights: Of each task.
            part: Of all limits.
            at_once: Whether each task's first question waits for no turn, as where somebody waits for a command.
        """
        self.at_once = at_once
        self._part = part
        self._models = dict(models)
        self._weights = dict(weights)
        self._topics: dict[str, dict[str, float]] = {}

    def expect(self, task: str, topics: Sequence[str]) -> None:
        """From now on the task's part is what is ``told`` of these topics, nothing before that."""
        self._topics[task] = dict.fromkeys(topics, 0.0)

    def told(self, task: str, topic: str, held: int, of: int) -> None:
        """This process holds so many of the topic's partitions now."""
        parts = self._topics.get(task)
        if parts is not None and topic in parts:
            parts[topic] = min(1.0, held / of) if of > 0 else 0.0

    def beside(self, task: str) -> tuple[str, ...]:
        """The other tasks that this process reads topics for and that ask the same model.

        The part of a task whose topics others read is used there, so nothing of it is lent here.
        """
        model = self._models.get(task)
        return tuple(other for other in self._topics if other != task and self._models.get(other) == model)

    def of(self, task: str) -> float:
        """The task's part of its model's limits in this process, 0 to 1."""
        model = self._models.get(task)
        rivals = [self._weights.get(other, 1.0) for other, its in self._models.items() if its == model]
        weight = self._weights.get(task, 1.0)
        part = self._part * (weight / sum(rivals) if model is not None and sum(rivals) > 0 else 1.0)
        parts = self._topics.get(task)
        return part if parts is None else part * sum(parts.values()) / len(parts)
