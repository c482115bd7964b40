"""Metrics and traces of calls of models. Commands like ``assay try`` have no metrics."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from schemas.llm import CallOutcome
from schemas.needs import AskModel
from streams.llm.replies import TokenUsage
from streams.telemetry.labels import Cause
from streams.telemetry.metrics import Metrics, unexposed_metrics
from streams.telemetry.tracing import CallSpan, NoTracer, Tracer

_FINISHED = {
    CallOutcome.OK: ("stop",),
    CallOutcome.TRUNCATED: ("length",),
    CallOutcome.REFUSED: ("content_filter",),
}
"""The finish reasons of outcomes that have one."""


class LlmObserver:
    """Counts requests, answers and costs."""

    def __init__(self, metrics: Metrics | None = None, tracer: Tracer | None = None) -> None:
        self._metrics = metrics or unexposed_metrics()
        self._tracer = tracer or NoTracer()

    def call(self, need: AskModel, model: str) -> AbstractContextManager[CallSpan]:
        """A span around a request, without the text of the prompt."""
        return self._tracer.call(
            f"chat {model}",
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": "openai",
                "gen_ai.request.model": model,
                "gen_ai.request.max_tokens": need.max_tokens,
                "gen_ai.request.temperature": need.temperature,
                "assay.task": need.task,
                "assay.prompt_version": need.prompt_version,
            },
        )

    def responded(self, span: CallSpan, outcome: CallOutcome, usage: TokenUsage | None) -> None:
        """Adds the outcome of a request to its span."""
        if usage is not None:
            used = {"input": usage.prompt_tokens, "output": usage.completion_tokens}
            span.note({f"gen_ai.usage.{way}_tokens": tokens for way, tokens in used.items()})
        if (finished := _FINISHED.get(outcome)) is not None:
            span.note({"gen_ai.response.finish_reasons": finished})
        if outcome is not CallOutcome.OK:
            span.failed(outcome)

    def requested(self, task: str, model: str, outcome: CallOutcome, seconds: float) -> None:
        """A request has ended."""
        self._metrics.llm_requests_total.labels(task, model, outcome).inc()
        self._metrics.llm_request_seconds.labels(task, model).observe(seconds)

    def waited(self, task: str, model: str, seconds: float, limited: float, allowed: float) -> None:
        """A question waited ``seconds`` in its queue, ``limited`` of them for ``allowed`` requests a minute."""
        self._metrics.llm_queue_seconds.labels(task, model).observe(seconds)
        self._metrics.llm_limit_seconds.labels(task, model).observe(limited)
        self._metrics.llm_allowed_requests_per_minute.labels(task, model).set(allowed)

    def used(self, task: str, model: str, prompt_tokens: int, completion_tokens: int, usd: float | None) -> None:
        """An answer was paid for."""
        self._metrics.llm_tokens_total.labels(task, model, "in").inc(prompt_tokens)
        self._metrics.llm_tokens_total.labels(task, model, "out").inc(completion_tokens)
        self.paid(task, model, usd)

    def paid(self, task: str, model: str, usd: float | None) -> None:
        """A question was paid, perhaps without an answer. None if the model has no price."""
        if usd is not None:
            self._metrics.llm_cost_usd_total.labels(task, model).inc(usd)

    def cached(self, task: str) -> None:
        """An answer came from the journal."""
        self._metrics.llm_cached_total.labels(task).inc()

    def offline(self, task: str, outcome: CallOutcome) -> None:
        """The offline judge answered."""
        self._metrics.llm_offline_total.labels(task, outcome).inc()

    def unavailable(self, task: str, model: str, cause: Cause) -> None:
        """No model could be asked a question."""
        self._metrics.llm_unavailable_total.labels(task, model, cause).inc()

    def breaker(self, model: str, is_open: bool) -> None:
        """The circuit breaker of a model opened or closed."""
        self._metrics.llm_breaker_open.labels(model).set(is_open)

    def budget(self, usd: float) -> None:
        """The day's budget is ``usd``."""
        self._metrics.llm_budget_usd.set(usd)

    def budget_left(self, usd: float, holds: Callable[[], bool]) -> None:
        """``usd`` of the day's budget are left; the value is exposed while ``holds()`` is true."""
        self._metrics.llm_budget_left_usd.set_while(usd, holds)
