"""What handlers may ask for, provided: so far pages from the web."""

from __future__ import annotations

from schemas.outcome import Need, Reply
from streams.fetch.settings import FetchSettings
from streams.fetch.worker import FetchWorker
from streams.telemetry.metrics import Metrics


class LiveWorld:
    """Answers needs with the real thing. Made when the first need comes, so what nobody asks for costs nothing."""

    def __init__(self, settings: FetchSettings, metrics: Metrics | None = None) -> None:
        """Takes the settings of what may be asked for, and the metrics that count it."""
        self._settings = settings
        self._metrics = metrics
        self._fetcher: FetchWorker | None = None

    async def answer(self, need: Need) -> Reply:
        """The pages that were asked for, or why they did not come."""
        if self._fetcher is None:
            self._fetcher = FetchWorker(self._settings, metrics=self._metrics)
        return await self._fetcher.fetch(need)

    async def aclose(self) -> None:
        """Closes connections and caches."""
        fetcher, self._fetcher = self._fetcher, None
        if fetcher is not None:
            await fetcher.aclose()
