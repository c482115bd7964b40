"""``assay replay`` as people and scripts use it: JSON at the end, and signals during long work."""

import asyncio
import json
import signal
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import RecordsToDelete

from schemas.replays import ReplayPlan
from streams.kafka.clients import make_admin, opened
from streams.replay.plan_store import PlanStore
from streams.runtime.clock import SystemClock
from streams.topology import REPLAYS
from tests.kafka.installation import CRAWLED, SCORE_PAGE, SCORED, Installation, command, page, until
from tests.kafka.replays import assay_replay, planned

SHADOW = f"{SCORED}.replay.again"
INSTALLED = (SCORE_PAGE, [REPLAYS])


Said = Callable[..., Awaitable[tuple[int, Any]]]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    """Runs a short command in this process: exit status, and the last line of standard output as JSON."""

    async def run(assay: Installation, *arguments: str) -> tuple[int, Any]:
        status, out, _ = await command(assay.settings, capsys, "replay", *arguments, "--json")
        return status, last_line(out)

    return run


def last_line(out: str) -> Any:
    return json.loads(out.splitlines()[-1]) if out.strip() else None


async def worked(assay: Installation, *arguments: str) -> tuple[int, Any]:
    """The same of a command that works on a plan, as a process."""
    process = await assay_replay(assay.settings, *arguments)
    out, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, last_line(out.decode())


async def test_a_plan_from_its_beginning_to_its_end(assay: Installation, said: Said) -> None:
    await assay.feed([page(n) for n in range(50)])
    assert await said(assay, "list") == (0, {"plans": []})
    status, foreseen = await said(assay, "score_page", "--plan", "again", "--dry-run")
    assert (status, foreseen["plan"]) == (0, "again")
    assert await said(assay, "list") == (0, {"plans": []}), "a dry run leaves nothing behind"
    status, done = await worked(assay, "score_page", "--plan", "again")
    assert status == 0
    assert {name: done[name] for name in ("state", "replayed", "passed_over", "dead", "remaining", "cost_usd")} == {
        "state": "finished", "replayed": 50, "passed_over": 0, "dead": 0, "remaining": 0, "cost_usd": 0.0,
    }  # fmt: skip
    assert done["topics"][0] == SHADOW
    assert (await worked(assay, "score_page", "--plan", "again"))[0] == 2, "the name is taken"
    assert (await worked(assay, "resume", "again", "--rate", "7"))[0] == 2, "there is nothing left"
    assert (await said(assay, "show", "again"))[1]["entry"]["rate"] is None, "who is refused changes nothing"
    status, shown = await said(assay, "show", "again")
    assert (status, shown["handlers"], shown["entry"]["run"]) == (0, ["score_page"], done["run"])
    status, dropped = await said(assay, "drop", "again", "--yes")
    assert status == 0
    assert assay.prefix + SHADOW in dropped["deleted"]
    assert await said(assay, "list") == (0, {"plans": []})
    assert (await said(assay, "list", "--all"))[1]["plans"][0]["state"] == "dropped"
    assert (await said(assay, "show", "again"))[0] == 2


async def test_ctrl_c_pauses_and_cancel_ends(assay: Installation, said: Said) -> None:
    await assay.feed([page(n) for n in range(400)])
    process = await assay_replay(assay.settings, "score_page", "--plan", "again", "--rate", "10")

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
    status, done = await worked(assay, "resume", "again", "--rate", "5000")
    assert (status, done["state"], done["replayed"]) == (0, "finished", summary["remaining"])
    assert len(await assay.read(SHADOW)) == 400


async def test_plan_with_lost_offsets_fails_with_its_name(assay: Installation, said: Said) -> None:
    """A plan that has begun, and whose offsets the cluster does not know: exit 1, with its name and state."""
    plan = await planned(assay.settings, "score_page")

    def begun(newest: ReplayPlan | None) -> ReplayPlan:
        assert newest is not None
        return newest.model_copy(update={"stages": (newest.stages[0].model_copy(update={"begun": True}),)})

    async with PlanStore(assay.settings, SystemClock()) as store:
        await store.change("again", begun)
    status, told = await worked(assay, "resume", "again")
    assert (status, told["plan"], told["run"], told["state"]) == (1, "again", plan.run, "paused")
    assert "forgotten" in told["detail"]
    await assay.feed([(b"again", plan.to_json().replace(b'"planned"', b'"of a later version"'))], REPLAYS.name)
    assert (await worked(assay, "resume", "again"))[0] == 1
    assert len(await assay.read(REPLAYS.name)) == 5, "nothing is written over it"


async def test_range_with_deleted_records_is_refused(assay: Installation, said: Said) -> None:
    """Unless that is allowed; so is a replay whose records are deleted before it reads them."""
    await assay.feed([page(n) for n in range(60)])
    ends = await assay.ends()
    await delete(assay, 2)
    words = ("score_page", "--plan", "again", "--from", "0")
    for more, status in (((), 1), (("--dry-run",), 1), (("--to", "1"), 1), (("--dry-run", "--allow-missing"), 0)):
        process = await assay_replay(assay.settings, *words, *more, stderr=asyncio.subprocess.PIPE)
        _, err = await process.communicate()
        assert process.returncode == status
        counted = len(ends) if "--to" in more else 2 * len(ends)
        assert f"{counted} offsets of {CRAWLED} are deleted (retention): partition 0 from 0 to" in err.decode()
    assert await said(assay, "list") == (0, {"plans": []})
    left = sum(ends.values()) - 2 * len(ends)
    status, done = await worked(assay, *words, "--allow-missing")
    assert (status, done["replayed"]) == (0, left)
    await planned(assay.settings, "score_page", plan="late")
    await delete(assay, 3)
    status, done = await worked(assay, "resume", "late")
    assert (status, done["state"], done["replayed"], done["deleted"]) == (1, "finished", left - len(ends), len(ends))


async def delete(assay: Installation, before: int) -> None:
    """Deletes the records before an offset, in every partition."""
    async with opened(make_admin(assay.settings.kafka)) as admin:
        places = [TopicPartition(assay.prefix + CRAWLED, number) for number in await assay.ends()]
        await admin.delete_records({place: RecordsToDelete(before_offset=before) for place in places})
