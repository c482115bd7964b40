"""The probes see a blocked event loop, gaps and repeated deliveries, and leave no trace."""

from __future__ import annotations

import asyncio
import gc
import time
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.conn import AIOKafkaConnection
from aiokafka.consumer.group_coordinator import GroupCoordinator

from tools.bench.probes import Probes


@pytest.fixture
def polled(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, list[int]]]:
    """What the next polls deliver; the last one is repeated."""
    deliveries: list[dict[str, list[int]]] = [{}]

    async def getmany(self: Any, timeout_ms: int = 0) -> dict[str, list[int]]:
        return deliveries.pop(0) if len(deliveries) > 1 else deliveries[0]

    async def heartbeat(self: Any) -> bool:
        return True

    monkeypatch.setattr(AIOKafkaConsumer, "getmany", getmany)
    monkeypatch.setattr(GroupCoordinator, "_do_heartbeat", heartbeat)
    monkeypatch.setattr(AIOKafkaConnection, "_handle_frame", lambda *_: None)
    return deliveries


async def test_a_blocked_loop_is_seen_as_lag_and_as_gaps(polled: list[dict[str, list[int]]]) -> None:
    polled[:] = [{}, {"a": [1]}, {}]
    began: list[int] = []
    probes = Probes(on_first_record=lambda: began.append(1))
    async with probes.watching():
        time.sleep(0.3)  # noqa: ASYNC251 - before the first record, so it does not count
        for _ in range(2):
            await AIOKafkaConsumer.getmany(None)
        await asyncio.sleep(0.05)
        calm = probes.figures()
        time.sleep(0.2)  # noqa: ASYNC251 - what is to be seen
        await asyncio.sleep(0.03)
        await AIOKafkaConsumer.getmany(None)
        await GroupCoordinator._do_heartbeat(None)
        blocked = probes.figures()
    assert began == [1]
    assert calm["poll_gap_s"] < 0.2
    assert calm["lag_max_ms"] < 150
    assert blocked["lag_max_ms"] > 150
    assert blocked["poll_gap_s"] >= 0.2
    assert blocked["heartbeat_gap_s"] >= 0.2


async def test_records_that_are_delivered_again_count_again(polled: list[dict[str, list[int]]]) -> None:
    polled[:] = [{"a": [1, 2]}, {"a": [2], "b": [3]}, {}]
    probes = Probes()
    connection = SimpleNamespace(_requests=[(1, SimpleNamespace(), None)])
    fetch = SimpleNamespace(_requests=[(1, type("FetchRequest_v4", (), {})(), None)])
    async with probes.watching():
        AIOKafkaConnection._handle_frame(fetch, bytes(1 << 20))
        AIOKafkaConnection._handle_frame(connection, bytes(9 << 20))
        for _ in range(3):
            await AIOKafkaConsumer.getmany(None)
        gc.collect()
    figures = probes.figures()
    assert (figures["delivered"], figures["fetches"], figures["fetched_mb"]) == (4, 1, 1.0)
    assert figures["collections"] >= 1


async def test_everything_is_as_before_in_the_end(polled: list[dict[str, list[int]]]) -> None:
    before = (AIOKafkaConsumer.getmany, GroupCoordinator._do_heartbeat, AIOKafkaConnection._handle_frame)
    callbacks = list(gc.callbacks)
    async with Probes().watching():
        assert AIOKafkaConsumer.getmany is not before[0]
    after = (AIOKafkaConsumer.getmany, GroupCoordinator._do_heartbeat, AIOKafkaConnection._handle_frame)
    assert after == before
    assert gc.callbacks == callbacks
