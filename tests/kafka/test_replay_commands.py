"""``assay replay`` as people and scripts use it: processes of their own, JSON at the end, signals."""

from __future__ import annotations

import asyncio
import json
import signal
from typing import Any

import pytest

from schemas.replays import ReplayPlan
from streams.clock import SystemClock
from streams.replay.ledger import Ledger, NoLedgerError
from streams.topology import REPLAYS
from tests.kafka.installation import CRAWLED, SCORED, Installation, install, installed, page, until
from tests.kafka.replays import assay_replay, planned

pytestmark = pytest.mark.kafka
SHADOW = f"{SCORED}.replay.again"


@pytest.fixture
async def assay(kafka: str, topic_prefix: str) -> Installation:
    return await installed(kafka, topic_prefix, topics=[REPLAYS])


async def said(assay: Installation, *arguments: str) -> tuple[int | None, Any]:
    """Exit status, and the last line of standard output as JSON."""
    process = await assay_replay(assay.settings, *arguments)
    out, _ = await process.communicate()
    return process.returncode, json.loads(out.splitlines()[-1]) if out.strip() else None


async def test_a_plan_from_its_beginning_to_its_end(assay: Installation) -> None:
    await assay.feed([page(n) for n in range(50)])
    assert await said(assay, "list") == (0, {"plans": []})
    status, foreseen = await said(assay, "score_page", "--plan", "again", "--dry-run")
    assert (status, foreseen["plan"]) == (0, "again")
    assert await said(assay, "list") == (0, {"plans": []}), "a dry run leaves nothing behind"
    status, done = await said(assay, "score_page", "--plan", "again")
    assert status == 0
    assert {name: done[name] for name in ("state", "replayed", "passed_over", "dead", "remaining", "cost_usd")} == {
        "state": "finished", "replayed": 50, "passed_over": 0, "dead": 0, "remaining": 0, "cost_usd": 0.0,
    }  # fmt: skip
    assert done["topics"][0] == SHADOW
    assert (await said(assay, "score_page", "--plan", "again"))[0] == 2, "the name is taken"
    assert (await said(assay, "resume", "again", "--rate", "7"))[0] == 2, "there is nothing left"
    assert (await said(assay, "show", "again"))[1]["entry"]["rate"] is None, "who is refused changes nothing"
    status, shown = await said(assay, "show", "again")
    assert (status, shown["handlers"], shown["entry"]["run"]) == (0, ["score_page"], done["run"])
    status, promoted = await said(assay, "promote", "again")
    assert (status, promoted["state"], promoted["replayed"]) == (0, "promoted", 50)
    assert len(await assay.read(SCORED)) == 50
    status, dropped = await said(assay, "drop", "again", "--yes")
    assert status == 0
    assert assay.prefix + SHADOW in dropped["deleted"]
    assert await said(assay, "list") == (0, {"plans": []})
    assert (await said(assay, "list", "--all"))[1]["plans"][0]["state"] == "dropped"
    assert (await said(assay, "show", "again"))[0] == 2


async def test_ctrl_c_pauses_and_cancel_ends(assay: Installation) -> None:
    await assay.feed([page(n) for n in range(400)])
    process = await assay_replay(assay.settings, "score_page", "--plan", "again", "--rate", "50")

    async def has_results() -> bool:
        [plan] = (await said(assay, "list"))[1]["plans"] or [{"state": "", "remaining": 400}]
        return bool(plan["state"] == "running" and plan["remaining"] < plan["total"])

    await until(has_results)
    process.send_signal(signal.SIGINT)
    out, _ = await process.communicate()
    summary = json.loads(out)
    assert (process.returncode, summary["state"]) == (130, "paused")
    assert 0 < summary["remaining"] < 400
    assert summary["replayed"] == len(await assay.read(SHADOW)) == 400 - summary["remaining"]
    status, cancelled = await said(assay, "cancel", "again")
    assert (status, cancelled["state"], cancelled["remaining"]) == (0, "cancelled", summary["remaining"])
    status, done = await said(assay, "resume", "again", "--rate", "5000")
    assert (status, done["state"], done["replayed"]) == (0, "finished", summary["remaining"])
    assert len(await assay.read(SHADOW)) == 400


async def test_where_there_are_no_topics_there_are_no_plans(
    kafka: str, topic_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assay = Installation(install(kafka, topic_prefix))
    monkeypatch.setenv("ASSAY_KAFKA__CREATE_TOPICS", "false")
    assert await said(assay, "list") == (0, {"plans": []})
    assert await said(assay, "show", "again") == (1, None)
    assert await said(assay, "score_page") == (1, None)
    with pytest.raises(NoLedgerError, match=rf"no topic {topic_prefix}replays\.v1 .* `assay topics create`"):
        async with Ledger(assay.settings, SystemClock()):
            pass


async def test_what_can_t_go_on_is_trouble_and_says_which_plan(assay: Installation) -> None:
    """A plan that has begun, and whose offsets the cluster does not know: exit 1, with its name and state."""
    plan = await planned(assay.settings, "score_page")

    def begun(newest: ReplayPlan | None) -> ReplayPlan:
        assert newest is not None
        return newest.model_copy(update={"stages": (newest.stages[0].model_copy(update={"begun": True}),)})

    async with Ledger(assay.settings, SystemClock()) as ledger:
        await ledger.change("again", begun)
    status, told = await said(assay, "resume", "again")
    assert (status, told["plan"], told["run"], told["state"]) == (1, "again", plan.run, "paused")
    assert "forgotten" in told["detail"]


async def test_where_nothing_stands_between_the_bounds_that_is_told(assay: Installation) -> None:
    await assay.feed([page(n) for n in range(5)])
    for more in (["--dry-run"], []):
        process = await assay_replay(
            assay.settings, "score_page", "--plan", "again", "--from", "1000", *more, stderr=asyncio.subprocess.PIPE
        )
        out, err = await process.communicate()
        assert process.returncode == 0
        assert f"warning: nothing stands on {CRAWLED} between --from and --to, for score_page" in err.decode()
        assert json.loads(out.splitlines()[-1])["plan"] == "again"
