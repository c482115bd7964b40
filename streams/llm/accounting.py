"""Records the answers and costs of model calls, and the money of a day.

A cost is booked before a call and corrected right after it. All replicas share the account, and it survives restarts.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from datetime import UTC, datetime, time, timedelta
from typing import Any, TypeVar

import structlog

from schemas.llm import CallOutcome, LlmCall
from schemas.replies import ModelFailed, ModelReply
from streams.clock import Clock
from streams.llm.journal import (
    AnswerJournal,
    JournalError,
    Kept,
    KeptCall,
    Usage,
    Used,
    from_journal,
    is_opening,
    reply_of,
)
from streams.llm.metrics import LlmObserver
from streams.llm.replies import Completion
from streams.llm.request import Asking
from streams.llm.settings import LlmSettings
from streams.llm.tasks import keeps_to_protocol
from streams.telemetry.metrics import Metrics

log = structlog.get_logger(__name__)


class Budget:
    """Keeps a day's costs below a bound, as far as prices are known. A day is one of UTC."""

    def __init__(self, usd_per_day: float | None, store: AnswerJournal, clock: Clock, metrics: Metrics | None) -> None:
        """Takes the bound, None for no bound, and where costs are kept."""
        self._most = usd_per_day
        self._store = store
        self._clock = clock
        self._metrics = metrics
        self._told = ""
        if metrics is not None and usd_per_day is not None:
            metrics.llm_budget_usd.set(usd_per_day)

    def day(self) -> str:
        """Today."""
        return self._clock.now().astimezone(UTC).date().isoformat()

    async def book(self, day: str, usd: float) -> float | None:
        """Books the costs of a call that is about to be made; seconds until midnight where they are too much.

        Raises:
            JournalError: Costs can't be kept, so none may arise.
        """
        booked, total = await self._store.book(day, usd, self._most)
        self.show(day, total)
        if booked:
            return None
        if self._told != day:
            self._told = day
            log.warning("the day's budget for language models is spent", usd=round(total, 4), budget=self._most)
        return self._until_midnight()

    def show(self, day: str, total: float) -> None:
        """Sets the gauge of what is left, which shows until midnight: what others spend after it is not known here.

        What is settled after midnight is yesterday's and not shown any more. Within a day costs only grow, so of
        several processes the one that shows least has asked last.
        """
        if self._metrics is not None and self._most is not None and day == self.day():
            left = max(0.0, self._most - total)
            self._metrics.llm_budget_left_usd.set_while(left, lambda: day == self.day())

    def _until_midnight(self) -> float:
        now = self._clock.now().astimezone(UTC)
        midnight = datetime.combine(now.date() + timedelta(days=1), time(), UTC)
        return (midnight - now).total_seconds()


T = TypeVar("T")
_AFTER_SECONDS = 0.1
"""How long the journal is waited for beyond a deadline, where there is something to be written."""


class LateError(JournalError):
    """The journal has not done it in time; it is not waited for any more, and may still do it."""


class Accounting:
    """Books, keeps and settles. Every method may raise ``JournalError``, except where an answer was paid already.

    The journal is waited for within a task's deadline; before a call for half of what is left of it, so that a journal
    that is slow is not taken for a model that is. What was begun is finished even where nobody waits any more, and a
    booking that nobody knows of is taken back.
    """

    def __init__(
        self, llm: LlmSettings, store: AnswerJournal, budget: Budget, clock: Clock, observer: LlmObserver
    ) -> None:
        """Takes where answers and costs are kept."""
        self._llm = llm
        self._store = store
        self._budget = budget
        self._clock = clock
        self._observer = observer
        self._left_alone: set[asyncio.Task[None]] = set()

    async def aclose(self) -> None:
        """Finishes what is under way."""
        await asyncio.gather(*self._left_alone)

    async def known(self, asking: Asking) -> ModelReply | ModelFailed | None:
        """The answer that stands in the journal already; None where there is none."""
        kept = await self._wait(
            asking, asking.left / 2, self._store.get(asking.key, self._clock.now().timestamp()), _nothing
        )
        if kept is None or (known := from_journal(kept)) is None:
            return None
        self._observer.cached(asking.need.task)
        return reply_of(known, asking.need, asking.model, cached=True)

    async def book(self, asking: Asking) -> float | None:
        """Books the next call with its longest reply, beside what calls before it were lost with.

        Returns:
            Seconds until midnight where that is too much; None where it is booked.
        """
        day = asking.day or self._budget.day()
        cost = asking.cost(asking.prompt_tokens, asking.most_reply_tokens) or 0.0
        if (more := cost - asking.booked) <= 0 and asking.day:
            return None

        async def take_back(after: float | None) -> None:
            if after is None:
                await self._store.book(day, -more, None)

        if (after := await self._wait(asking, asking.left / 2, self._budget.book(day, more), take_back)) is None:
            asking.day, asking.booked = day, cost
        return after

    async def keep(self, asking: Asking, completion: Completion) -> ModelReply | ModelFailed:
        """Writes an answer and what it cost into the journal, then hands it out."""
        llm = self._llm
        prompt_tokens, completion_tokens = asking.tokens_of(completion)
        kept = Kept(
            text=completion.text,
            tool_calls=tuple(KeptCall(id=c.id, name=c.name, arguments=c.arguments) for c in completion.tool_calls),
            outcome=completion.outcome,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
        )
        cost = asking.cost(kept.prompt_tokens, kept.completion_tokens)
        settled = kept.outcome is CallOutcome.OK and keeps_to_protocol(asking.need, completion)
        seconds = llm.cache_seconds if settled else llm.cache_failed_seconds
        now = self._clock.now().timestamp()
        day, booked = asking.unbook()
        milliseconds = round(asking.latency * 1000)
        usage_now = Usage(1, asking.prompt_tokens, kept.prompt_tokens, kept.completion_tokens, milliseconds)
        used = Used(asking.need.task, asking.model, is_opening(asking.need), usage_now)
        try:
            journal = kept.model_dump_json()
            keeping = self._store.keep(asking.key, journal, now, seconds, day, (cost or 0.0) - booked, used)
            total = await self._wait(asking, asking.left + _AFTER_SECONDS, keeping, _nothing)
            self._budget.show(day, total)
        except LateError:
            log.warning("an answer is kept late", task=asking.need.task, model=asking.model)
        except JournalError as error:
            # It is paid already; not to hand it out would mean to pay again for certain.
            log.error("an answer could not be kept", task=asking.need.task, model=asking.model, error=str(error)[:300])
        before, after = asking.spoiled_tokens
        used_tokens = (kept.prompt_tokens + before, kept.completion_tokens + after)
        self._observer.used(asking.need.task, asking.model, *used_tokens, cost)
        return reply_of(
            kept,
            asking.need,
            asking.model,
            attempts=asking.attempts,
            latency_ms=milliseconds,
            cost_usd=cost,
        )

    async def failed(self, asking: Asking, outcome: CallOutcome, detail: str) -> ModelFailed:
        """What the handler is told of a question that failed; what was booked is set right."""
        cost = await self.settle(asking)
        call = LlmCall(
            judged_by="model",
            model=asking.model,
            prompt_version=asking.need.prompt_version,
            temperature=asking.need.temperature,
            attempts=asking.attempts,
            latency_ms=round(asking.latency * 1000),
            cost_usd=cost,
            outcome=outcome,
        )
        milliseconds = round(asking.latency * 1000)
        log.debug("no answer", task=asking.need.task, model=asking.model, outcome=outcome, milliseconds=milliseconds)
        return ModelFailed(call, detail)

    async def settle(self, asking: Asking) -> float | None:
        """Sets what was booked right where no answer came: prompts that may have been read are taken for paid.

        A call that was cut off at the deadline is taken for paid with the longest reply.
        """
        cost = asking.cost(0, 0)
        if asking.day:
            day, booked = asking.unbook()
            booking = self._store.book(day, (cost or 0.0) - booked, None)
            # What came of the question is known, and does not become better by waiting.
            with contextlib.suppress(LateError):
                _, total = await self._wait(asking, asking.left + _AFTER_SECONDS, booking, _nothing)
                self._budget.show(day, total)
            self._observer.paid(asking.need.task, asking.model, cost)
        return cost

    async def _wait(
        self, asking: Asking, seconds: float, work: Coroutine[Any, Any, T], undo: Callable[[T], Awaitable[None]]
    ) -> T:
        """Waits so long for the journal.

        Args:
            asking: Whose deadline it is taken from.
            seconds: Beyond which nobody waits.
            work: What the journal is to do.
            undo: Called with what came of it where nobody waits any more.

        Raises:
            JournalError: It could not be done.
            LateError: Or not in time.
        """
        running = asyncio.create_task(work)
        began = self._clock.monotonic()
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(running)
        except (TimeoutError, asyncio.CancelledError) as error:
            task = asyncio.create_task(_finish(running, undo))
            self._left_alone.add(task)
            task.add_done_callback(self._left_alone.discard)
            if isinstance(error, TimeoutError):
                raise LateError(f"no answer within {seconds:.2g} s") from error
            raise
        finally:
            asking.spent += self._clock.monotonic() - began


async def _finish(running: asyncio.Task[T], undo: Callable[[T], Awaitable[None]]) -> None:
    try:
        await undo(await running)
    except JournalError as error:
        log.error("the journal failed after its time was up", error=str(error)[:300])


async def _nothing(_: object) -> None:
    """What was written stays."""
