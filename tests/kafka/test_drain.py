"""The end of a drain: it waits for open transactions of other producers and for its own slow commits."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer

from streams.kafka.clients import make_producer, opened
from tests.kafka.installation import CRAWLED, SCORED, Installation, Installing, page, process


@pytest.fixture
async def assay(installing: Installing) -> Installation:
    place = await installing()
    await place.feed([page(1)])
    return place


@asynccontextmanager
async def open_transaction(assay: Installation) -> AsyncIterator[AIOKafkaProducer]:
    """A producer that has written a page in a transaction, which is open, and which no broker aborts meanwhile."""
    patient = assay.settings.kafka.model_copy(update={"transaction_timeout_seconds": 600.0})
    async with opened(make_producer(patient, f"{assay.prefix}slow", "slow")) as producer:
        await producer.begin_transaction()
        key, value = page(2)
        await producer.send_and_wait(assay.prefix + CRAWLED, value, key=key)
        yield producer


async def to_drain(assay: Installation, **variables: Any) -> asyncio.subprocess.Process:
    return await process(assay.settings, "run", "score_page", "--drain", "--json", **variables)


async def test_drain_waits_for_a_slow_commit_and_reports_it(assay: Installation) -> None:
    async with open_transaction(assay) as slow:
        process = await to_drain(assay, workers__processes=1)
        assert process.stderr is not None
        async for line in process.stderr:
            if b'"waiting"' in line:
                break
        assert f"a transaction is open on {assay.prefix}{CRAWLED}" in json.loads(line)["reason"]
        await slow.commit_transaction()
        said, _ = await process.communicate()
    assert process.returncode == 0
    assert json.loads(said.splitlines()[-1])["caught_up"] is True
    assert len(await assay.read(SCORED)) == 2


async def test_a_drain_ends_where_a_transaction_stays_open(assay: Installation) -> None:
    async with open_transaction(assay) as slow:
        process = await to_drain(assay, kafka__transaction_timeout_seconds="4")
        said, told = await process.communicate()
        await slow.abort_transaction()
    assert process.returncode == 1
    assert json.loads(said.splitlines()[-1])["caught_up"] is False
    [line] = [line for line in told.decode().splitlines() if "not caught up" in line]
    assert f"a transaction is open on {assay.prefix}{CRAWLED}, for " in line
