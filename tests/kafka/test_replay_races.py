"""Several processes on one plan, in unfavourable orders: none starts over, skips, or undoes another one's work."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError, UnknownError

from schemas.replays import ReplayPlan, ReplayState
from streams.kafka.clients import make_producer, opened
from streams.kafka.transactions import transactional_id
from streams.replay.admin import drop, make_shadow
from streams.replay.plan import moved
from streams.replay.plan_store import PlanStore
from streams.runtime.clock import SystemClock
from streams.topology import REPLAYS
from streams.topology.topics import run_group
from tests.kafka.installation import CRAWLED, SCORED, Installation, handlers_named, page
from tests.kafka.replays import carried_out, planned

SHADOW = f"{SCORED}.replay.again"
INSTALLED = (handlers_named("score_page", "index_page"), [REPLAYS])


@asynccontextmanager
async def open_store(assay: Installation) -> AsyncIterator[PlanStore]:
    async with PlanStore(assay.settings, SystemClock()) as store:
        yield store


class Gate:
    """Holds the task called ``late`` up, when it has read the plan and before it works on it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, before: Callable[..., Awaitable[Any]] = make_shadow) -> None:
        self.open = asyncio.Event()
        self.reached = asyncio.Event()
        real = before

        async def held(*arguments: Any) -> Any:
            task = asyncio.current_task()
            if task is not None and task.get_name() == "late":
                self.reached.set()
                await self.open.wait()
            return await real(*arguments)

        monkeypatch.setattr(f"streams.replay.run.{before.__name__}", held)


async def test_process_that_joins_a_stage_late_does_not_reset_it(
    assay: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    await assay.feed([page(n) for n in range(60)])
    await planned(assay.settings, "score_page")
    late = asyncio.create_task(carried_out(assay.settings), name="late")
    await gate.reached.wait()
    assert (await carried_out(assay.settings)).state is ReplayState.FINISHED
    gate.open.set()
    assert (await late).state is ReplayState.FINISHED
    assert len(await assay.read(SHADOW)) == 60


async def test_drop_fences_the_processes_of_the_plan(assay: Installation) -> None:
    await assay.feed([page(n) for n in range(12)])
    await planned(assay.settings, "score_page")
    plan = await carried_out(assay.settings)
    place = TopicPartition(assay.prefix + CRAWLED, 0)
    zombie = make_producer(
        assay.settings.kafka, transactional_id(assay.prefix + run_group("score_page", plan), place), "zombie"
    )
    async with opened(zombie):
        await zombie.begin_transaction()
        async with open_store(assay) as store:
            await drop(assay.settings, store, "again")
        with pytest.raises(Exception, match=r"(?i)fenced|epoch"):
            await zombie.send_and_wait(assay.prefix + SCORED, b"too late", partition=0)
    assert await assay.read(SCORED) == []


@pytest.mark.parametrize("committed", [True, False])
async def test_a_plan_change_whose_commit_fails_reads_again(
    assay: Installation, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    """The broker answers with its error without a name, and aiokafka's sender ends of it."""
    await planned(assay.settings, "score_page")
    commits = 0

    def doubtful(*arguments: Any) -> Any:
        producer = make_producer(*arguments)
        commit = producer.commit_transaction

        async def fails_once() -> None:
            nonlocal commits
            commits += 1
            if commits > 1 or committed:
                await commit()
            if commits == 1:
                raise KafkaError("Unexpected error during batch delivery") from UnknownError()

        producer.commit_transaction = fails_once
        return producer

    monkeypatch.setattr("streams.kafka.topic_table.make_producer", doubtful)

    def paused(newest: ReplayPlan | None) -> ReplayPlan | None:
        assert newest is not None
        return None if newest.state is ReplayState.PAUSED else moved(newest, ReplayState.PAUSED)

    async with open_store(assay) as store:
        after = await store.change("again", paused)
    assert after is not None
    assert (after.state, commits) == (ReplayState.PAUSED, 1 if committed else 2)


async def test_a_change_of_nothing_in_a_plan_fences_no_writer(assay: Installation) -> None:
    await planned(assay.settings, "score_page")
    async with opened(make_producer(assay.settings.kafka, f"{assay.prefix}assay.replays.again", "writer")) as producer:
        async with open_store(assay) as store:
            assert await store.change("again", lambda _: None) == store.plans["again"]
        await producer.begin_transaction()
        await producer.commit_transaction()


async def test_a_start_that_fails_pauses_the_plan_and_says_why(
    assay: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def locked(*_: object) -> None:
        raise OSError("the index belongs to another process")

    await planned(assay.settings, "score_page")
    monkeypatch.setattr("streams.replay.run.make_shadow", locked)
    with pytest.raises(OSError, match="another process"):
        await carried_out(assay.settings)
    async with open_store(assay) as store:
        plan = store.plans["again"]
    assert (plan.state, plan.detail) == (ReplayState.PAUSED, "the index belongs to another process")
