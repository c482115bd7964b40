import asyncio
import threading
import time

import pytest

from streams.watchdog import Watchdog


async def test_a_loop_that_turns_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams.watchdog._TICK_SECONDS", 0.01)
    gave_up = threading.Event()
    # On a starved machine even a loop that turns is some tenths of a second late.
    async with Watchdog(1.5, gave_up.set):
        await asyncio.sleep(2.5)
    assert not gave_up.is_set()


async def test_a_loop_that_stands_still_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams.watchdog._TICK_SECONDS", 0.01)
    gave_up = threading.Event()
    async with Watchdog(0.05, gave_up.set):
        await asyncio.sleep(0.05)
        for _ in range(2000):  # holds the loop, as a handler without end would
            if gave_up.is_set():
                break
            time.sleep(0.005)  # noqa: ASYNC251
    assert gave_up.is_set()
