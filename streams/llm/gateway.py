"""The gateway to language models: returns the answer to a question, or why no model answered.

The gateway looks for the answer in the journal first. Identical questions at the same time share one call in a process
and its result, also a failure: callers that repeated each other's timeouts would wait for several deadlines. A call
waits for its turn within its task's patience, books its cost, and runs within its task's deadline, which covers all
attempts and their pauses. The journal has the answer before a caller gets it.

Errors of three kinds are distinguished. A problem of the question is ``ModelFailed``, and the handler judges it. A
problem of the model is ``ModelFailed`` too, until several questions in a row have failed. A problem of the provider
(unreachable, key refused, rate limit, budget spent, breaker open) is ``ModelUnavailable``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import structlog

from schemas.llm import CallOutcome
from schemas.needs import AskModel
from schemas.replies import ModelFailed, ModelReply, ModelUnavailable
from streams.llm.accounting import Accounting, CostAccount
from streams.llm.client import GatewaySettingsError, ModelClient
from streams.llm.journal import AnswerJournal, BoundReachedError, JournalError
from streams.llm.limits import ModelTurn, NoTurn, Shares
from streams.llm.replies import MAX_DETAIL, Answer, Completion, Failure, FailureKind
from streams.llm.request import ModelAccess, Question, cost_of, prompt_tokens_of
from streams.llm.settings import LlmSettings, ModelsSection
from streams.llm.sqlite_journal import make_journal
from streams.llm.tasks import TASKS, corrected, keeps_to_protocol
from streams.runtime.backoff import Chance, full_jitter
from streams.runtime.clock import Clock
from streams.telemetry.labels import Cause
from streams.telemetry.metrics import Metrics
from streams.telemetry.tracing import Tracer

log = structlog.get_logger(__name__)

Replied = ModelReply | ModelFailed | ModelUnavailable


class SingleFlight:
    """Single-flight: concurrent identical requests share one call and its result. Not safe across event loops."""

    def __init__(self) -> None:
        self._pending: dict[str, asyncio.Future[Replied]] = {}

    async def share(self, key: str, ask: Callable[[], Awaitable[Replied]]) -> Replied:
        """The first caller asks; the others get its reply as cached. If the first is cancelled, the next asks."""
        while (pending := self._pending.get(key)) is not None:
            await asyncio.wait((pending,))
            if not pending.cancelled():
                reply = pending.result()
                if isinstance(reply, ModelUnavailable):
                    return reply
                # Only the first caller's reply has the cost.
                free = {"attempts": 0, "latency_ms": 0, "cost_usd": 0.0, "cached": True}
                return replace(reply, call=reply.call.model_copy(update=free))
        pending = self._pending[key] = asyncio.get_running_loop().create_future()
        try:
            reply = await ask()
        except BaseException:
            del self._pending[key]
            pending.cancel()
            raise
        del self._pending[key]
        pending.set_result(reply)
        return reply


_ASKED: tuple[Cause, ...] = ("down", "shut")
"""Causes that follow from a request, so its question does not count as refused."""
_ADAPTATIONS = 3  # parameters that a model may refuse, one after another
_REFUSALS = 3
"""Refusals for lack of capacity, with answers to others in between, after which a question counts as too large."""
_LEAST_TRY_SECONDS = 0.1  # no server answers in less time


@dataclass(eq=False, repr=False)
class Gateway:
    """Asks models within limits, deadlines and a budget. Opens no connection yet.

    Raises GatewaySettingsError if the configured journal or a proxy of the environment can't be used.

    Attributes:
        journal: The one of the settings by default.
        account: That of a replay's plan.
    """

    llm: LlmSettings
    models: ModelsSection
    shares: Shares
    clock: Clock
    chance: Chance
    metrics: Metrics
    journal: AnswerJournal | None = None
    tracer: Tracer | None = None
    account: CostAccount | None = None

    def __post_init__(self) -> None:
        try:
            self._journal = self.journal or make_journal(self.llm)
        except JournalError as error:
            raise GatewaySettingsError(str(error)) from error
        self._client = ModelClient(self.llm, self.clock.now, self.tracer or Tracer())
        self._accounting = Accounting(self.llm, self._journal, self.clock, self.metrics, self.account)
        self._single_flight = SingleFlight()
        self._access: dict[str, ModelAccess] = {}

    async def aclose(self) -> None:
        await self._client.aclose()
        await self._accounting.aclose()
        await self._journal.aclose()

    async def answer(self, need: AskModel) -> Replied:
        """The model's reply, from the journal if it is there.

        Failures are values. Cancellation passes through and leaves no call open.
        """
        model = self.shares.models.get(need.task) or self.llm.model
        limits = self.models.limits_of(model, self.llm)
        if not model:
            return self._unavailable(need, "", "settings", "no model is named: set llm.model (ASSAY_LLM__MODEL)")
        if self.llm.budget_usd_per_day is not None and cost_of(limits, 0, 0) is None:
            problem = f"{model} has no prices in models.limits, so llm.budget_usd_per_day can't be kept"
            return self._unavailable(need, model, "settings", problem)
        if model not in self._access:
            self._access[model] = ModelAccess(model, self.llm, limits, self.shares, self.clock, self.metrics)
        question = Question(need, model, self.llm.base_url, limits, self.models.task(need.task), self._access[model])
        return await self._single_flight.share(question.key, lambda: self._recall_or_ask(question))

    async def _recall_or_ask(self, question: Question) -> Replied:
        try:
            return await self._accounting.recall(question) or await self._ask(question)
        except BoundReachedError as error:
            return self._unavailable(question.need, question.model, "budget", str(error))
        except JournalError as error:
            return self._unavailable(question.need, question.model, "journal", str(error)[:MAX_DETAIL])

    async def _ask(self, question: Question) -> Replied:
        """Asks until an answer or a final failure; corrects the booking in any case."""
        breaker = question.access.breaker
        if (pause := breaker.pause()) is not None:
            return self._breaker_open(question, pause)
        try:
            await self._pause_before_a_try(question)
            while True:
                entered = await self._enter(question)
                if isinstance(entered, ModelUnavailable):
                    if question.rejected_reply is not None:
                        return await self._use_rejected_reply(question, question.rejected_reply, None)
                    await self._accounting.settle(question)
                    return entered
                try:
                    result = await self._call(question, entered)
                    done = await self._conclude(question, result)
                finally:
                    breaker.leave(question.breaker_key)
                if done is not None:
                    return done
        except BaseException:
            with contextlib.suppress(JournalError):
                await self._accounting.settle(question)
            raise

    async def _enter(self, question: Question) -> ModelTurn | ModelUnavailable:
        """Waits for a turn, then books the cost of the call before it is made."""
        need, policy, breaker = question.need, question.policy, question.access.breaker
        tokens = question.prompt_tokens + question.most_reply_tokens
        turn = await question.access.limiter.turn(need.task, tokens, policy.patience_seconds - question.waited)
        question.waited += turn.waited
        asked = need.task, question.model
        self.metrics.llm_queue_seconds.labels(*asked).observe(turn.waited)
        self.metrics.llm_limit_seconds.labels(*asked).observe(turn.limited)
        self.metrics.llm_allowed_requests_per_minute.labels(*asked).set(question.access.limiter.allowed(need.task))
        if isinstance(turn, NoTurn):
            detail = f"{question.model}: no turn within {policy.patience_seconds:g} s"
            refused = self._unavailable(need, question.model, "limit", detail, turn.after_seconds)
            # A caller that comes back after half of the queue was served keeps the queue from running empty.
            soon = max(1.0, min(turn.after_seconds, policy.patience_seconds / 2))
            return refused if turn.paused else replace(refused, after_seconds=soon, busy=True)
        with contextlib.ExitStack() as undo:
            undo.callback(turn.over, 0)
            if (pause := breaker.enter(question.breaker_key)) is not None:
                return self._breaker_open(question, pause)
            undo.callback(breaker.leave, question.breaker_key)
            if (after := await self._accounting.book(question)) is not None:
                return self._unavailable(need, question.model, "budget", "the day's budget is spent", after)
            undo.pop_all()
            return turn

    async def _call(self, question: Question, turn: ModelTurn) -> Answer | Failure:
        used: int | None = None
        began = self.clock.monotonic()
        question.attempts += 1
        try:
            async with asyncio.timeout(question.left):
                result = await self._client.ask(question.need, question.model, question.limits)
            if (usage := result.usage) is not None:
                used = usage.prompt_tokens + usage.completion_tokens
        except TimeoutError:
            result = Failure(FailureKind.TIMEOUT, f"no answer within {question.policy.deadline_seconds:g} s")
        except BaseException:
            question.unanswered += 1
            raise
        finally:
            turn.over(used)
            took = self.clock.monotonic() - began
            question.spent += took
            question.latency += took
        task, model = question.need.task, question.model
        self.metrics.llm_requests_total.labels(task, model, result.outcome).inc()
        self.metrics.llm_request_seconds.labels(task, model).observe(took)
        self._accounting.tally.add(question.need, model, requested=1)
        return result

    async def _conclude(self, question: Question, result: Answer | Failure) -> Replied | None:
        """The reply after a request; None for another attempt."""
        breaker = question.access.breaker
        if isinstance(result, Answer):
            question.access.answered(question.breaker_key)
            question.access.limiter.on_limits(result.requests_per_minute, result.tokens_per_minute)
            if self._asks_again(question, result.completion):
                return None
            return await self._accounting.keep(question, result.completion)
        question.access.last_cause = result.cause
        if question.rejected_reply is not None:
            return await self._use_rejected_reply(question, question.rejected_reply, result)
        match result.kind:
            case FailureKind.ADAPT if question.adapted < _ADAPTATIONS:
                question.adapted += 1
                log.warning("model refuses a parameter, asking without it", model=question.model)
                return None
            case FailureKind.LIMITED:
                return await self._rate_limited(question, result)
            case FailureKind.ACCESS_DENIED:
                breaker.open(result.after_seconds)
                await self._accounting.settle(question)
                return self._unavailable(question.need, question.model, "shut", result, result.after_seconds)
            case FailureKind.REQUEST | FailureKind.ADAPT:
                question.access.answered(question.breaker_key)
                return await self._accounting.failed(question, CallOutcome.ERROR, result.detail)
        question.count_unanswered(result)
        # An attempt that is cut off while it connects would look like a slow model.
        room = self.llm.connect_seconds if result.kind is FailureKind.DOWN else _LEAST_TRY_SECONDS
        if await self._may_try_again(question, room):
            return None
        breaker.failed(question.breaker_key)
        if result.kind is FailureKind.DOWN or not breaker.closed:
            await self._accounting.settle(question)
            return self._unavailable(question.need, question.model, "down", result, result.after_seconds)
        return await self._accounting.failed(question, result.outcome, result.detail)

    def _asks_again(self, question: Question, completion: Completion) -> bool:
        """Whether to ask once more because the reply is outside the task's protocol; prepares the second request."""
        if (
            question.rejected_reply is not None
            or completion.outcome is not CallOutcome.OK
            or keeps_to_protocol(question.need, completion)
            or (question.need.task in TASKS and TASKS[question.need.task].asks_again)
            or not question.attempts_left
            or question.left <= _LEAST_TRY_SECONDS
        ):
            return False
        question.rejected_reply, question.rejected_tokens = completion, question.tokens_of(completion)
        question.need = corrected(question.need, completion)
        question.prompt_tokens = prompt_tokens_of(question.need)
        log.info("reply outside the protocol, asking once more", task=question.need.task, model=question.model)
        return True

    async def _use_rejected_reply(self, question: Question, reply: Completion, result: Failure | None) -> Replied:
        """Returns the first reply because the second request failed, or got no turn; the cost of both is counted."""
        if result is not None and result.kind is FailureKind.LIMITED:
            question.access.limiter.rate_limited(self._pause_wanted(result, 1))
        elif result is not None:
            question.count_unanswered(result)
        question.rejected_tokens = (0, 0)  # now counted as the reply
        return await self._accounting.keep(question, reply)

    async def _pause_before_a_try(self, question: Question) -> None:
        """Pauses before a later try of a question whose handler asks again itself, at its first message."""
        need = question.need
        if need.try_number > 1 and all(message.role in ("system", "user") for message in need.messages):
            pause = min(self._backoff(need.try_number - 1, least=0.5), question.left / 2)
            await self.clock.sleep(pause)
            question.spent += pause

    async def _rate_limited(self, question: Question, result: Failure) -> Replied | None:
        """Pauses all callers as long as the server asks; None if this question may wait that long."""
        pause = self._pause_wanted(result, question.attempts)
        question.access.limiter.rate_limited(pause)
        if question.attempts_left and question.waited + pause <= question.policy.patience_seconds:
            return None
        if question.access.refusals(question.breaker_key) > _REFUSALS:
            return await self._accounting.failed(question, CallOutcome.RATE_LIMITED, result.detail)
        await self._accounting.settle(question)
        return self._unavailable(question.need, question.model, "limit", result, pause)

    async def _may_try_again(self, question: Question, room: float) -> bool:
        """Pauses before another attempt if the deadline leaves ``room`` seconds for it; whether it does."""
        pause = self._backoff(question.attempts)
        if not question.attempts_left or question.spent + pause + room >= question.policy.deadline_seconds:
            return False
        await self.clock.sleep(pause)
        question.spent += pause
        return True

    def _backoff(self, attempts: int, least: float = 0.0) -> float:
        llm = self.llm
        return full_jitter(attempts, llm.first_backoff_seconds, llm.max_backoff_seconds, self.chance, least)

    def _pause_wanted(self, failure: Failure, attempts: int) -> float:
        return self._backoff(attempts) if failure.after_seconds is None else failure.after_seconds

    def _breaker_open(self, question: Question, pause: float) -> ModelUnavailable:
        detail = f"{question.model} is paused after failures, the last time with: {question.access.last_cause}"
        return self._unavailable(question.need, question.model, "breaker", detail, pause)

    def _unavailable(
        self, need: AskModel, model: str, cause: Cause, why: str | Failure, after_seconds: float | None = None
    ) -> ModelUnavailable:
        """No model is asked. ``why`` is our own text, or a failure that also contains the server's text."""
        detail, known = (why.detail, why.cause) if isinstance(why, Failure) else (why, why)
        self.metrics.llm_unavailable_total.labels(need.task, model, cause).inc()
        if cause not in _ASKED:
            self._accounting.tally.add(need, model, refused=1)
        if cause in ("settings", "journal"):
            log.error("no model can be asked", task=need.task, cause=cause, detail=known)
        lasting = cause in ("shut", "settings")
        return ModelUnavailable(detail, after_seconds, lasting=lasting, cause=known, at=self.clock.now())
