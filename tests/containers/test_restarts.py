"""Workers are killed, replaced and doubled while pages flow: every page is answered once."""

import asyncio
import os
import re
import signal

import pytest

from tests.containers.composition import Composition
from tests.containers.load import Load
from tests.kafka.installation import until

pytestmark = pytest.mark.timeout(1200)
SERVICE = "score-page"


async def test_the_only_worker_that_dies_comes_back_by_itself(composition: Composition) -> None:
    await asyncio.to_thread(composition.scale, SERVICE, 1)
    [container] = composition.containers(SERVICE)
    restarts = composition.inspect(container)["RestartCount"]
    load = Load(composition.installation(), "died")
    async with load.flowing():
        await until(lambda: load.published >= 200)
        # Not `docker kill`, after which the engine believes that it was wanted.
        os.kill(composition.inspect(container)["State"]["Pid"], signal.SIGKILL)
        at_the_kill = load.published
        await until(lambda: load.published >= at_the_kill + 500)
    assert await load.results() == load.expected()
    assert composition.inspect(container)["RestartCount"] == restarts + 1


async def test_a_rolling_restart_loses_and_doubles_nothing(composition: Composition) -> None:
    await asyncio.to_thread(composition.scale, SERVICE, 2)
    old = composition.containers(SERVICE)
    load = Load(composition.installation(), "rolled")
    async with load.flowing():
        await until(lambda: load.published >= 200)
        said = await asyncio.to_thread(composition.run, ["make", "roll", f"SERVICES={SERVICE}"], 600)
        at_the_end = load.published
        await until(lambda: load.published >= at_the_end + 200)
    assert await load.results() == load.expected()
    assert re.findall(r"ended with status (\d+)", said) == ["0", "0"]
    new = composition.containers(SERVICE)
    assert len(new) == 2
    assert not set(new) & set(old)
