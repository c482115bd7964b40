"""Helpers for tests of replays: a plan as the command line makes it, run in this process."""

import asyncio
from asyncio.subprocess import Process
from datetime import UTC, datetime
from typing import Any

from prometheus_client import CollectorRegistry

from schemas.replays import ReplayPlan
from streams.clock import SystemClock
from streams.replay.admission import begin
from streams.replay.ledger import Ledger
from streams.replay.plan import ReplayRequest
from streams.replay.processor import ReplayProgress
from streams.replay.ranges import bounds_of
from streams.replay.run import ReplayRun
from streams.settings import Settings
from streams.telemetry.metrics import Metrics
from tests.kafka.installation import process


async def planned(
    settings: Settings,
    *handlers: str,
    plan: str = "again",
    start: str = "",
    end: str = "",
    since: str = "",
    **wishes: Any,
) -> ReplayPlan:
    """A plan in the ledger."""
    now = datetime.now(UTC)
    async with Ledger(settings, SystemClock()) as ledger:
        wanted = ReplayRequest(plan=plan, handlers=handlers, **wishes)
        return await begin(settings, ledger, wanted, bounds_of(start, end, since, now), now)


async def carried_out(
    settings: Settings, plan: str = "again", stop: asyncio.Event | None = None, **more: Any
) -> ReplayPlan:
    """A plan after this process has done what there was to do."""
    async with Ledger(settings, SystemClock()) as ledger:
        run = ReplayRun(
            settings, ledger, plan, SystemClock(), Metrics(CollectorRegistry()), stop or asyncio.Event(), **more
        )
        return await run.run()


async def replayed(settings: Settings, *handlers: str, plan: str = "again", **wishes: Any) -> ReplayPlan:
    """A plan, made and carried out."""
    await planned(settings, *handlers, plan=plan, **wishes)
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
