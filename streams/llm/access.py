"""The way to one model: who may ask it when, and whether it is left alone."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from streams.clock import Clock
from streams.llm.breaker import ModelBreaker
from streams.llm.limits import Limiter
from streams.llm.observer import LlmObserver
from streams.llm.settings import LlmSettings, ModelLimits

log = structlog.get_logger(__name__)


class ModelAccess:
    """A model's limiter and breaker, and its last trouble."""

    def __init__(
        self,
        model: str,
        llm: LlmSettings,
        limits: ModelLimits,
        share: Callable[[str], float],
        clock: Clock,
        observer: LlmObserver,
    ) -> None:
        """Takes the model, what it takes from the whole fleet, and each task's share of that in this process."""
        self.limiter = Limiter(limits, share, llm.window_margin, clock)
        self.breaker = ModelBreaker(llm, clock.monotonic, self._turned)
        self.last_trouble = ""
        self._model = model
        self._observer = observer
        observer.breaker(model, is_open=False)

    def _turned(self, opened: bool) -> None:
        """The model is left alone, or asked again; why is told without the server's own words."""
        self._observer.breaker(self._model, opened)
        if opened:
            log.warning("a model is left alone", model=self._model, last_trouble=self.last_trouble.partition(":")[0])
        else:
            log.info("a model answers again", model=self._model)
