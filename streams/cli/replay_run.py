"""Runs ``assay replay``: makes a plan and carries it out, or resumes one, with its progress."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry, make_asgi_app

from schemas.replays import ReplayPlan, ReplayState, ReplayTarget
from streams.cli.errors import run_with_kafka
from streams.cli.output import tell
from streams.cli.progress import ProgressLine
from streams.cli.run import stop_on_signals
from streams.http.server import HttpServer, PortTakenError
from streams.index.ports import IndexSettingsError
from streams.kafka.topics import create_topics
from streams.llm.journal import JournalError
from streams.replay.admission import begin, resolved
from streams.replay.plan import (
    ReplayError,
    ReplayRequest,
    ReplayTroubleError,
    make_plan,
    own_topics,
)
from streams.replay.plan_store import PlanStore
from streams.replay.ranges import Bound, count
from streams.replay.run import ReplayRun
from streams.replay.session import PlanSession, ReplayProgress
from streams.runtime.clock import SystemClock
from streams.runtime.process import freeze_gc
from streams.settings.model import Settings
from streams.telemetry.metrics import Metrics
from streams.telemetry.setup import configure_logs
from streams.views.amounts import in_money, in_time


class ReplayScreen:
    """Shows the progress of a replay on a progress line."""

    def __init__(self, line: ProgressLine) -> None:
        """Takes the line."""
        self._line = line
        self.last: ReplayProgress | None = None
        """The last progress that was shown."""

    def __call__(self, progress: ReplayProgress) -> None:
        """Shows the progress; called about twice a second."""
        self.last = progress
        notes = (
            in_money(progress.spent_usd) if progress.spent_usd else "",
            f"{progress.dead:,} dead" if progress.dead else "",
            f"{progress.members} processes" if progress.members > 1 else "",
            progress.note,
        )
        done = progress.total - progress.remaining
        self._line.set(progress.handler, done, progress.total, [note for note in notes if note])


_POLITE = 10
"""The niceness that a replay adds, so that live traffic on the same machine goes first."""

Bounds = tuple[Bound, Bound]
Work = Callable[[PlanSession], Awaitable[ReplayPlan]]
"""Carries a plan out."""


def run_replay(
    settings: Settings, request: ReplayRequest, bounds: Bounds, now: datetime, *, http: bool, as_json: bool
) -> int:
    """Makes a plan and carries it out.

    Returns:
        0 if it finished; 1 if it paused at its cost limit, and for trouble; 130 after Ctrl-C.

    Raises:
        ReplayError: The plan cannot be made, or cannot go on.
    """
    make_plan(request, settings, now)  # refuses wrong usage before Kafka is needed

    async def work(session: PlanSession) -> ReplayPlan:
        plan = await begin(settings, session.store, request, bounds, now)
        _warn_of_empty_ranges(plan)
        return await ReplayRun(session).run()

    return carry_out("replay", settings, request.plan, work, http=http, as_json=as_json)


async def preview(
    settings: Settings, other: Settings | None, request: ReplayRequest, bounds: Bounds, *, limit: int, as_json: bool
) -> int:
    """Estimates a plan; with another configuration, reports what that would change. Nothing is written."""
    from streams.cli.replay_reports import tell_diff, tell_estimate

    # A preview costs nothing, so it needs no cost limit.
    free = replace(request, max_cost_usd=request.max_cost_usd or 0.0)
    plan = make_plan(free, settings, datetime.now(UTC)).model_copy(update={"max_cost_usd": request.max_cost_usd})
    plan = await resolved(settings, plan, bounds)
    _warn_of_empty_ranges(plan)
    if other is None:
        return await tell_estimate(settings, plan, as_json)
    return await tell_diff(settings, other, plan, limit, as_json)


def carry_out(command: str, settings: Settings, name: str, work: Work, *, http: bool, as_json: bool) -> int:
    """Runs long work on a plan, with signals, metrics, progress and a summary."""
    configure_logs("warning", settings.logs.format)
    os.nice(_POLITE)
    try:
        return run_with_kafka(command, settings, _carry_out(command, settings, name, work, http=http, as_json=as_json))
    except (IndexSettingsError, PortTakenError, JournalError) as error:
        return tell(command, str(error), 1)


async def _carry_out(command: str, settings: Settings, name: str, work: Work, *, http: bool, as_json: bool) -> int:
    stop, began = stop_on_signals(), time.monotonic()
    if settings.kafka.create_topics:
        await create_topics(settings.kafka)
    metrics = Metrics(CollectorRegistry())
    plan: ReplayPlan | None = None
    async with AsyncExitStack() as open_now:
        if http:
            served = settings.http.model_copy(update={"enabled": True})
            server = await open_now.enter_async_context(HttpServer(make_asgi_app(metrics.registry), served))
            tell(command, f"metrics at http://{server.address}/metrics")
        store = await open_now.enter_async_context(PlanStore(settings, SystemClock()))
        freeze_gc()
        screen = ReplayScreen(open_now.enter_context(ProgressLine(command, "waiting for partitions")))
        try:
            plan = await work(PlanSession(settings, store, name, SystemClock(), metrics, stop, screen))
        finally:
            if plan is None and (last := store.plans.get(name)) is not None and not _is_refused(sys.exception()):
                # Whatever failed, the plan exists by now: print its name and its progress.
                _summarize(last, screen.last, time.monotonic() - began, as_json)
    _summarize(plan, screen.last, time.monotonic() - began, as_json)
    if plan.state is ReplayState.FINISHED:
        return 0
    return 130 if stop.is_set() else 1


def _is_refused(error: BaseException | None) -> bool:
    """Whether wrong usage stopped the command before it began anything."""
    return isinstance(error, ReplayError) and not isinstance(error, ReplayTroubleError)


def _summarize(plan: ReplayPlan, last: ReplayProgress | None, seconds: float, as_json: bool) -> None:
    done = last or ReplayProgress(plan.plan)
    topics = own_topics(plan)
    if as_json:
        counts = {"replayed": done.replayed, "passed_over": done.passed_over, "dead": done.dead}
        counts["deleted"] = _deleted(plan, done)
        remaining = 0 if plan.stage >= len(plan.stages) else None if last is None else last.remaining
        left = {"remaining": remaining, "cost_usd": done.spent_usd}
        where = {"plan": plan.plan, "run": plan.run, "state": plan.state, "detail": plan.detail}
        print(json.dumps(where | counts | left | {"seconds": round(seconds, 2), "topics": topics}))
        return
    counted = f"{done.replayed:,} replayed" + (f", {done.passed_over:,} passed over" if done.passed_over else "")
    counted += f", {done.dead:,} dead" if done.dead else ""
    counted += f", {in_money(done.spent_usd)}" if done.spent_usd else ""
    print(f"{plan.plan} is {plan.state}: {counted}, in {in_time(seconds)} here")
    if plan.detail:
        print(f"  {plan.detail}")
    if done.dead:
        print(f"  why they are dead: `assay dlq list --each --plan {plan.plan}`")
    if deleted := _deleted(plan, done):
        print(f"  {deleted:,} offsets were deleted (retention) before they could be read")
    if plan.state in (ReplayState.PAUSED, ReplayState.RUNNING):
        print(f"  continue with `assay replay resume {plan.plan}`")
    if plan.state is ReplayState.FINISHED and plan.target is ReplayTarget.SHADOW:
        print(f"  results: {', '.join(topics)}")


def _warn_of_empty_ranges(plan: ReplayPlan) -> None:
    """Warns of stages without records between the bounds, which are usually a mistake."""
    for stage in plan.stages:
        if not count(stage.ranges):
            tell("replay", f"warning: {stage.topic} has no records between --from and --to for {stage.handler}")


def _deleted(plan: ReplayPlan, done: ReplayProgress) -> int:
    return max(done.deleted, sum(count(stage.deleted) for stage in plan.stages))


def refused(command: str, error: ReplayError) -> int:
    """Prints why a replay is not made or does not go on; returns 1 for trouble and 2 for wrong usage."""
    return tell(command, str(error), 1 if isinstance(error, ReplayTroubleError) else 2)
