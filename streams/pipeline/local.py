"""Runs one handler outside of Kafka's pipeline: for commands, the query engine, MCP and programs.

Limits, retries in place, deadlines and judges are those of the pipeline. Nothing is imported or opened before the
handler needs it, so a command starts at once.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Self

from schemas.event import Event, Run
from schemas.needs import Ask, Need, SearchVectors
from schemas.outcome import Outcome, Retry
from schemas.replies import Reply, VectorsUnavailable
from streams.index.settings import has_collection
from streams.pipeline.breaker import ClosedBreaker
from streams.pipeline.handler_runner import AttemptResult, HandlerRunner, Services
from streams.runtime.backoff import Chance
from streams.runtime.clock import Clock, SystemClock
from streams.settings.model import Settings
from streams.topology import Handler, only_searches
from streams.training.model_files import make_ready
from streams.workers.handler_jobs import forked_pool
from streams.workers.pool import WorkerPool

if TYPE_CHECKING:
    from streams.pipeline.services import LiveServices


class LocalHandler:
    """One handler under one configuration. A retry is never delayed to a topic, and no breaker pauses it."""

    def __init__(
        self,
        settings: Settings,
        handler: Handler,
        services: Services,
        pool: WorkerPool | None = None,
        clock: Clock | None = None,
        chance: Chance = random.random,
    ) -> None:
        """Opens nothing; the caller owns services and pool. Without a pool the handler runs in this process.

        Raises:
            SettingsError: Sections of the configuration contradict each other, or its ranking trees cannot be used.
            ModuleNotFoundError: An extra that the handler needs is not installed.
        """
        for module in handler.preload:
            import_module(module)
        self.rules = settings.rules(handler.rules)
        if (model := getattr(self.rules, "ranking_model", None)) is not None:
            make_ready(model)
        self._forked: WorkerPool | None = None
        clock = clock or SystemClock()
        retries, breaker = settings.processing.retries, settings.processing.breaker
        self._runner = HandlerRunner(
            handler, self.rules, retries, services, clock, chance, ClosedBreaker(breaker, clock), pool=pool
        )

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        settings: Settings,
        handler: Handler,
        *,
        isolate: bool = True,
        searches_index: bool | None = None,
        before_services: Callable[[], None] = lambda: None,
    ) -> AsyncIterator[Self]:
        """A handler with services of its own, and with a child process that its first input starts.

        With ``isolate`` a handler that reads pages runs in a child process, under the limits of the settings. With
        ``searches_index`` the services use the index of the settings, and not an empty one in memory; None: they do for
        a handler that only searches. ``before_services`` is called before the services are opened; a command sets up
        its log here.
        """
        reads = only_searches([handler]) if searches_index is None else searches_index
        services = LazyServices(settings, reads, before_services)
        pool = forked_pool([(handler, settings.rules(handler.rules))], settings.workers) if isolate else None
        try:
            local = cls(settings, handler, services, pool)
            local._forked = pool
            yield local
        finally:
            await services.aclose()
            if pool is not None:
                await pool.stop()

    async def decide(self, event: Event) -> Outcome:
        """The outcome after all requests are answered; a ``Retry`` if the attempts in place were not enough."""
        return (await self.attempt(event)).outcome

    async def attempt(self, event: Event, record: Hashable = None, at_most: int | None = None) -> AttemptResult:
        """The outcome with the number of attempts; see ``HandlerRunner.finish``. May start the child process."""
        if self._forked is not None:
            await self._forked.start()
        return await self._runner.finish(event, None, record, at_most)

    async def decide_in_thread(self, event: Event) -> Outcome:
        """As ``decide``, for a caller whose event loop must not wait for the handler's own work."""
        first = await asyncio.to_thread(self._runner.decide, event)
        return (await self._runner.finish(event, first, None)).outcome if isinstance(first, Ask | Retry) else first


@dataclass(eq=False, repr=False)
class LazyServices:
    """The pipeline's services, imported and created when the handler first asks for one.

    With ``searches_index`` the index of the settings is read; otherwise an empty one in memory.
    """

    settings: Settings
    searches_index: bool
    before_open: Callable[[], None]
    _live: LiveServices | None = field(default=None, init=False)

    async def answer(self, need: Need, run: Run | None) -> Reply:
        if self.searches_index and isinstance(need, SearchVectors) and (missing := self._missing_index()):
            return VectorsUnavailable(missing)
        if self._live is None:
            from streams.pipeline.services import LiveServices

            self.before_open()
            settings = self.settings
            if not self.searches_index:
                index = settings.index.model_copy(update={"url": "", "path": None})
                settings = settings.model_copy(update={"index": index})
            self._live = LiveServices(settings, at_once=True)
        return await self._live.answer(need, run)

    async def aclose(self) -> None:
        if self._live is not None:
            await self._live.aclose()

    def _missing_index(self) -> str:
        """Why no index can be read; "" if there is one. Opening a missing index would create it."""
        index = self.settings.index
        if index.url or has_collection(index):
            return ""
        where = f"at {index.path.resolve()}" if index.path is not None else "in memory"
        return (
            f"there is no index {where}: name one with ASSAY_INDEX__PATH or ASSAY_INDEX__URL,"
            " or put candidates into the request"
        )
