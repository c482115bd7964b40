"""The console on a real Kafka: the past of the topics and new decisions, and records that are not there any more."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest

from schemas.claims import ClaimEvaluated
from schemas.event import Envelope
from streams.console.entries import Position
from streams.console.follow import Feed, Follower
from streams.console.objects import Records
from streams.console.store import Store
from streams.kafka.clients import make_producer, opened
from streams.topology import CLAIMS_EVALUATED
from streams.topology.codec import encode
from tests.kafka.installation import Installation, Installing, until
from tests.samples import EXAMPLES

CLAIM = ClaimEvaluated.model_validate_json((EXAMPLES / CLAIMS_EVALUATED.name / "stands_alone.json").read_bytes())
NUMBERS = count(1)


async def judge(assay: Installation, producer: Any, claim_id: str, *, abort: bool = False) -> None:
    """Writes a decision in a transaction of its own."""
    envelope = Envelope(f"id-{claim_id}", "assay/decontextualize_claim", datetime.now(UTC), "root")
    its = encode(CLAIMS_EVALUATED, CLAIM.model_copy(update={"claim_id": claim_id, "event_id": None}), envelope)
    await producer.begin_transaction()
    await producer.send_and_wait(assay.prefix + its.topic, value=its.value, key=its.key, headers=list(its.headers))
    await (producer.abort_transaction() if abort else producer.commit_transaction())


@contextlib.asynccontextmanager
async def judging(assay: Installation) -> AsyncIterator[Any]:
    name = f"{assay.prefix}judge-{next(NUMBERS)}"
    async with opened(make_producer(assay.settings.kafka, name, name)) as producer:
        yield producer


@contextlib.asynccontextmanager
async def following(assay: Installation, store: Store) -> AsyncIterator[tuple[Follower, Feed]]:
    feed = Feed()
    follower = Follower(assay.settings.kafka, store, feed)
    task = asyncio.create_task(follower.run())
    try:
        yield follower, feed
    finally:
        task.cancel()
        await asyncio.wait({task})


def claims(store: Store) -> set[str]:
    return {entry.subject for entry in store.newest(100_000)}


async def test_past_and_new_decisions_are_followed(installing: Installing) -> None:
    assay, store = await installing(handlers=(), topics=(CLAIMS_EVALUATED,)), Store(1000)
    async with judging(assay) as producer:
        for number in range(20):
            await judge(assay, producer, f"past-{number}")
        await judge(assay, producer, "aborted", abort=True)
        async with following(assay, store) as (follower, feed):
            await until(lambda: follower.rebuilt)
            assert claims(store) == {f"past-{number}" for number in range(20)}
            assert follower.problem == ""
            screen = feed.subscribe(30)
            assert await anext(screen) == []
            waiting = asyncio.ensure_future(anext(screen))
            await asyncio.sleep(0)
            await judge(assay, producer, "aborted", abort=True)
            await judge(assay, producer, "new")
            [entry] = await waiting
    assert (entry.subject, entry.handler) == ("new", "decontextualize_claim")
    assert "aborted" not in claims(store)


async def test_topics_that_come_later_are_followed(
    installing: Installing, topic_prefix: str, kafka: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.kafka.log_reader._LOOK_SECONDS", 0.2)
    monkeypatch.setattr("streams.kafka.log_reader._NO_TOPIC_SECONDS", 0.2)
    assay, store = await installing(handlers=(), topics=()), Store(1000)
    async with following(assay, store) as (follower, _):
        await until(lambda: "do not exist yet" in follower.problem)
        other = await installing(handlers=(), topics=(CLAIMS_EVALUATED,))
        await until(lambda: follower.problem == "")
        async with judging(other) as producer:
            await judge(other, producer, "first")
        await until(lambda: "first" in claims(store))


async def test_records_are_read_by_their_position(installing: Installing) -> None:
    assay = await installing(handlers=(), topics=(CLAIMS_EVALUATED,))
    await assay.feed([(b"k", CLAIM.to_json())] * 3, CLAIMS_EVALUATED.name)
    [partition] = [number for number, end in (await assay.ends(CLAIMS_EVALUATED.name)).items() if end]
    records = Records(assay.settings.kafka)
    places = [Position(CLAIMS_EVALUATED.name, partition, offset) for offset in (0, 2, 7)]
    assert set(await records.events(places)) == set(places[:2])
    for nowhere in (Position("nosuch.v1", 0, 0), Position(CLAIMS_EVALUATED.name, 99, 0)):
        assert await records.at(nowhere) is None
    [newest, _] = await records.newest(CLAIMS_EVALUATED, {b"k"}, 2)
    assert newest.position.offset == 2
