"""The gateway's metrics. Without metrics, as in ``assay try``, nothing is counted."""

from __future__ import annotations

from contextlib import AbstractContextManager

from schemas.llm import CallOutcome
from schemas.needs import AskModel
from streams.llm.replies import Usage
from streams.telemetry.labels import Cause
from streams.telemetry.metrics import Metrics
from streams.telemetry.tracing import CallSpan, NoTracer, Tracer


class LlmObserver:
    """Counts requests, answers and what they cost."""

    def __init__(self, metrics: Metrics | None, tracer: Tracer | None = None) -> None:
        self._metrics = metrics
        self._tracer = tracer or NoTracer()

    def call(self, need: AskModel, model: str) -> AbstractContextManager[CallSpan]:
        """A span around a request, in the words of OpenTelemetry; of the prompt only how it was made."""
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

    def came(self, span: CallSpan, outcome: CallOutcome, usage: Usage | None) -> None:
        """What a request came to, for its span."""
        if usage is not None:
            used = {"input": usage.prompt_tokens, "output": usage.completion_tokens}
            span.note({f"gen_ai.usage.{way}_tokens": tokens for way, tokens in used.items()})
        if outcome is not CallOutcome.OK:
            span.failed(outcome)

    def requested(self, task: str, model: str, outcome: CallOutcome, seconds: float) -> None:
        """A request has ended."""
        if self._metrics is not None:
            self._metrics.llm_requests_total.labels(task, model, outcome).inc()
            self._metrics.llm_request_seconds.labels(task, model).observe(seconds)

    def waited(self, task: str, model: str, seconds: float, limited: float, allowed: float) -> None:
        """A question has waited for its turn, so much of it for the limits, at so many requests a minute."""
        if self._metrics is not None:
            self._metrics.llm_queue_seconds.labels(task, model).observe(seconds)
            self._metrics.llm_limit_seconds.labels(task, model).observe(limited)
            self._metrics.llm_allowed_requests_per_minute.labels(task, model).set(allowed)

    def used(self, task: str, model: str, prompt_tokens: int, completion_tokens: int, usd: float | None) -> None:
        """An answer was paid for."""
        if self._metrics is not None:
            self._metrics.llm_tokens_total.labels(task, model, "in").inc(prompt_tokens)
            self._metrics.llm_tokens_total.labels(task, model, "out").inc(completion_tokens)
        self.paid(task, model, usd)

    def paid(self, task: str, model: str, usd: float | None) -> None:
        """This was paid, also where no answer came. Without a price the cost is not known, which is not nothing."""
        if self._metrics is not None and usd is not None:
            self._metrics.llm_cost_usd_total.labels(task, model).inc(usd)

    def cached(self, task: str) -> None:
        """An answer was in the journal."""
        if self._metrics is not None:
            self._metrics.llm_cached_total.labels(task).inc()

    def offline(self, task: str, outcome: CallOutcome) -> None:
        """The offline judge has answered."""
        if self._metrics is not None:
            self._metrics.llm_offline_total.labels(task, outcome).inc()

    def unavailable(self, task: str, model: str, cause: Cause) -> None:
        """A question could not be asked."""
        if self._metrics is not None:
            self._metrics.llm_unavailable_total.labels(task, model, cause).inc()

    def breaker(self, model: str, is_open: bool) -> None:
        """A model is left alone, or asked again."""
        if self._metrics is not None:
            self._metrics.llm_breaker_open.labels(model).set(is_open)
