"""Helpers for tests of replays: a plan as the command line makes it, run in this process."""

import asyncio
from asyncio.subprocess import Process
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from prometheus_client import CollectorRegistry

from schemas.replays import ReplayPlan
from streams.replay.admin import create, resolved
from streams.replay.plan import ReplayRequest, make_plan
from streams.replay.plan_store import PlanSession, PlanStore
from streams.replay.processor import ReplayProgress
from streams.replay.ranges import bounds_of
from streams.replay.run import run_plan
from streams.runtime.clock import SystemClock
from streams.settings.model import Settings
from streams.telemetry.metrics import Metrics
from tests.kafka.installation import process


async def planned(
    settings: Settings,
    handler: str,
    *,
    plan: str = "again",
    start: str = "",
    end: str = "",
    since: str = "",
    **wishes: Any,
) -> ReplayPlan:
    """A plan in the store."""
    now = datetime.now(UTC)
    async with PlanStore(settings, SystemClock()) as store:
        wanted = ReplayRequest(plan=plan, handler=handler, **wishes)
        made = await resolved(settings, make_plan(wanted, settings, now), bounds_of(start, end, since, now))
        return await create(settings, store, made, now)


async def carried_out(
    settings: Settings,
    plan: str = "again",
    stop: asyncio.Event | None = None,
    *,
    report: Callable[[ReplayProgress], None] = lambda _: None,
    terms: Mapping[str, float] | None = None,
    metrics: Metrics | None = None,
) -> ReplayPlan:
    """A plan after this process has done what there was to do."""
    metrics = metrics or Metrics(CollectorRegistry())
    async with PlanStore(settings, SystemClock()) as store:
        session = PlanSession(settings, store, plan, SystemClock(), metrics, stop or asyncio.Event(), report)
        return await run_plan(session, terms)


async def replayed(settings: Settings, handler: str, *, plan: str = "again", **wishes: Any) -> ReplayPlan:
    """A plan, made and carried out."""
    await planned(settings, handler, plan=plan, **wishes)
    return await carried_out(settings, plan)


async def assay_replay(settings: Settings, *arguments: str, stderr: int = asyncio.subprocess.DEVNULL) -> Process:
    """``assay replay`` as a process of its own. For 6 s after a kill it is a member of its group."""
    return await process(settings, "replay", *arguments, "--json", stderr=stderr, kafka__session_timeout_seconds=6)


class Watched:
    """Keeps the reports of a run."""

    def __init__(self) -> None:
        self.notes: set[str] = set()
        self.last: ReplayProgress | None = None

    def __call__(self, progress: ReplayProgress) -> None:
        self.last = progress
        self.notes.add(progress.note)
