"""The way to one model: who may ask it when, and whether it is left alone."""

from __future__ import annotations

import structlog

from streams.clock import Clock
from streams.llm.breaker import ModelBreaker
from streams.llm.limits import Limiter
from streams.llm.observer import LlmObserver
from streams.llm.settings import LlmSettings, ModelLimits
from streams.llm.shares import Shares

log = structlog.get_logger(__name__)


class ModelAccess:
    """A model's limiter and breaker, and its last trouble."""

    def __init__(
        self,
        model: str,
        llm: LlmSettings,
        limits: ModelLimits,
        shares: Shares,
        clock: Clock,
        observer: LlmObserver,
    ) -> None:
        """Takes the model, what it takes from the whole fleet, and each task's share of that in this process."""
        self.limiter = Limiter(limits, shares.of, llm.window_margin, clock, shares.at_once, shares.beside)
        self.breaker = ModelBreaker(llm, clock.monotonic, self._turned)
        self.last_cause = ""
        """The last trouble without the server's own words, which may repeat somebody else's question."""
        self._model = model
        self._observer = observer
        observer.breaker(model, is_open=False)

    def _turned(self, opened: bool) -> None:
        self._observer.breaker(self._model, opened)
        if opened:
            log.warning("a model is left alone", model=self._model, last_trouble=self.last_cause)
        else:
            log.info("a model answers again", model=self._model)
