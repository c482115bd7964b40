"""Processes in virtual time: what is killed runs no further, and what is frozen runs later."""

from __future__ import annotations

import asyncio

import pytest

from tests.simulation.world import OUTSIDE, NoProgressError, Process, World


async def ticks(into: list[float], world: World, times: int) -> None:
    """Notes the time each second; the end is noted as -1."""
    try:
        for _ in range(times):
            await asyncio.sleep(1)
            into.append(round(world.time(), 2))
    finally:
        into.append(-1)


def run_with(world: World, act: str, seconds: float = 0.0) -> list[float]:
    """What a process notes to which something happens after 2.5 seconds."""
    process, noted = Process("p"), list[float]()

    async def live() -> None:
        life = world.start(process, ticks(noted, world, 4))
        await asyncio.sleep(2.5)
        world.kill(process) if act == "kill" else world.freeze(process, seconds)
        await asyncio.sleep(10)
        if act == "freeze":
            await life

    world.run_until_complete(live())
    return noted


def test_a_killed_process_does_not_even_clean_up(world: World) -> None:
    assert run_with(world, "kill") == [1, 2]


def test_a_frozen_process_goes_on_when_it_wakes(world: World) -> None:
    assert run_with(world, "freeze", 3) == [1, 2, 5.5, 6.5, -1]


def test_a_run_that_waits_for_nothing_ends(world: World) -> None:
    with pytest.raises(NoProgressError, match="for ever"):
        world.run_until_complete(world.create_future())


def test_callbacks_outside_belong_to_no_process(world: World) -> None:
    process, noted = Process("p"), list[float]()

    async def live() -> None:
        world.call_at(world.time() + 5, lambda: noted.append(round(world.time(), 2)), context=OUTSIDE)

    async def wait() -> None:
        await world.start(process, live())
        world.kill(process)
        await asyncio.sleep(6)

    world.run_until_complete(wait())
    assert noted == [5]
