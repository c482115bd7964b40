"""Records the answers and costs of model calls, keeps the day's budget, and counts calls by day and model.

A cost is booked before a call and corrected right after it. All replicas share the journal, which survives restarts. A
process that is killed loses only the counts of the last seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Any, TypeVar

import structlog

from schemas.llm import CallOutcome
from schemas.needs import AskModel
from schemas.replies import ModelFailed, ModelReply
from streams.llm.journal import (
    AnswerJournal,
    BoundReachedError,
    DayCalls,
    JournalError,
    StoredAnswer,
    from_journal,
    is_opening,
    reply_of,
)
from streams.llm.replies import MAX_DETAIL, Completion
from streams.llm.request import Question
from streams.llm.settings import LlmSettings
from streams.llm.tasks import keeps_to_protocol
from streams.runtime.clock import Clock
from streams.telemetry.metrics import Metrics

log = structlog.get_logger(__name__)


def utc_day(clock: Clock) -> str:
    return clock.now().astimezone(UTC).date().isoformat()


@dataclass(eq=False)
class CostAccount:
    """The account of a replay's plan in the journal, with a limit over all its processes and restarts.

    Every call is booked on it and on the day's account. ``reached`` is set when a call was refused: the replay should
    pause then, and the record of the call is not decided.
    """

    name: str
    most_usd: float | None
    reached: asyncio.Event = field(default_factory=asyncio.Event, init=False)


@dataclass(eq=False)
class Budget:
    """Keeps the costs of a UTC day below a bound, and those of a replay, as far as prices are known."""

    most_usd: float | None  # of a day; None for no bound
    journal: AnswerJournal
    clock: Clock
    metrics: Metrics
    account: CostAccount | None = None
    _warned_on: str = field(default="", init=False)

    def __post_init__(self) -> None:
        if self.most_usd is not None:
            self.metrics.llm_budget_usd.set(self.most_usd)

    def bounds(self, day: str) -> dict[str, float | None]:
        """The accounts of a call with their bounds, the day's last."""
        account = self.account
        return ({} if account is None else {account.name: account.most_usd}) | {day: self.most_usd}

    async def book(self, day: str, usd: float) -> float | None:
        """Books the cost before a call. Returns the seconds until midnight if the budget does not cover it, else None.

        After a JournalError the call must not be made. Raises BoundReachedError if the replay's limit refuses it.
        """
        exceeded, total = await self.journal.book(self.bounds(day), usd)
        if self.account is not None and exceeded == self.account.name:
            self.account.reached.set()
            most = self.account.most_usd
            raise BoundReachedError(f"the replay has spent {total:.4f} USD, and may spend {most:.4f}")
        self.show(day, total)
        if not exceeded:
            return None
        if self._warned_on != day:
            self._warned_on = day
            log.warning("the day's budget for language models is spent", usd=round(total, 4), budget=self.most_usd)
        now = self.clock.now().astimezone(UTC)
        midnight = datetime.combine(now.date() + timedelta(days=1), time(), UTC)
        return (midnight - now).total_seconds()

    async def correct(self, day: str, usd: float) -> float:
        """Corrects what was booked, without bounds. Returns the day's costs."""
        return (await self.journal.book(dict.fromkeys(self.bounds(day)), usd))[1]

    def show(self, day: str, total: float) -> None:
        """Sets the gauge of the remaining budget until midnight. Costs of another day are ignored.

        Within a day costs only grow, so of several processes the one with the lowest value is the most recent.
        """
        if self.most_usd is not None and day == utc_day(self.clock):
            left = max(0.0, self.most_usd - total)
            self.metrics.llm_budget_left_usd.set_while(left, lambda: day == utc_day(self.clock))


T = TypeVar("T")
_AFTER_SECONDS = 0.1  # time beyond the deadline to wait for a write to the journal


class LateError(JournalError):
    """The journal did not finish in time; it may still finish."""


@dataclass(eq=False, repr=False)
class Accounting:
    """Books costs, stores answers and corrects bookings.

    Every method may raise ``JournalError``, except after an answer was paid. Waits for the journal count against the
    task's deadline. Before a call they take at most half of the remaining time, so a slow journal does not look like a
    slow model. Work that was started is finished after its caller has left; an unused booking is then reversed.
    """

    llm: LlmSettings
    journal: AnswerJournal
    clock: Clock
    metrics: Metrics
    account: CostAccount | None = None

    def __post_init__(self) -> None:
        self._budget = Budget(self.llm.budget_usd_per_day, self.journal, self.clock, self.metrics, self.account)
        self.tally = CallTally(self.journal, self.clock)
        self._unfinished: set[asyncio.Task[None]] = set()

    async def aclose(self) -> None:
        await asyncio.gather(*self._unfinished)
        await self.tally.aclose()

    async def recall(self, question: Question) -> ModelReply | ModelFailed | None:
        """The kept answer, which costs nothing; None if the journal has none."""
        looking = self.journal.get(question.key, self.clock.now().timestamp())
        text = await self._wait(question, question.left / 2, looking)
        if text is None or (answer := from_journal(text)) is None:
            return None
        self.metrics.llm_cached_total.labels(question.need.task).inc()
        self.tally.add(question.need, question.model, cached=1)
        return reply_of(answer, question.need, question.model, cached=True, call_id=question.key)

    async def book(self, question: Question) -> float | None:
        """Books the next call with its longest reply, and lost calls before it. Returns as ``Budget.book``."""
        day = question.day or utc_day(self.clock)
        cost = question.cost(question.prompt_tokens, question.most_reply_tokens) or 0.0
        if (more := cost - question.booked) <= 0 and question.day:
            return None

        async def reverse(after: float | None) -> None:
            if after is None:
                await self._budget.correct(day, -more)

        if (after := await self._wait(question, question.left / 2, self._budget.book(day, more), reverse)) is None:
            question.day, question.booked = day, cost
        return after

    async def keep(self, question: Question, completion: Completion) -> ModelReply | ModelFailed:
        """Stores a paid answer and corrects its booking, in one step, and then returns it."""
        llm, task, model = self.llm, question.need.task, question.model
        prompt_tokens, completion_tokens = question.tokens_of(completion)
        answer = StoredAnswer(
            text=completion.text,
            tool_calls=completion.tool_calls,
            outcome=completion.outcome,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
        )
        cost = question.cost(prompt_tokens, completion_tokens)
        valid = answer.outcome is CallOutcome.OK and keeps_to_protocol(question.need, completion)
        seconds = llm.cache_seconds if valid else llm.cache_failed_seconds
        now = self.clock.now().timestamp()
        day, booked = question.unbook()
        self.tally.add(
            question.need,
            model,
            answered=1,
            estimated=question.prompt_tokens,
            prompt=prompt_tokens,
            completion=completion_tokens,
            milliseconds=question.latency_ms,
        )
        stored: str | None = question.key
        try:
            text = answer.model_dump_json()
            accounts = [*self._budget.bounds(day)]
            keeping = self.journal.keep(question.key, text, now, seconds, accounts, (cost or 0.0) - booked)
            self._budget.show(day, await self._wait(question, question.left + _AFTER_SECONDS, keeping))
        except LateError:
            log.warning("an answer is stored late", task=task, model=model)
        except JournalError as error:
            # The answer is paid. Without returning it, the record would be retried and the answer paid again.
            log.error("an answer could not be stored", task=task, model=model, error=str(error)[:MAX_DETAIL])
            stored = None
        before, after = question.rejected_tokens
        self.metrics.llm_tokens_total.labels(task, model, "in").inc(prompt_tokens + before)
        self.metrics.llm_tokens_total.labels(task, model, "out").inc(completion_tokens + after)
        self._paid(question, cost)
        return question.reply(answer, cost, call_id=stored)

    async def failed(self, question: Question, outcome: CallOutcome, detail: str) -> ModelReply | ModelFailed:
        cost = await self.settle(question)
        took = question.latency_ms
        log.debug("no answer", task=question.need.task, model=question.model, outcome=outcome, milliseconds=took)
        return question.reply(StoredAnswer(text="", outcome=outcome), cost, failure=detail)

    async def settle(self, question: Question) -> float | None:
        """Corrects the booking of a question without an answer; returns its cost.

        Prompts that the server may have read count as paid, calls cut off at the deadline with the longest reply.
        """
        cost = question.cost(0, 0)
        if question.day:
            day, booked = question.unbook()
            booking = self._budget.correct(day, (cost or 0.0) - booked)
            # The result of the question is known; waiting for the journal would not change it.
            with contextlib.suppress(LateError):
                self._budget.show(day, await self._wait(question, question.left + _AFTER_SECONDS, booking))
            self._paid(question, cost)
        return cost

    def _paid(self, question: Question, cost: float | None) -> None:
        if cost is not None:
            self.metrics.llm_cost_usd_total.labels(question.need.task, question.model).inc(cost)
        self.tally.add(question.need, question.model, usd=cost or 0.0)

    async def _wait(
        self,
        question: Question,
        seconds: float,
        work: Coroutine[Any, Any, T],
        undo: Callable[[T], Awaitable[None]] | None = None,
    ) -> T:
        """Waits for the journal at most ``seconds``, which count against the question's deadline.

        If the caller leaves earlier, the work continues, and ``undo`` is called with its result. Raises LateError if
        the work is not finished in time.
        """
        running = asyncio.create_task(work)
        began = self.clock.monotonic()
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(running)
        except (TimeoutError, asyncio.CancelledError) as error:
            task = asyncio.create_task(_finish(running, undo))
            self._unfinished.add(task)
            task.add_done_callback(self._unfinished.discard)
            if isinstance(error, TimeoutError):
                raise LateError(f"no answer within {seconds:.2g} s") from error
            raise
        finally:
            question.spent += self.clock.monotonic() - began


async def _finish(running: asyncio.Task[T], undo: Callable[[T], Awaitable[None]] | None) -> None:
    try:
        result = await running
        if undo is not None:
            await undo(result)
    except JournalError as error:
        log.error("the journal failed after its caller had left", error=str(error)[:MAX_DETAIL])


_WRITE_SECONDS = 2.0  # between two writes: a write for each cached answer would take longer than the answer


@dataclass(eq=False)
class CallTally:
    """The counts of this process that are not in the journal yet."""

    journal: AnswerJournal
    clock: Clock
    _counts: dict[DayCalls, DayCalls] = field(default_factory=dict, init=False)  # by rows without counts
    _closing: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _writer: asyncio.Task[None] | None = field(default=None, init=False)

    def add(self, need: AskModel, model: str, **amounts: Any) -> None:
        row = DayCalls(utc_day(self.clock), model, task=need.task, opening=is_opening(need))
        self._counts[row] = self._counts.get(row, row).plus(row._replace(**amounts))
        if self._writer is None:
            self._writer = asyncio.create_task(self._write(), name="call counts")

    async def aclose(self) -> None:
        self._closing.set()
        if self._writer is not None:
            await self._writer

    async def _write(self) -> None:
        try:
            while self._counts:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_WRITE_SECONDS):
                        await self._closing.wait()
                counts, self._counts = list(self._counts.values()), {}
                try:
                    await self.journal.count(counts)
                except JournalError as error:
                    # Answers and costs have their own errors; counts are for people, so no answer waits for them.
                    requested = sum(calls.requested for calls in counts)
                    log.warning("the counts of model calls are lost", calls=requested, error=str(error))
        finally:
            self._writer = None
