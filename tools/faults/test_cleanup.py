import asyncio
import contextlib
import os
import signal

import pytest

from tools.faults.cluster import run_with_cleanup


def test_sigterm_lets_the_run_clean_up() -> None:
    cleaned: list[str] = []

    async def work() -> None:
        with contextlib.ExitStack() as stack:
            stack.callback(cleaned.append, "disk")
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(30)

    with pytest.raises(SystemExit, match="1"):
        run_with_cleanup(work())
    assert cleaned == ["disk"]
