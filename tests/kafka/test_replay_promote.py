"""A finished shadow becomes live: its records are copied unchanged and once, however often the copying is stopped."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from aiokafka import ConsumerRecord
from prometheus_client import CollectorRegistry

from schemas.replays import ReplayPlan, ReplayState
from streams.replay import ranges
from streams.replay.admin import drop, plan_status
from streams.replay.pace import ReplayRate
from streams.replay.plan import ReplayError
from streams.replay.plan_store import PlanStore
from streams.replay.promote import promote
from streams.replay.session import PlanSession, ReplayProgress
from streams.replay.transitions import held_back, moved
from streams.runtime.clock import SystemClock
from streams.telemetry.metrics import Metrics
from streams.topology import REPLAYS
from tests.kafka.installation import SCORED, Installation, Installing, handlers_named, page, until
from tests.kafka.replays import planned, replayed

SHADOW = f"{SCORED}.replay.again"


@pytest.fixture
async def assay(installing: Installing) -> Installation:
    return await installing(handlers_named("score_page", "index_page", "classify_results"), [REPLAYS])


def session(
    assay: Installation,
    store: PlanStore,
    plan: str,
    stop: asyncio.Event | None = None,
    report: Callable[[ReplayProgress], None] = lambda _: None,
) -> PlanSession:
    metrics = Metrics(CollectorRegistry())
    return PlanSession(assay.settings, store, plan, SystemClock(), metrics, stop or asyncio.Event(), report)


async def promoted(
    assay: Installation,
    stop: asyncio.Event | None = None,
    report: Callable[[ReplayProgress], None] = lambda _: None,
    **more: Any,
) -> ReplayPlan:
    options: dict[str, Any] = {"readers_dedupe": False, "fetch": False} | more
    async with PlanStore(assay.settings, SystemClock()) as store:
        return await promote(session(assay, store, "again", stop, report), **options)


def in_order(records: list[ConsumerRecord]) -> list[tuple[Any, ...]]:
    """The records of each partition, in order."""
    return [(r.partition, r.key, r.value, r.headers) for r in sorted(records, key=lambda r: (r.partition, r.offset))]


async def test_a_shadow_is_copied_as_it_is_and_once(assay: Installation) -> None:
    await assay.feed([page(n) for n in range(40)])
    await replayed(assay.settings, "score_page", downstream=True)
    told: list[ReplayProgress] = []
    plan = await promoted(assay, report=told.append)
    assert plan.state is ReplayState.PROMOTED
    assert in_order(await assay.read(SCORED)) == in_order(await assay.read(SHADOW))
    assert await assay.read("documents.indexed.v1") == [], "the live index_page makes it of what is promoted"
    assert told[-1].replayed == 40
    with pytest.raises(ReplayError, match="is promoted"):
        await promoted(assay)
    assert len(await assay.read(SCORED)) == 40


async def test_stopped_promotion_resumes(assay: Installation) -> None:
    count = 1500
    await assay.feed([page(n) for n in range(count)])
    await replayed(assay.settings, "score_page")
    stop = asyncio.Event()
    stop.set()
    # It is asked to stop before its first look: what is in hand by then is copied.
    assert (await promoted(assay, stop)).state is ReplayState.PROMOTING
    plans = await asyncio.gather(promoted(assay), promoted(assay))
    assert [plan.state for plan in plans] == [ReplayState.PROMOTED] * 2
    assert Counter(record.key for record in await assay.read(SCORED)) == Counter(page(n)[0] for n in range(count))


async def test_only_what_is_finished_and_may_go_live_is_promoted(assay: Installation) -> None:
    with pytest.raises(ReplayError, match="no plan 'again'"):
        await promoted(assay)
    await planned(assay.settings, "classify_results")
    with pytest.raises(ReplayError, match="is planned, and only a finished one"):
        await promoted(assay)


async def test_readers_that_don_t_dedupe_and_indexes_are_asked_about(assay: Installation) -> None:
    await replayed(assay.settings, "classify_results")
    with pytest.raises(ReplayError, match=r"readers of results\.classified\.v1 .* --readers-dedupe"):
        await promoted(assay)
    assert (await promoted(assay, readers_dedupe=True)).state is ReplayState.PROMOTED
    await replayed(assay.settings, "index_page", plan="index")
    async with PlanStore(assay.settings, SystemClock()) as store:
        with pytest.raises(ReplayError, match="index_page writes to the index"):
            await promote(session(assay, store, "index"), readers_dedupe=True, fetch=False)


async def begun(assay: Installation) -> asyncio.Event:
    """A shadow of 40 pages, of which a promotion has begun to copy some, and was stopped."""
    await assay.feed([page(n) for n in range(40)])
    await replayed(assay.settings, "score_page")
    stop = asyncio.Event()
    stop.set()
    assert (await promoted(assay, stop)).state is ReplayState.PROMOTING
    return stop


async def test_a_promotion_that_comes_late_copies_nothing_again(
    assay: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, reached, gate = ranges.resolve_ranges, asyncio.Event(), asyncio.Event()

    async def held(*arguments: Any, **options: Any) -> Any:
        task = asyncio.current_task()
        if task is not None and task.get_name() == "late":
            reached.set()
            await gate.wait()
        return await real(*arguments, **options)

    monkeypatch.setattr("streams.replay.promote.resolve_ranges", held)
    await assay.feed([page(n) for n in range(40)])
    await replayed(assay.settings, "score_page")
    late = asyncio.create_task(promoted(assay), name="late")
    await reached.wait()
    assert (await promoted(assay)).state is ReplayState.PROMOTED
    gate.set()
    assert (await late).state is ReplayState.PROMOTED
    assert len(await assay.read(SCORED)) == 40
    async with PlanStore(assay.settings, SystemClock()) as store:
        assert store.plans["again"].state is ReplayState.PROMOTED


async def test_what_is_half_promoted_is_dropped_only_by_force(assay: Installation) -> None:
    await begun(assay)
    async with PlanStore(assay.settings, SystemClock()) as store:
        with pytest.raises(ReplayError, match="drop again --force"):
            await drop(assay.settings, store, "again")
        assert await drop(assay.settings, store, "again", force=True)
    with pytest.raises(ReplayError, match="no plan 'again'"):
        await promoted(assay)


async def test_promotion_stops_when_its_plan_is_dropped(assay: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams.replay.promote.ReplayRate", Standstill)
    await assay.feed([page(n) for n in range(40)])
    await replayed(assay.settings, "score_page")
    told: list[ReplayProgress] = []
    running = asyncio.create_task(promoted(assay, report=told.append))
    await until(lambda: told and told[-1].members)
    async with PlanStore(assay.settings, SystemClock()) as store:
        [account] = await plan_status(assay.settings, store.plans.values())
        assert account.members == 1
        with pytest.raises(ReplayError, match="1 work on the plan again"):
            await drop(assay.settings, store, "again", force=True)
        await store.change("again", lambda plan: plan and moved(plan, ReplayState.DROPPED))
    assert (await running).state is ReplayState.DROPPED
    assert await assay.read(SCORED) == []


class Standstill(ReplayRate):
    """A pace at which nothing is ever started."""

    def seconds(self) -> float:
        return 0.1


async def test_withheld_outputs_can_be_promoted_later(assay: Installation) -> None:
    listing = "".join(f'<li><a href="/deals/{n}">Deal {n} of the day, with a long title</a></li>' for n in range(40))
    content = {"url": "https://list.example/all", "title": "All", "content": "See", "html": f"<ul>{listing}</ul>"}
    batch = {"batchId": "b1", "query": "events in Aarhus next week", "retrievedContent": [content]}
    await assay.feed([(b"b1", json.dumps(batch).encode())], topic="retrieval.batches.v1")
    await replayed(assay.settings, "classify_results")
    stop = asyncio.Event()
    stop.set()
    await promoted(assay, stop, readers_dedupe=True)
    plan = await promoted(assay, readers_dedupe=True)
    assert plan.state is ReplayState.PROMOTED
    assert [live for _, live in held_back(plan)] == ["extraction.needed.v1"]
    assert await assay.read("extraction.needed.v1") == []
    with pytest.raises(ReplayError, match=r"but for extraction\.needed\.v1, which goes live with --fetch"):
        await promoted(assay, readers_dedupe=True)
    before = len(await assay.read("results.classified.v1"))
    plan = await promoted(assay, readers_dedupe=True, fetch=True)
    assert (plan.state, held_back(plan)) == (ReplayState.PROMOTED, [])
    assert len(await assay.read("extraction.needed.v1")) == 1
    assert len(await assay.read("results.classified.v1")) == before
