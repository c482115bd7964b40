"""A finished shadow becomes live: copied as it is, once, however often the copying is stopped."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from aiokafka import ConsumerRecord
from prometheus_client import CollectorRegistry

from schemas.replays import ReplayPlan, ReplayState
from streams.clock import SystemClock
from streams.replay.ledger import Ledger
from streams.replay.plan import ReplayError
from streams.replay.promote import promote
from streams.replay.run import Progress
from streams.telemetry.metrics import Metrics
from tests.kafka.installation import SCORED, Installation, installed, page
from tests.kafka.replays import planned, replayed

pytestmark = pytest.mark.kafka
SHADOW = f"{SCORED}.replay.again"


@pytest.fixture
async def assay(kafka: str, topic_prefix: str) -> Installation:
    return await installed(kafka, topic_prefix)


async def promoted(assay: Installation, stop: asyncio.Event | None = None, **more: Any) -> ReplayPlan:
    options: dict[str, Any] = {"readers_dedupe": False, "fetch": False} | more
    async with Ledger(assay.settings, SystemClock()) as ledger:
        return await promote(
            assay.settings,
            ledger,
            "again",
            SystemClock(),
            Metrics(CollectorRegistry()),
            stop or asyncio.Event(),
            **options,
        )


def in_order(records: list[ConsumerRecord]) -> list[tuple[Any, ...]]:
    """The records of each partition as they stand there."""
    return [(r.partition, r.key, r.value, r.headers) for r in sorted(records, key=lambda r: (r.partition, r.offset))]


async def test_a_shadow_is_copied_as_it_is_and_once(assay: Installation) -> None:
    await assay.feed([page(n) for n in range(40)])
    await replayed(assay.settings, "score_page", downstream=True)
    told: list[Progress] = []
    plan = await promoted(assay, tell=told.append)
    assert plan.state is ReplayState.PROMOTED
    assert in_order(await assay.read(SCORED)) == in_order(await assay.read(SHADOW))
    assert await assay.read("documents.indexed.v1") == [], "the live index_page makes it of what is promoted"
    assert told[-1].replayed == 40
    with pytest.raises(ReplayError, match="is promoted"):
        await promoted(assay)
    assert len(await assay.read(SCORED)) == 40


async def test_a_promotion_that_is_stopped_is_gone_on_with(assay: Installation) -> None:
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
    async with Ledger(assay.settings, SystemClock()) as ledger:
        with pytest.raises(ReplayError, match="index_page writes to the index"):
            await promote(
                assay.settings,
                ledger,
                "index",
                SystemClock(),
                Metrics(CollectorRegistry()),
                asyncio.Event(),
                readers_dedupe=True,
                fetch=False,
            )
