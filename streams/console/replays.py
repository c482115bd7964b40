"""The screen ``replays``: the plans, their progress and cost; resume and cancel.

The actions call what ``assay replay`` calls. A plan that is resumed here runs in this process, one task for
each plan, until it is done, or the console stops; any other process can continue it then.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import quote

import structlog
from aiokafka.errors import KafkaError
from prometheus_client import CollectorRegistry
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from schemas.replays import ReplayPlan, ReplayState
from streams.console.context import Context, Screen
from streams.index.ports import IndexSettingsError
from streams.kafka.topics import TopicsError
from streams.llm.journal import JournalError
from streams.replay.admin import PlanStatus, cancel, plan_status
from streams.replay.plan import UNFINISHED, ReplayError, existing
from streams.replay.plan_store import PlanSession, PlanStore
from streams.replay.processor import ReplayProgress
from streams.replay.run import run_plan
from streams.runtime.settings_files import SettingsError
from streams.telemetry.metrics import Metrics

log = structlog.get_logger(__name__)

_FAILURES = (ReplayError, KafkaError, JournalError, IndexSettingsError, TopicsError, SettingsError, OSError)
"""What the work on a plan can fail with; the screen shows it."""
_END_SECONDS = 20.0  # how long the console waits at its end for plans to pause


@dataclass(slots=True)
class _Running:
    """The work on a plan in this process, or why it failed."""

    stop: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    last: ReplayProgress | None = None
    problem: str = ""

    @property
    def at_work(self) -> bool:
        return self.task is not None and not self.task.done()

    def report(self, progress: ReplayProgress) -> None:
        self.last = progress


def routes(context: Context) -> list[Route]:
    replays, acting = _Replays(context), context.guard.acting
    return [
        Route("/replays", partial(replays.plans, "replays.html")),
        Route("/replays/rows", partial(replays.plans, "replays_rows.html")),
        Route("/replays/{plan}", partial(replays.plan, "replay.html")),
        Route("/replays/{plan}/progress", partial(replays.plan, "replay_progress.html")),
        Route("/replays/{plan}/resume", acting(replays.resume), methods=["POST"]),
        Route("/replays/{plan}/cancel", acting(replays.cancel), methods=["POST"]),
    ]


SCREEN = Screen("Replays", "/replays", "y", "plans, progress and cost", routes)


class _Replays:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._running: defaultdict[str, _Running] = defaultdict(_Running)
        context.resources.push_async_callback(self._stop)

    async def plans(self, template: str, request: Request) -> Response:
        """All plans, the newest first; with ``replays_rows.html`` the table, which the screen loads again."""
        statuses: list[PlanStatus] = []
        problem = ""
        try:
            shown = [plan for plan in (await self._plans()).values() if plan.state is not ReplayState.DROPPED]
            newest_first = sorted(shown, key=lambda plan: plan.created_at, reverse=True)
            statuses = await plan_status(self._context.settings, newest_first) if shown else []
        except KafkaError as error:
            problem = f"Kafka can't be read: {error}"
        running = {name for name, its in self._running.items() if its.at_work}
        return self._context.render(request, template, statuses=statuses, problem=problem, running=running)

    async def plan(self, template: str, request: Request) -> Response:
        """One plan; with ``replay_progress.html`` its progress, which the screen loads again."""
        name = request.path_params["plan"]
        plans = await self._plans()
        try:
            [status] = await plan_status(self._context.settings, [existing(plans.get(name), name)])
        except ReplayError as error:
            return self._context.missing(request, "No such replay", str(error))
        state, running = status.plan.state, self._running.get(name) or _Running()
        may: dict[str, Any] = {
            "may_resume": state in UNFINISHED,
            "may_cancel": state in UNFINISHED and state is not ReplayState.CANCELLED,
        }
        shown: dict[str, Any] = {"replay": status, "told": status.to_wire(), "running": running}
        return self._context.render(request, template, **shown, **may)

    async def resume(self, request: Request) -> Response:
        """Continues a plan in this process, unless this process already works on it: a second click does nothing."""
        name = request.path_params["plan"]
        async with request.form() as form:
            most = _amount(str(form.get("max_cost", "")))
        if not self._running[name].at_work:
            running = self._running[name] = _Running()
            work = self._work(name, running, {} if most is None else {"max_cost_usd": most})
            running.task = asyncio.create_task(work, name=f"replay {name}")
        return _back_to(name)

    async def cancel(self, request: Request) -> Response:
        name, settings = request.path_params["plan"], self._context.settings
        running = self._running[name]
        running.problem = ""
        try:
            async with PlanStore(settings, self._context.clock) as store:
                await cancel(settings, store, name, self._context.clock)
        except _FAILURES as error:
            running.problem = str(error)
        return _back_to(name)

    async def _work(self, name: str, running: _Running, terms: dict[str, float]) -> None:
        settings, clock = self._context.settings, self._context.clock
        metrics = Metrics(CollectorRegistry())
        try:
            async with PlanStore(settings, clock) as store:
                session = PlanSession(settings, store, name, clock, metrics, running.stop, running.report)
                await run_plan(session, terms)
        except _FAILURES as error:
            running.problem = str(error) or type(error).__name__
            log.warning("the console can't work on a replay", plan=name, error=running.problem)

    async def _stop(self) -> None:
        tasks = [running.task for running in self._running.values() if running.task is not None]
        for running in self._running.values():
            running.stop.set()
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_END_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _plans(self) -> dict[str, ReplayPlan]:
        async with PlanStore(self._context.settings, self._context.clock) as store:
            return dict(store.plans)


def _back_to(name: str) -> RedirectResponse:
    return RedirectResponse(f"/replays/{quote(name, safe='')}", 303)


def _amount(text: str) -> float | None:
    """An amount of a form; None for an empty field and for what is no amount."""
    return float(text) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text, re.ASCII) else None
