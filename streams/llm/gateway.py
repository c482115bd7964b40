"""The gateway to language models: takes a question and returns an answer, or the reason why there is none.

The gateway looks for the answer in the journal first. Identical questions at the same time share one call and its
result, also a failure: callers that repeated each other's timeouts would wait for several deadlines. A call then waits
for its turn within its task's patience, and runs within its task's deadline, which covers all attempts and their
pauses. The journal has the answer before a caller gets it.

Errors of three kinds are distinguished. A problem of the question is ``ModelFailed``, and the handler judges it. A
problem of the model is ``ModelFailed`` too, until several questions in a row have failed. A problem of the provider
(unreachable, key refused, rate limit, budget spent, breaker open) is ``ModelUnavailable``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

import structlog

from schemas.llm import CallOutcome
from schemas.needs import AskModel
from schemas.replies import ModelFailed, ModelReply, ModelUnavailable
from streams.clock import Clock
from streams.llm.accounting import Accounting, Budget
from streams.llm.client import ClientSettingsError, ModelClient
from streams.llm.journal import AnswerJournal, BoundReachedError, JournalError, answer_key
from streams.llm.limits import ModelTurn, NoTurn, Shares
from streams.llm.metrics import LlmObserver
from streams.llm.replies import Answer, Completion, Failure, Trouble
from streams.llm.request import Asking, ModelAccess, cost_of, prompt_tokens_of
from streams.llm.settings import LlmSettings, ModelsSection
from streams.llm.sqlite_journal import make_store
from streams.llm.tasks import REPEATS, corrected, keeps_to_protocol
from streams.resilience.backoff import Chance, full_jitter
from streams.telemetry.labels import Cause
from streams.telemetry.metrics import Metrics
from streams.telemetry.tracing import Tracer

log = structlog.get_logger(__name__)


Replied = ModelReply | ModelFailed | ModelUnavailable


class SingleFlight:
    """Questions on their way, by key. A key that nobody asks for is forgotten. Not safe across event loops."""

    def __init__(self) -> None:
        self._landings: dict[str, asyncio.Future[Replied]] = {}

    def __len__(self) -> int:
        return len(self._landings)

    async def share(self, key: str, ask: Callable[[], Awaitable[Replied]]) -> Replied:
        """The first to come asks; all others get its reply, as one that took no call.

        Where the first one is cancelled the next asks.
        """
        while (landing := self._landings.get(key)) is not None:
            await asyncio.wait((landing,))
            if not landing.cancelled():
                return _another_s(landing.result())
        landing = self._landings[key] = asyncio.get_running_loop().create_future()
        try:
            reply = await ask()
        except BaseException:
            del self._landings[key]
            landing.cancel()
            raise
        del self._landings[key]
        landing.set_result(reply)
        return reply


def _another_s(reply: Replied) -> Replied:
    """A reply for those who only waited: what it cost is told once."""
    if isinstance(reply, ModelUnavailable):
        return reply
    call = reply.call.model_copy(update={"attempts": 0, "latency_ms": 0, "cost_usd": 0.0, "cached": True})
    if isinstance(reply, ModelReply):
        return ModelReply(reply.text, reply.tool_calls, call)
    return ModelFailed(call, reply.detail)


_ADAPTATIONS = 3
"""Parameters that a model may refuse, one after another."""
_REFUSALS = 3
"""How often a question is refused for want of room, while others are answered, before it is taken for too large."""
_LEAST_TRY_SECONDS = 0.1
"""In less than that nothing is answered."""


class GatewaySettingsError(Exception):
    """No model can be asked with these settings, however long one waits."""


class Gateway:
    """Asks models within limits, deadlines and a budget. ``aclose`` closes what is open."""

    def __init__(
        self,
        llm: LlmSettings,
        models: ModelsSection,
        names: Mapping[str, str],
        shares: Shares,
        clock: Clock,
        chance: Chance,
        metrics: Metrics | None = None,
        store: AnswerJournal | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        """Opens nothing yet.

        Args:
            llm: Where, and at what cost.
            models: How patiently, and within which limits.
            names: The model of each task.
            shares: This process's part of the limits.
            clock: Time.
            chance: A number in [0, 1), for jitter.
            metrics: Counts, where given.
            store: Keeps answers and costs; as the settings say by default.
            tracer: Traces calls, where given.

        Raises:
            GatewaySettingsError: The store that is configured can't be had, or a proxy of the environment not used.
        """
        self._llm = llm
        self._models = models
        self._names = dict(names)
        self._shares = shares
        self._clock = clock
        self._chance = chance
        self._observer = LlmObserver(metrics, tracer)
        try:
            self._store = store or make_store(llm.cache_path, llm.redis_url.get_secret_value())
            self._client = ModelClient(llm, clock.now)
        except (JournalError, ClientSettingsError) as error:
            raise GatewaySettingsError(str(error)) from error
        self._ledger = Accounting(
            llm, self._store, Budget(llm.budget_usd_per_day, self._store, clock, metrics), clock, self._observer
        )
        self._flights = SingleFlight()
        self._access: dict[str, ModelAccess] = {}

    async def aclose(self) -> None:
        """Closes connections and the journal."""
        await self._client.aclose()
        await self._ledger.aclose()
        await self._store.aclose()

    async def answer(self, need: AskModel) -> Replied:
        """The model's reply, from the journal where it stands there.

        Trouble is a value; cancellation passes through and leaves no call behind.
        """
        model = self._names.get(need.task) or self._llm.model
        limits = self._models.limits_of(model)
        if not model:
            return self._unavailable(need, "", "settings", "no model is named: set llm.model (ASSAY_LLM__MODEL)")
        if self._llm.budget_usd_per_day is not None and cost_of(limits, 0, 0) is None:
            problem = f"{model} has no prices in models.limits, so llm.budget_usd_per_day can't be kept"
            return self._unavailable(need, model, "settings", problem)
        asking = Asking(
            need,
            model,
            answer_key(need, model, self._llm.base_url),
            answer_key(replace(need, try_number=0), model, self._llm.base_url),
            limits,
            self._models.task(need.task),
            self._access_to(model),
            prompt_tokens_of(need),
        )
        return await self._flights.share(asking.key, lambda: self._recall_or_ask(asking))

    async def _recall_or_ask(self, asking: Asking) -> Replied:
        """What stands in the journal, else what the model says."""
        try:
            return await self._ledger.known(asking) or await self._ask(asking)
        except BoundReachedError as error:
            return self._unavailable(asking.need, asking.model, "budget", str(error))
        except JournalError as error:
            return self._unavailable(asking.need, asking.model, "journal", str(error)[:300])

    async def _ask(self, asking: Asking) -> Replied:
        """Asks until there is an answer, or no time or hope is left; what was booked is set right, whatever comes."""
        breaker = asking.access.breaker
        if (rest := breaker.pause()) is not None:
            return self._resting(asking, rest)
        try:
            await self._rest_before_a_try(asking)
            while True:
                entered = await self._enter(asking)
                if isinstance(entered, ModelUnavailable):
                    if asking.spoiled is not None:
                        return await self._stand_by(asking, asking.spoiled)
                    await self._ledger.settle(asking)
                    return entered
                try:
                    result = await self._call(asking, entered)
                    done = await self._judge(asking, result)
                finally:
                    breaker.leave(asking.question)
                if done is not None:
                    return done
        except BaseException:
            with contextlib.suppress(JournalError):
                await self._ledger.settle(asking)
            raise

    async def _enter(self, asking: Asking) -> ModelTurn | ModelUnavailable:
        """Waits for a turn, and books the costs of the call before it is made."""
        need, policy, breaker = asking.need, asking.policy, asking.access.breaker
        tokens = asking.prompt_tokens + asking.most_reply_tokens
        turn = await asking.access.limiter.turn(need.task, tokens, policy.patience_seconds - asking.waited)
        asking.waited += turn.waited
        allowed = asking.access.limiter.allowed(need.task)
        self._observer.waited(need.task, asking.model, turn.waited, turn.limited, allowed)
        if isinstance(turn, NoTurn):
            detail = f"{asking.model}: no turn within {policy.patience_seconds:g} s"
            refused = self._unavailable(need, asking.model, "limit", detail, turn.after_seconds)
            # Who comes back when half of the line has been served keeps it from running dry.
            soon = max(1.0, min(turn.after_seconds, policy.patience_seconds / 2))
            return refused if turn.resting else replace(refused, after_seconds=soon, busy=True)
        try:
            if (rest := breaker.enter(asking.question)) is not None:
                turn.over(0)
                return self._resting(asking, rest)
            if (after := await self._ledger.book(asking)) is not None:
                turn.over(0)
                breaker.leave(asking.question)
                return self._unavailable(need, asking.model, "budget", "the day's budget is spent", after)
        except BaseException:
            turn.over(0)
            breaker.leave(asking.question)
            raise
        return turn

    async def _call(self, asking: Asking, turn: ModelTurn) -> Answer | Failure:
        """One request, cut off at the deadline."""
        used: int | None = None
        began = self._clock.monotonic()
        asking.attempts += 1
        try:
            async with asyncio.timeout(asking.left):
                with self._observer.call(asking.need, asking.model) as span:
                    result = await self._client.ask(asking.need, asking.model, asking.limits)
                    self._observer.came(span, result.outcome, result.usage)
            if (usage := result.usage) is not None:
                used = usage.prompt_tokens + usage.completion_tokens
        except TimeoutError:
            result = Failure(Trouble.TIMEOUT, f"no answer within {asking.policy.deadline_seconds:g} s")
        except BaseException:
            asking.lost += 1
            raise
        finally:
            turn.over(used)
            took = self._clock.monotonic() - began
            asking.spent += took
            asking.latency += took
        self._observer.requested(asking.need.task, asking.model, result.outcome, took)
        return result

    async def _judge(self, asking: Asking, result: Answer | Failure) -> Replied | None:
        """What a request came to; None for another try."""
        breaker = asking.access.breaker
        if isinstance(result, Answer):
            asking.access.answered(asking.question)
            asking.access.limiter.stated(result.requests_per_minute, result.tokens_per_minute)
            if self._asks_once_more(asking, result.completion):
                return None
            return await self._ledger.keep(asking, result.completion)
        asking.access.last_cause = result.cause
        if asking.spoiled is not None:
            return await self._stand_by(asking, asking.spoiled, result)
        match result.kind:
            case Trouble.ADAPT if asking.adapted < _ADAPTATIONS:
                asking.adapted += 1
                log.warning("model refuses a parameter, asking without it", model=asking.model)
                return None
            case Trouble.LIMITED:
                return await self._limited(asking, result)
            case Trouble.SHUT:
                breaker.open(result.after_seconds)
                await self._ledger.settle(asking)
                return self._unavailable(asking.need, asking.model, "shut", result, result.after_seconds)
            case Trouble.REQUEST | Trouble.ADAPT:
                asking.access.answered(asking.question)
                return await self._ledger.failed(asking, CallOutcome.ERROR, result.detail)
        if result.kind is Trouble.TIMEOUT:
            asking.hung += 1
        elif result.kind is not Trouble.DOWN:
            asking.lost += 1
        # Cut off while connecting it would look like a model that is slow.
        room = self._llm.connect_seconds if result.kind is Trouble.DOWN else _LEAST_TRY_SECONDS
        if await self._may_try_again(asking, room):
            return None
        breaker.failed(asking.question)
        if result.kind is Trouble.DOWN or not breaker.closed:
            await self._ledger.settle(asking)
            return self._unavailable(asking.need, asking.model, "down", result, result.after_seconds)
        return await self._ledger.failed(asking, result.outcome, result.detail)

    def _asks_once_more(self, asking: Asking, completion: Completion) -> bool:
        """Whether a reply outside of the task's protocol is asked for once more, within its attempts and deadline."""
        if (
            asking.spoiled is not None
            or completion.outcome is not CallOutcome.OK
            or asking.need.task in REPEATS
            or keeps_to_protocol(asking.need, completion)
            or asking.attempts - asking.adapted >= asking.policy.attempts
            or asking.left <= _LEAST_TRY_SECONDS
        ):
            return False
        asking.spoiled, asking.spoiled_tokens = completion, asking.tokens_of(completion)
        asking.need = corrected(asking.need, completion)
        asking.prompt_tokens = prompt_tokens_of(asking.need)
        log.info("a reply outside of the protocol, asking once more", task=asking.need.task, model=asking.model)
        return True

    async def _stand_by(self, asking: Asking, spoiled: Completion, result: Failure | None = None) -> Replied:
        """Hands out the reply that was to be replaced; what came of the other request is paid all the same."""
        if result is not None and result.kind is Trouble.LIMITED:
            asking.access.limiter.pressed(self._backoff(1) if result.after_seconds is None else result.after_seconds)
        elif result is not None:
            asking.hung += result.kind is Trouble.TIMEOUT
            asking.lost += result.kind not in (Trouble.TIMEOUT, Trouble.DOWN)
        asking.spoiled_tokens = (0, 0)  # it is the reply now
        return await self._ledger.keep(asking, spoiled)

    async def _rest_before_a_try(self, asking: Asking) -> None:
        """Pauses before a later try of a question whose handler asks again itself, at its first message (R-148)."""
        need = asking.need
        if need.try_number > 1 and all(message.role in ("system", "user") for message in need.messages):
            pause = min(self._backoff(need.try_number - 1, least=0.5), asking.left / 2)
            await self._clock.sleep(pause)
            asking.spent += pause

    async def _limited(self, asking: Asking, result: Failure) -> Replied | None:
        """Everybody rests, as long as the server wishes; who may wait no longer is told so."""
        rest = self._backoff(asking.attempts) if result.after_seconds is None else result.after_seconds
        asking.access.limiter.pressed(rest)
        again = asking.attempts - asking.adapted < asking.policy.attempts
        if again and asking.waited + rest <= asking.policy.patience_seconds:
            return None
        if asking.access.refusals(asking.question) > _REFUSALS:
            return await self._ledger.failed(asking, CallOutcome.RATE_LIMITED, result.detail)
        await self._ledger.settle(asking)
        return self._unavailable(asking.need, asking.model, "limit", result, rest)

    async def _may_try_again(self, asking: Asking, room: float) -> bool:
        """Pauses before another try, with full jitter, where the deadline leaves room for one of so many seconds."""
        pause = self._backoff(asking.attempts)
        if (
            asking.attempts - asking.adapted >= asking.policy.attempts
            or asking.spent + pause + room >= asking.policy.deadline_seconds
        ):
            return False
        await self._clock.sleep(pause)
        asking.spent += pause
        return True

    def _backoff(self, attempts: int, least: float = 0.0) -> float:
        llm = self._llm
        return full_jitter(attempts, llm.first_backoff_seconds, llm.max_backoff_seconds, self._chance, least)

    def _resting(self, asking: Asking, rest: float) -> ModelUnavailable:
        detail = f"{asking.model} is left alone after failing, the last time with: {asking.access.last_cause}"
        return self._unavailable(asking.need, asking.model, "breaker", detail, rest)

    def _unavailable(
        self, need: AskModel, model: str, cause: Cause, why: str | Failure, after_seconds: float | None = None
    ) -> ModelUnavailable:
        """Nobody is asked; ``why`` is in our own words, or a request's failure that has a server's words too."""
        detail, known = (why.detail, why.cause) if isinstance(why, Failure) else (why, why)
        self._observer.unavailable(need.task, model, cause)
        if cause in ("settings", "journal"):
            log.error("no model can be asked", task=need.task, cause=cause, detail=known)
        return ModelUnavailable(detail, after_seconds, lasting=cause in ("shut", "settings"), cause=known)

    def _access_to(self, model: str) -> ModelAccess:
        if (access := self._access.get(model)) is None:
            limits = self._models.limits_of(model)
            access = ModelAccess(model, self._llm, limits, self._shares, self._clock, self._observer)
            self._access[model] = access
        return access
