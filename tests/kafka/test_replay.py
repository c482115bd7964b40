"""Replays on a real Kafka: a bounded part of a topic once more, into topics of their own, beside live traffic."""

from __future__ import annotations

import pytest

from schemas.replays import ReplayState
from streams.topology import HANDLERS
from tests.kafka.installation import SCORED, Installation, installed, page
from tests.kafka.replays import replayed
from tests.kafka.test_pipeline import ids

pytestmark = pytest.mark.kafka
SHADOW = f"{SCORED}.replay.again"


@pytest.fixture
async def assay(kafka: str, topic_prefix: str) -> Installation:
    return await installed(kafka, topic_prefix)


async def test_a_backfill_has_the_ids_of_live_traffic_and_leaves_it_alone(assay: Installation) -> None:
    await assay.feed([page(n) for n in range(60)], transactional=True)
    await assay.drain(*[h for h in HANDLERS if h.name == "score_page"])
    live = await assay.read(SCORED)
    committed = await assay.committed()
    plan = await replayed(assay.settings, "score_page")
    assert plan.state is ReplayState.FINISHED
    again = await assay.read(SHADOW)
    assert sorted(ids(again)) == sorted(ids(live))
    assert {record.partition for record in again} == {record.partition for record in live}
    assert {dict(record.headers)["assay_run"].decode() for record in again} == {plan.run}
    assert {dict(record.headers)["ce_type"].decode() for record in again} == {SCORED}
    assert len(await assay.read(SCORED)) == len(live)
    assert await assay.committed() == committed
