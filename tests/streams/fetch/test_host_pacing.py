"""Turns at hosts, under virtual time."""

import asyncio

from streams.fetch.settings import FetchSettings
from streams.fetch.worker import HostPacing
from streams.runtime.files import KeyedLocks
from tests.streams.doubles import VirtualClock


def make_pacing(time: VirtualClock, **settings: float) -> HostPacing:
    return HostPacing(FetchSettings.model_validate({"min_delay_seconds": 1.0, **settings}), time)


async def visit(
    pacing: HostPacing, host: str = "a", latency: float | None = 0.1, *, served: bool = True, **turn: float
) -> None:
    async with pacing.turn(host, **turn) as mine:
        assert mine is not None
        if latency is not None:
            mine.answered(latency, served=served)


async def test_slow_host_gets_longer_pauses_up_to_a_bound() -> None:
    time = VirtualClock()
    pacing = make_pacing(time, max_delay_seconds=6.0)
    for latency in (9.0, 9.0, 9.0, 0.0, 0.0):
        await visit(pacing, latency=latency)
    assert time.pauses == [5.0, 6.0, 6.0, 3.0]


async def test_crawl_delay_is_respected_up_to_the_longest_delay() -> None:
    time = VirtualClock()
    pacing = make_pacing(time, max_delay_seconds=20.0)
    await visit(pacing, crawl_delay=7.0)
    assert pacing.wait("a") == 7.0
    await visit(pacing, "b", crawl_delay=500.0)
    assert pacing.wait("b") == 20.0


async def test_turn_is_refused_beyond_the_longest_delay() -> None:
    time = VirtualClock()
    pacing = make_pacing(time, retry_after_seconds=10.0, max_delay_seconds=5.0)
    async with pacing.turn("a") as turn:
        assert turn is not None
        turn.failure(retry_after=86_400.0)
    async with pacing.turn("a") as refused:
        assert refused is None
    assert time.pauses == []


async def test_a_turn_in_which_nothing_was_asked_costs_no_pause() -> None:
    pacing = make_pacing(VirtualClock())
    await visit(pacing, latency=None)
    assert pacing.wait("a") == 0.0


async def test_only_so_many_hosts_are_remembered() -> None:
    pacing = make_pacing(VirtualClock(), hosts=2)
    for host in "abc":
        await visit(pacing, host)
    assert [pacing.wait(host) > 0 for host in "abc"] == [False, True, True]


async def test_locks_serve_in_order_and_are_forgotten() -> None:
    locks = KeyedLocks()
    order: list[int] = []

    async def work(number: int) -> None:
        async with locks.hold("key"):
            order.append(number)
            await asyncio.sleep(0)

    cancelled = asyncio.create_task(work(99))
    async with locks.hold("key"):
        tasks = [asyncio.create_task(work(number)) for number in range(3)]
        await asyncio.sleep(0)
        cancelled.cancel()
    await asyncio.gather(cancelled, *tasks, return_exceptions=True)
    assert order == [0, 1, 2]
    assert len(locks) == 0
