"""What the gateway does, as metrics. Where there are none, as in ``assay try``, nothing is counted."""

from __future__ import annotations

from schemas.llm import CallOutcome
from streams.telemetry.labels import Cause
from streams.telemetry.metrics import Metrics


class LlmObserver:
    """Counts requests, answers and what they cost."""

    def __init__(self, metrics: Metrics | None) -> None:
        self._metrics = metrics

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
