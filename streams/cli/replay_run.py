"""Runs ``assay replay``: makes a plan and carries it out, or resumes or promotes one, with its progress."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

from prometheus_client import CollectorRegistry, make_asgi_app
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn

from schemas.replays import ReplayPlan, ReplayState, ReplayTarget
from streams.cli.errors import run_with_kafka
from streams.cli.output import in_money, in_rate, in_time, tell
from streams.cli.run import stop_on_signals
from streams.clock import SystemClock
from streams.http import HttpServer, PortTakenError
from streams.index.ports import IndexSettingsError
from streams.kafka.topics import create_topics
from streams.llm.journal import JournalError
from streams.process import freeze_gc
from streams.replay.admission import begin, resolved
from streams.replay.plan import (
    ReplayError,
    ReplayRequest,
    ReplayTroubleError,
    handler_of,
    is_root,
    make_plan,
    replay_dead_letters,
    shadow_topic,
)
from streams.replay.plan_store import PlanStore
from streams.replay.promote import promote
from streams.replay.ranges import Bound, bounds_of, count
from streams.replay.run import ReplayRun
from streams.replay.session import PlanSession, ReplayProgress
from streams.replay.transitions import held_back
from streams.settings import Settings
from streams.telemetry.metrics import Metrics
from streams.telemetry.setup import configure_logs

_LINE_SECONDS = 5.0
_SPEED_SECONDS = 15.0
"""What is averaged over for the speed."""


class ReplayScreen:
    """Shows how far a replay has come, on standard error: ``with``."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Takes the clock for the speed."""
        self._speed = Speed(monotonic)
        self._monotonic = monotonic
        self._next_line = 0.0
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self.last: ReplayProgress | None = None
        """What was shown last."""

    def __enter__(self) -> Self:
        """Shows the bar, where there is a terminal."""
        if sys.stderr.isatty():
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TextColumn("{task.fields[tail]}"),
            )
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("waiting for partitions", total=None, tail="")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Takes the bar away."""
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, standing: ReplayProgress) -> None:
        """Shows it; called about twice a second."""
        self.last = standing
        self._speed.saw((standing.handler, standing.stage), standing.remaining)
        done, tail = standing.total - standing.remaining, tail_of(standing, self._speed)
        if self._bar is not None and self._task is not None:
            self._bar.update(
                self._task, description=name_of(standing), total=standing.total or None, completed=done, tail=tail
            )
        elif self._monotonic() >= self._next_line:
            self._next_line = self._monotonic() + _LINE_SECONDS
            share = f" ({done / standing.total:.0%})" if standing.total else ""
            print(f"{name_of(standing)}: {done:,} of {standing.total:,}{share}, {tail}", file=sys.stderr, flush=True)


class Speed:
    """Records a second, over the last moments of a stage."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        """Takes the clock."""
        self._monotonic = monotonic
        self._stage: object = None
        self._seen: deque[tuple[float, int]] = deque()

    def saw(self, stage: object, remaining: int) -> None:
        """So many are left now."""
        if stage != self._stage:
            self._stage = stage
            self._seen.clear()
        now = self._monotonic()
        self._seen.append((now, remaining))
        while self._seen[0][0] < now - _SPEED_SECONDS:
            self._seen.popleft()

    @property
    def per_second(self) -> float:
        """Records a second; 0 before it is known."""
        if len(self._seen) < 2:
            return 0.0
        (began, before), (now, after) = self._seen[0], self._seen[-1]
        return max(0, before - after) / (now - began) if now > began else 0.0


def name_of(standing: ReplayProgress) -> str:
    """The handler, and which stage of how many it is."""
    return standing.handler if standing.stages == 1 else f"{standing.handler} {standing.stage + 1}/{standing.stages}"


def tail_of(standing: ReplayProgress, speed: Speed) -> str:
    """Speed, time left, cost, and what holds it up."""
    rate = speed.per_second
    parts = [f"{in_rate(rate)}/s"]
    if rate > 0 and standing.remaining:
        parts.append(f"{in_time(standing.remaining / rate)} left")
    if standing.spent_usd:
        parts.append(in_money(standing.spent_usd))
    if standing.dead:
        parts.append(f"{standing.dead:,} dead")
    if standing.members > 1:
        parts.append(f"{standing.members} processes")
    return ", ".join([*parts, *([standing.note] if standing.note else [])])


_POLITE = 10
"""How much of its priority the process gives up: on one machine live traffic goes first."""

Carried = Callable[[PlanSession], Awaitable[ReplayPlan]]
"""Carries a plan out, or promotes it."""


def run_replay(
    settings: Settings,
    wishes: ReplayRequest,
    start: str,
    end: str,
    since: str,
    *,
    dry_run: bool = False,
    other: Settings | None = None,
    limit: int = 50,
    http: bool = False,
    as_json: bool = False,
) -> int:
    """Makes a plan and carries it out, or only says what it would do.

    Args:
        settings: The configuration; a Kafka is named in it. The handlers decide under it.
        wishes: What the operator asks for.
        start: ``--from``.
        end: ``--to``.
        since: ``--since``.
        dry_run: Only estimate what it takes.
        other: Only compare with the decisions under this configuration.
        limit: Differences that are shown in full.
        http: Serve metrics while it runs.
        as_json: End with one object.

    Returns:
        0 when finished; 1 when paused at the bound of its costs, or for trouble; 2 for wrong usage; 130 after Ctrl-C.
    """
    now = datetime.now(UTC)
    try:
        bounds = bounds_of(start, end, since, now)
        if dry_run or other is not None:
            # Nothing is paid for, so there needn't be a bound yet.
            free = replace(wishes, max_cost_usd=wishes.max_cost_usd or 0.0)
            plan = make_plan(free, settings, now).model_copy(update={"max_cost_usd": wishes.max_cost_usd})
            return run_with_kafka("replay", settings, _told(_foretell(settings, other, plan, bounds, limit, as_json)))
        make_plan(wishes, settings, now)
    except ReplayError as error:
        return refused("replay", error)

    async def carried(session: PlanSession) -> ReplayPlan:
        plan = await begin(settings, session.store, wishes, bounds, now)
        _warn_of_nothing(plan)
        return await ReplayRun(session).run()

    return _carry("replay", settings, wishes.plan, carried, http, as_json)


def run_resume(
    settings: Settings, name: str, max_cost_usd: float | None, rate: float | None, http: bool, as_json: bool
) -> int:
    """Goes on with a plan, or shares it with the processes that work on it.

    Args:
        settings: The configuration; the one that the plan was made under.
        name: The plan's.
        max_cost_usd: What it may cost in all from now on; as before where None.
        rate: Records a second from now on; as before where None.
        http: Serve metrics while it runs.
        as_json: End with one object.

    Returns:
        As ``run_replay``.
    """
    wanted = {"max_cost_usd": max_cost_usd, "rate": rate}
    terms = {name: value for name, value in wanted.items() if value is not None}

    async def carried(session: PlanSession) -> ReplayPlan:
        return await ReplayRun(session, terms).run()

    return _carry("replay resume", settings, name, carried, http, as_json)


def run_promote(settings: Settings, name: str, readers_dedupe: bool, fetch: bool, as_json: bool) -> int:
    """Copies a finished plan's results to the live topics, each once; an earlier try is gone on with.

    Returns:
        0 when all are; 1 for trouble; 2 for a plan that can't be promoted; 130 after Ctrl-C.
    """

    async def carried(session: PlanSession) -> ReplayPlan:
        return await promote(session, readers_dedupe=readers_dedupe, fetch=fetch)

    return _carry("replay promote", settings, name, carried, False, as_json)


async def _foretell(
    settings: Settings,
    other: Settings | None,
    plan: ReplayPlan,
    bounds: tuple[Bound, Bound],
    limit: int,
    as_json: bool,
) -> int:
    plan = await resolved(settings, plan, bounds)
    _warn_of_nothing(plan)
    if other is None:
        from streams.cli.replay_reports import tell_estimate

        return await tell_estimate(settings, plan, as_json)
    if not all(is_root(stage) for stage in plan.stages):
        raise ReplayError("--diff compares handlers that read live topics: leave --downstream out, one at a time")
    from streams.cli.replay_reports import tell_diff

    return await tell_diff(settings, other, plan, limit, as_json)


async def _told(work: Any) -> int:
    try:
        return int(await work)
    except ReplayError as error:
        return refused("replay", error)


def _carry(command: str, settings: Settings, name: str, carried: Carried, http: bool, as_json: bool) -> int:
    """Does long work on a plan: with signals, metrics, a bar, and a summary."""
    configure_logs("warning", settings.logs.format)
    os.nice(_POLITE)
    return run_with_kafka(command, settings, _carried(command, settings, name, carried, http, as_json))


async def _carried(command: str, settings: Settings, name: str, carried: Carried, http: bool, as_json: bool) -> int:
    stop, began = stop_on_signals(), time.monotonic()
    if settings.kafka.create_topics:
        await create_topics(settings.kafka)
    metrics = Metrics(CollectorRegistry())
    screen, plan = ReplayScreen(), None
    try:
        async with AsyncExitStack() as open_now:
            if http:
                served = settings.http.model_copy(update={"enabled": True})
                server = await open_now.enter_async_context(HttpServer(make_asgi_app(metrics.registry), served))
                tell(command, f"metrics at http://{server.address}/metrics")
            store = await open_now.enter_async_context(PlanStore(settings, SystemClock()))
            freeze_gc()
            open_now.enter_context(screen)
            try:
                plan = await carried(PlanSession(settings, store, name, SystemClock(), metrics, stop, screen))
            finally:
                if plan is None and (last := store.plans.get(name)) is not None and not _is_refused(sys.exception()):
                    # Whatever went wrong, there is a plan by now: its name, and how far it has come.
                    _summarize(last, screen.last, time.monotonic() - began, as_json)
    except ReplayError as error:
        return refused(command, error)
    except (IndexSettingsError, PortTakenError, JournalError) as error:
        tell(command, str(error))
        return 1
    _summarize(plan, screen.last, time.monotonic() - began, as_json)
    if plan.state in (ReplayState.FINISHED, ReplayState.PROMOTED):
        return 0
    return 130 if stop.is_set() else 1


def _is_refused(error: BaseException | None) -> bool:
    """Whether nothing was begun, for it was asked for wrongly."""
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
        print(
            json.dumps(
                where | counts | left | {"seconds": round(seconds, 2), "topics": topics, "held_back": held_topics(plan)}
            )
        )
        return
    what = "copied" if plan.state in (ReplayState.PROMOTING, ReplayState.PROMOTED) else "replayed"
    counted = f"{done.replayed:,} {what}" + (f", {done.passed_over:,} passed over" if done.passed_over else "")
    counted += f", {done.dead:,} dead" if done.dead else ""
    counted += f", {in_money(done.spent_usd)}" if done.spent_usd else ""
    print(f"{plan.plan} is {plan.state}: {counted}, in {in_time(seconds)} here")
    if plan.detail:
        print(f"  {plan.detail}")
    if done.dead:
        print(f"  why they are dead: `assay dlq list --each --plan {plan.plan}`")
    if deleted := _deleted(plan, done):
        print(f"  {deleted:,} offsets were deleted (retention) before they could be read")
    if back := held_topics(plan):
        print(f"  held back: {', '.join(back)}; `assay replay promote {plan.plan} --fetch` makes that live too")
    if plan.state in (ReplayState.PAUSED, ReplayState.RUNNING):
        print(f"  go on with `assay replay resume {plan.plan}`")
    if plan.state is ReplayState.PROMOTING:
        print(f"  go on with `assay replay promote {plan.plan}`")
    if plan.state is ReplayState.FINISHED and plan.target is ReplayTarget.SHADOW:
        print(f"  results: {', '.join(topics)}; `assay replay promote {plan.plan}` makes them live")


def _warn_of_nothing(plan: ReplayPlan) -> None:
    """Says where nothing stands between the bounds, which is more often a slip than what somebody wants."""
    for stage in plan.stages:
        if is_root(stage) and not count(stage.ranges):
            tell("replay", f"warning: nothing stands on {stage.topic} between --from and --to, for {stage.handler}")


def _deleted(plan: ReplayPlan, done: ReplayProgress) -> int:
    return max(done.deleted, sum(count(stage.deleted) for stage in plan.stages))


def refused(command: str, error: ReplayError) -> int:
    """Tells why a replay is not made or does not go on; 1 where the world keeps it from that, 2 for what was asked."""
    tell(command, str(error))
    return 1 if isinstance(error, ReplayTroubleError) else 2


def held_topics(plan: ReplayPlan) -> list[str]:
    """Live topics to which a promoted plan's results were not copied, for somebody would fetch what they name."""
    if plan.state is not ReplayState.PROMOTED:
        return []
    return list(dict.fromkeys(live for _, live in held_back(plan)))


def own_topics(plan: ReplayPlan) -> list[str]:
    """The topics that hold a plan's results, before the prefix; those of its dead letters come last."""
    live = plan.target is ReplayTarget.LIVE
    results = (name if live else shadow_topic(name, plan.plan) for stage in plan.stages for name in stage.rewritten)
    letters = (replay_dead_letters(handler_of(stage), plan.plan) for stage in plan.stages)
    return list(dict.fromkeys([*results, *letters]))
