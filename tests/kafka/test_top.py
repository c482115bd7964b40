"""``assay top`` beside a worker on a real Kafka: once for programs, and live on a terminal."""

import asyncio
import os
import pty
import struct
from collections.abc import AsyncIterator
from fcntl import ioctl
from signal import SIGINT
from termios import TIOCSWINSZ, tcgetattr

import pytest

from streams.http.server import HttpServer
from streams.settings.model import HttpSettings
from tests.kafka.installation import Installation, page, process, scorer, until


@pytest.fixture
async def worker(assay: Installation) -> AsyncIterator[str]:
    """The address of a worker that has scored 30 pages."""
    await assay.feed([page(number) for number in range(30)])
    async with assay.running(scorer()) as application:
        await until(application.caught_up)
        async with HttpServer(application.asgi, HttpSettings(port=0)) as http:
            yield http.address


async def test_top_runs_on_a_terminal_until_it_is_interrupted(assay: Installation, worker: str) -> None:
    terminal, inside = pty.openpty()
    ioctl(inside, TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    before = tcgetattr(inside)
    words = ("top", "--every", "0.3", "--url", worker)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TERM", "xterm-256color")
        started = await process(assay.settings, *words, stdin=inside, stdout=inside, stderr=inside)
    seen = bytearray()
    loop = asyncio.get_running_loop()
    loop.add_reader(terminal, lambda: seen.extend(os.read(terminal, 65536)))
    try:
        await until(lambda: seen.count(b"score_page") >= 2)
        started.send_signal(SIGINT)
        assert await asyncio.wait_for(started.wait(), 20) == 130
    finally:
        if started.returncode is None:
            started.kill()
            await started.wait()
        loop.remove_reader(terminal)
        after = tcgetattr(inside)
        os.close(inside)
        os.close(terminal)
    # Echo and lines are as before.
    assert after[3] == before[3]
