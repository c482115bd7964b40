"""A backfill that is killed repeatedly ends with exactly one result per input."""

import json
from collections import Counter

import pytest

from streams.replay.plan_store import PlanStore
from streams.runtime.clock import SystemClock
from streams.topology import REPLAYS
from streams.topology.topics import run_group
from tests.kafka.installation import CRAWLED, SCORED, Installation, Installing, page, until
from tests.kafka.replays import assay_replay

pytestmark = [pytest.mark.timeout(400), pytest.mark.slow]
PAGES = 2000
KILLS = 5
STEP = 150
"""Records that each process does at least before it is killed."""
SHADOW = f"{SCORED}.replay.backfill"


async def done(assay: Installation) -> int:
    """Offsets of the plan's group, over all partitions; 0 while there is no such plan."""
    async with PlanStore(assay.settings, SystemClock()) as store:
        plan = store.plans.get("backfill")
    return 0 if plan is None else sum((await assay.committed(run_group("score_page", plan))).values())


async def kill_in_the_middle(assay: Installation, *arguments: str) -> None:
    before = await done(assay)
    process = await assay_replay(assay.settings, *arguments)
    try:

        async def has_worked() -> bool:
            return await done(assay) >= before + STEP

        await until(has_worked, seconds=90)
        assert process.returncode is None, "it was done before it could be killed"
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_a_backfill_killed_five_times_has_every_result_once(installing: Installing) -> None:
    assay = await installing(topics=[REPLAYS], partitions=6)
    await assay.feed([page(n) for n in range(PAGES)])
    rate = "--rate=100"  # so slow that a starved machine can look five times before it is done
    await kill_in_the_middle(assay, "score_page", "--plan", "backfill", rate, "--no-give-way")
    for _ in range(KILLS - 1):
        await kill_in_the_middle(assay, "resume", "backfill", rate)
    assert await done(assay) < sum((await assay.ends(CRAWLED)).values())
    process = await assay_replay(assay.settings, "resume", "backfill", "--rate=5000")
    said, _ = await process.communicate()
    summary = json.loads(said)
    assert (process.returncode, summary["state"], summary["remaining"]) == (0, "finished", 0)
    results = await assay.read(SHADOW)
    assert len(results) == PAGES
    assert Counter(record.key for record in results) == Counter(page(n)[0] for n in range(PAGES))
    assert len({dict(record.headers)["ce_id"] for record in results}) == PAGES
    assert {dict(record.headers)["assay_run"].decode() for record in results} == {summary["run"]}
