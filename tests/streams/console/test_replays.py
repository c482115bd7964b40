"""The screen ``replays``: plans, their progress, and their actions."""

import time
from collections.abc import Iterable, Iterator
from typing import Any, Self

import pytest

from schemas.replays import OffsetRange, ReplayPlan, ReplayStage, ReplayState
from streams.replay.admin import PlanStatus
from streams.replay.plan import ReplayError
from streams.replay.plan_store import PlanSession
from streams.settings.model import Settings
from tests.streams.console.consoles import AUTHORIZED, BEGAN, OWN, OwnConsole

ACTING = OWN | AUTHORIZED
STAGE = ReplayStage(
    handler="score_page",
    topic="pages.crawled.v1",
    ranges=(OffsetRange(partition=0, start=0, end=10),),
    config_version="v1",
    rewritten=("pages.scored.v1",),
)


def plan(name: str = "again", state: ReplayState = ReplayState.PAUSED, **more: Any) -> ReplayPlan:
    fields: dict[str, Any] = {"stages": (STAGE,), "created_at": BEGAN, "updated_at": BEGAN, "run": f"replay-{name}-1"}
    return ReplayPlan(plan=name, state=state, **(fields | more))


class KnownPlans:
    """A plan store in memory."""

    plans: dict[str, ReplayPlan] = {}  # noqa: RUF012 - a test sets it

    def __init__(self, *_: Any) -> None:
        return None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


async def status_of(settings: Settings, plans: Iterable[ReplayPlan]) -> list[PlanStatus]:
    del settings
    return [PlanStatus(its, 10, 4, 1, 0.25) for its in plans]


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> Iterator[OwnConsole]:
    monkeypatch.setattr("streams.console.replays.PlanStore", KnownPlans)
    monkeypatch.setattr("streams.console.replays.plan_status", status_of)
    plans = {
        "again": plan(detail="the bound of 1 USD is reached", max_cost_usd=1.0),
        "done": plan("done", ReplayState.FINISHED),
        "gone": plan("gone", ReplayState.DROPPED),
    }
    monkeypatch.setattr(KnownPlans, "plans", plans)
    its = OwnConsole()
    with its.served() as its.client:
        yield its


@pytest.fixture
def worked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was asked of the work on plans; the plan ``done`` can't be worked on."""
    asked: list[Any] = []

    async def run_plan(session: PlanSession, terms: dict[str, float]) -> None:
        asked.append(("resume", session.name, terms))
        if terms.get("max_cost_usd") == 9:
            await session.stop.wait()
        if session.name == "done":
            raise ReplayError("the plan <again> can't be resumed")

    async def cancel(settings: Settings, store: Any, name: str, clock: Any) -> None:
        del settings, store, clock
        asked.append(("cancel", name))

    for name, its in (("run_plan", run_plan), ("cancel", cancel)):
        monkeypatch.setattr(f"streams.console.replays.{name}", its)
    return asked


def test_plans_are_listed_with_progress_and_cost(console: OwnConsole) -> None:
    for path in ("/replays", "/replays/rows"):
        text = console.client.get(path).text
        assert '<a href="/replays/again" data-open>again</a>' in text
        assert '<progress max="10" value="6"' in text
        assert "$0.25" in text
        assert "gone" not in text


def test_a_plan_shows_its_stages_and_why_it_paused(console: OwnConsole) -> None:
    for path in ("/replays/again", "/replays/again/progress"):
        text = console.client.get(path).text
        assert "the bound of 1 USD is reached" in text
        assert "$0.25 of $1.00" in text
        assert "6 of 10" in text
    for name in ("gone", "nosuch"):
        assert console.client.get(f"/replays/{name}").status_code == 404


def test_actions_depend_on_the_state_and_the_token(console: OwnConsole) -> None:
    assert '<form method="post" action="/replays/' not in console.client.get("/replays/again").text
    text = console.client.get("/replays/again", headers=AUTHORIZED).text
    assert re_actions(text) == ["resume", "cancel"]
    text = console.client.get("/replays/done", headers=AUTHORIZED).text
    assert re_actions(text) == []


def re_actions(text: str) -> list[str]:
    return [part.split('"')[0].rpartition("/")[2] for part in text.split('method="post" action="/replays/')[1:]]


def test_a_plan_is_resumed_once_with_its_new_limit_and_cancelled(console: OwnConsole, worked: list[Any]) -> None:
    for _ in range(2):
        answer = console.client.post("/replays/again/resume", data={"max_cost": "9"}, headers=ACTING)
        assert (answer.status_code, answer.headers["location"]) == (303, "/replays/again")
    assert "runs here" in console.client.get("/replays/again").text
    assert worked == [("resume", "again", {"max_cost_usd": 9.0})]
    assert console.client.post("/replays/again/cancel", headers=ACTING).status_code == 303
    assert worked[1:] == [("cancel", "again")]


def test_a_failure_is_shown_with_the_plan(console: OwnConsole, worked: list[Any]) -> None:
    assert console.client.post("/replays/done/resume", headers=ACTING).status_code == 303
    wait_for(worked)
    assert worked == [("resume", "done", {})]
    assert "the plan &lt;again&gt; can&#39;t be resumed" in console.client.get("/replays/done").text


def wait_for(worked: list[Any]) -> None:
    """The work runs beside the requests."""
    until = time.monotonic() + 10
    while not worked and time.monotonic() < until:
        time.sleep(0.01)
