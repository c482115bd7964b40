"""A process that is killed in the middle of paid calls, and one after it that gets the same questions."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.kafka.installation import until
from tests.streams.llm.asking_process import Plan
from tests.streams.llm.model_server import model_server, says, slow

QUESTIONS, ASKERS = 1000, 20


@pytest.mark.slow
async def test_after_a_kill_no_more_is_paid_again_than_was_under_way(tmp_path: Path) -> None:
    async with model_server(slow(0.02, says("0.7"))) as server:
        plan = Plan(server.base_url, 0, QUESTIONS, ASKERS, str(tmp_path / "llm.sqlite"))
        process = await start(plan)
        await until(lambda: len(server.asked) >= QUESTIONS // 2)
        process.kill()
        await process.wait()
        before = len(server.asked)
        assert before < QUESTIONS
        assert await replies_of(await start(plan)) == {"ModelReply": QUESTIONS}
        # And once more, from the journal alone.
        after = len(server.asked)
        assert await replies_of(await start(replace(plan, askers=5))) == {"ModelReply": QUESTIONS}
        assert len(server.asked) == after
    times = Counter(asked.text for asked in server.asked)
    assert len(times) == QUESTIONS
    assert max(times.values()) <= 2
    assert after - QUESTIONS <= ASKERS


async def start(plan: Plan) -> Process:
    """A process that asks as planned."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.streams.llm.asking_process", stdin=PIPE, stdout=PIPE
    )
    assert process.stdin is not None
    process.stdin.write(plan.to_json().encode())
    process.stdin.close()
    return process


async def replies_of(process: Process) -> dict[str, int]:
    """What it says at its end."""
    out, _ = await process.communicate()
    return dict(json.loads(out))
