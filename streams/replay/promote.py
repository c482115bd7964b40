"""Promotes a finished plan: copies its records from the shadow topics to the live topics, each exactly once.

Only results of handlers that read live topics are copied. The live handlers make the rest from them, under the same
ids, without paying models again, because the journal has the answers. The pipeline does the copying, so a promotion can
be killed and resumed.
"""

from __future__ import annotations

from schemas.replays import ReplayPlan, ReplayState
from streams.pipeline.breaker import Breaker
from streams.replay.group import PlanGroup, StageReader
from streams.replay.pace import ReplayRate
from streams.replay.plan import check_readers
from streams.replay.processor import PromotionProcessor
from streams.replay.ranges import count, resolve_ranges
from streams.replay.session import PlanSession
from streams.replay.transitions import Copy, copies_of, promotable, promotion_finished, promotion_started
from streams.topology.names import replay_dead_letters, shadow_topic


async def promote(session: PlanSession, *, readers_dedupe: bool, fetch: bool) -> ReplayPlan:
    """Copies a finished plan's results to the live topics, or continues. Returns the plan; ``promoting`` if stopped.

    With ``readers_dedupe`` the operator confirms that readers of the live topics drop duplicate ids. With ``fetch``
    records are copied that cause requests to the web.

    Raises:
        ReplayError: The plan is not finished, can't be promoted, or needs another option.
        KafkaError: The cluster can't be reached.
    """
    plan = promotable(session.store.plans.get(session.name), session.name, fetch=fetch)
    session.run = plan.run
    if not readers_dedupe:
        check_readers([live for _, live in copies_of(plan, fetch=fetch)])
    done: set[Copy] = set()
    while True:
        left = [copy for copy in copies_of(plan, fetch=fetch) if copy not in done]
        if left:
            session.progress.stage, session.progress.stages = len(done), len(done) + len(left)
            plan = await _copy(session, plan, *left[0])
        else:
            plan = await session.change(lambda newest: promotion_finished(newest, done, session.progress.deleted))
        if plan.state is not ReplayState.PROMOTING:
            return plan
        if left:
            if session.stop.is_set() and (session.progress.remaining or len(left) > 1):
                return plan
            done.add(left[0])


async def _copy(session: PlanSession, plan: ReplayPlan, at: int, live: str) -> ReplayPlan:
    """Copies to one live topic until the end, or until it must stop. Returns the plan after that."""
    settings, progress, stage = session.settings, session.progress, plan.stages[at]
    ranges = await resolve_ranges(settings, shadow_topic(live, plan.plan), whole=True)
    group = PlanGroup.of_copy(settings.kafka, plan, stage, live, ranges)
    # In one transaction: a process that sees the started copy finds the offsets and does not set them back.
    plan = await session.change(lambda newest: promotion_started(newest, at, live), group.starts)
    if plan.state is not ReplayState.PROMOTING:
        return plan
    await group.await_start(session.clock)
    handler = group.subscription.handler
    work = PromotionProcessor(handler, live, replay_dead_letters(handler, plan.plan), session.clock)
    pace, breaker = ReplayRate(None, session.clock), Breaker(settings.processing.breaker, session.clock)
    progress.handler, progress.total = live, count(ranges)
    progress.remaining, copied = progress.total, progress.replayed
    async with StageReader(session, group, work, pace, breaker) as reader:
        while plan.state in (ReplayState.PROMOTING, ReplayState.PROMOTED):
            await reader.update_progress()
            progress.deleted += count(tuple(await reader.deleted()))
            progress.replayed = copied + work.copied
            session.report(progress)
            if session.stop.is_set() or not progress.remaining:
                break
            plan = await session.next_look(plan)
    return plan
