"""The money of a day: booked before a call, set right after it, shared by all replicas and kept over restarts."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

import structlog

from streams.clock import Clock
from streams.llm.store import AnswerStore
from streams.telemetry.metrics import Metrics

log = structlog.get_logger(__name__)


class Budget:
    """Keeps a day's costs below a bound, as far as prices are known. A day is one of UTC."""

    def __init__(self, usd_per_day: float | None, store: AnswerStore, clock: Clock, metrics: Metrics | None) -> None:
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
            StoreError: Costs can't be kept, so none may arise.
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
