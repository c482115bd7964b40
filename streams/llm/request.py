"""One question to a model: deadline, patience, price, and the model's limiter and circuit breaker."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from schemas.needs import AskModel
from schemas.replies import ModelFailed, ModelReply
from streams.llm.journal import StoredAnswer, answer_key, reply_of
from streams.llm.limits import Limiter, Shares
from streams.llm.replies import Completion, Failure, FailureKind
from streams.llm.settings import LlmSettings, ModelLimits, TaskPolicy
from streams.runtime.breaker import CircuitBreaker
from streams.runtime.clock import Clock
from streams.telemetry.metrics import Metrics

log = structlog.get_logger(__name__)


_BYTES_PER_TOKEN = 4  # English has about 4 characters in a token
_WIDE = re.compile(r"[\u1100-\u11ff\u2e80-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff]+")
"""Ideographs, kana, hangul and their marks: about one token each."""
_TOKENS_PER_MESSAGE = 8


def cost_of(limits: ModelLimits, prompt_tokens: float, completion_tokens: float) -> float | None:
    """USD of a call; None if the model has no price.

    >>> cost_of(ModelLimits(price_in=0.5, price_out=2.0), 1000, 10)
    0.00052
    """
    if limits.price_in is None or limits.price_out is None:
        return None
    return (prompt_tokens * limits.price_in + completion_tokens * limits.price_out) / 1_000_000


def prompt_tokens_of(need: AskModel) -> int:
    texts = [message.content for message in need.messages]
    texts += [call.arguments for message in need.messages for call in message.tool_calls]
    texts += [f"{tool.description}{json.dumps(dict(tool.parameters))}" for tool in need.tools]
    return sum(map(tokens_of, texts)) + _TOKENS_PER_MESSAGE * len(need.messages)


def tokens_of(text: str) -> int:
    """Estimates the tokens of a text.

    >>> tokens_of("Health insurance in Taiwan"), tokens_of("全民健康保險")
    (6, 6)
    """
    wide = "".join(_WIDE.findall(text))
    narrow = len(text.encode("utf-8", "replace")) - len(wide.encode("utf-8", "replace"))
    return len(wide) + narrow // _BYTES_PER_TOKEN


_REMEMBERED_QUESTIONS = 1000


class ModelAccess:
    """The limiter and the circuit breaker of one model, and its last failure."""

    def __init__(
        self, model: str, llm: LlmSettings, limits: ModelLimits, shares: Shares, clock: Clock, metrics: Metrics
    ) -> None:
        self.limiter = Limiter(limits, shares, llm.window_margin, clock)
        self.breaker = CircuitBreaker(
            llm.breaker_failures,
            llm.breaker_first_seconds,
            llm.breaker_max_seconds,
            clock.monotonic,
            llm.breaker_window,
            llm.breaker_share,
        )
        self.breaker.listen(self._on_breaker_change)
        self.last_cause = ""
        """The last failure without the server's own words, which may repeat another caller's question."""
        self._model = model
        self._breaker_open = metrics.llm_breaker_open.labels(model)
        self._answers = 0
        self._refused: dict[str, tuple[int, int]] = {}
        self._breaker_open.set(False)

    def answered(self, question: str) -> None:
        self._answers += 1
        self.breaker.succeeded(question)

    def refusals(self, question: str) -> int:
        """Counts a refusal for lack of capacity; returns how many times others were answered between two of them.

        Otherwise a question that is too large by itself would look like an outage again and again.
        """
        times, answers = self._refused.pop(question, (0, -1))
        self._refused[question] = times + (self._answers > answers), self._answers
        if len(self._refused) > _REMEMBERED_QUESTIONS:
            del self._refused[next(iter(self._refused))]
        return self._refused[question][0]

    def _on_breaker_change(self) -> None:
        self._breaker_open.set(not self.breaker.closed)
        if self.breaker.closed:
            log.info("model circuit breaker closed", model=self._model)
        else:
            log.warning("model circuit breaker open", model=self._model, last_trouble=self.last_cause)


@dataclass(slots=True)
class Question:
    """One question and what its calls have used so far.

    Attributes:
        key: The key of its answer in the journal, also of the answer to the question with a correction.
        breaker_key: The same for all tries of the question, so the circuit breaker counts it once.
        prompt_tokens: An estimate.
        day: The day on which ``booked`` USD are booked ahead; "" if none are booked.
        spent: Used seconds of the deadline: calls, pauses between them, and waits for the journal.
        adapted: Requests after which the client left a parameter out.
        unanswered: Requests without an answer that may have been paid.
        timeouts: Requests cut off at the deadline; the server may still write the longest reply.
        rejected_reply: A reply outside the task's protocol, after which the question was asked once more.
        rejected_tokens: Tokens of the prompt and the reply of ``rejected_reply``, while the second request is open.
    """

    need: AskModel
    model: str
    server: str
    limits: ModelLimits
    policy: TaskPolicy
    access: ModelAccess
    key: str = field(init=False)
    breaker_key: str = field(init=False)
    prompt_tokens: int = field(init=False)
    day: str = ""
    booked: float = 0.0
    spent: float = 0.0
    latency: float = 0.0  # seconds of calls
    waited: float = 0.0  # used seconds of the patience
    attempts: int = 0
    adapted: int = 0
    unanswered: int = 0
    timeouts: int = 0
    rejected_reply: Completion | None = None
    rejected_tokens: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        self.key = answer_key(self.need, self.model, self.server)
        self.breaker_key = answer_key(replace(self.need, try_number=0), self.model, self.server)
        self.prompt_tokens = prompt_tokens_of(self.need)

    @property
    def left(self) -> float:
        return max(0.0, self.policy.deadline_seconds - self.spent)

    @property
    def attempts_left(self) -> bool:
        return self.attempts - self.adapted < self.policy.attempts

    @property
    def latency_ms(self) -> int:
        return round(self.latency * 1000)

    @property
    def most_reply_tokens(self) -> int:
        return self.need.max_tokens + self.limits.thinking_tokens

    def tokens_of(self, completion: Completion) -> tuple[int, int]:
        """Tokens of the prompt and of a reply: the server's count, else estimates."""
        if (usage := completion.usage) is None:
            return self.prompt_tokens, tokens_of(completion.text) + 1
        return usage.prompt_tokens, usage.completion_tokens

    def count_unanswered(self, failure: Failure) -> None:
        """Counts a request that may have been paid; none was sent if the server can't be reached."""
        self.timeouts += failure.kind is FailureKind.TIMEOUT
        self.unanswered += failure.kind not in (FailureKind.TIMEOUT, FailureKind.DOWN)

    def unbook(self) -> tuple[str, float]:
        """Takes the day and the USD that were booked ahead; the caller corrects the booking, once."""
        booked = self.day, self.booked
        self.day, self.booked = "", 0.0
        return booked

    def reply(self, answer: StoredAnswer, cost: float | None, **fields: Any) -> ModelReply | ModelFailed:
        attempts, took = self.attempts, self.latency_ms
        return reply_of(answer, self.need, self.model, attempts=attempts, latency_ms=took, cost_usd=cost, **fields)

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """USD of an answer and of the lost requests before it; None if the model has no price."""
        return cost_of(
            self.limits,
            prompt_tokens + (self.unanswered + self.timeouts) * self.prompt_tokens + self.rejected_tokens[0],
            completion_tokens + self.timeouts * self.most_reply_tokens + self.rejected_tokens[1],
        )
