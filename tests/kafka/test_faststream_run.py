"""``faststream run streams.app:app`` as a process of its own: it handles records, and SIGTERM stops it cleanly."""

import asyncio
import os
import signal
import sys

import pytest

from streams.topology import HANDLERS
from tests.kafka.installation import GROUP, SCORED, Installing, environment_of, page, until, until_killed


@pytest.mark.timeout(300)
async def test_faststream_run_handles_records_and_stops_on_sigterm(installing: Installing) -> None:
    assay = await installing(HANDLERS)
    await assay.feed([page(number) for number in range(3)])
    # Its own option: a port that is free.
    words = ("-m", "faststream", "run", "streams.app:app", "--port", "0")
    started = await asyncio.create_subprocess_exec(
        sys.executable,
        *words,
        env=os.environ | environment_of(assay.settings, index__path="", kafka__create_topics=False),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with until_killed(started):

        async def scored() -> bool:
            assert started.returncode is None
            return sum((await assay.committed()).values()) >= 3

        await until(scored, seconds=180)
        started.send_signal(signal.SIGTERM)
        async with asyncio.timeout(60):
            said, _ = await started.communicate()
    assert started.returncode == 0, said.decode()
    assert "Traceback" not in said.decode()
    assert len(await assay.read(SCORED)) == 3
    assert sum((await assay.committed(GROUP)).values()) >= 3
