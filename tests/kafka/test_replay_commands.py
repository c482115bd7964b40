"""``assay replay`` as people and scripts use it: processes of their own, JSON at the end, signals."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest

from tests.kafka.installation import SCORED, Installation, installed, page, until
from tests.kafka.replays import assay_replay

pytestmark = pytest.mark.kafka
SHADOW = f"{SCORED}.replay.again"


@pytest.fixture
async def assay(kafka: str, topic_prefix: str) -> Installation:
    return await installed(kafka, topic_prefix)


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
    assert (await said(assay, "resume", "again"))[0] == 2, "there is nothing left"
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
