"""A worker is killed during paid calls, then another worker and a replay run: no answer is paid twice.

The only exception is the calls that ran at the kill. Every input has one output.
"""

from asyncio.subprocess import PIPE
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from schemas.relevance import RelevanceJudged
from tests.kafka.installation import installed, process, ran, until
from tests.streams.llm.judges import input_of, judge_of
from tests.streams.llm.model_server import ModelServer, model_server, says, slow

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TASK, SOURCES = "judge_relevance", "relevance.requested.v1"
CALLS, IN_FLIGHT = 300, 20


async def test_a_kill_among_paid_calls(kafka: str, topic_prefix: str, tmp_path: Path) -> None:
    records = [(str(number).encode(), input_of(TASK, number).to_json()) for number in range(CALLS)]
    async with model_server(slow(0.02, says("Relevant"))) as server:
        given = variables(server.base_url, tmp_path / "llm.sqlite")
        place = await installed(kafka, topic_prefix, [judge_of(TASK)])
        await place.feed(records, SOURCES)
        worker = await process(place.settings, "run", TASK, stderr=PIPE, **given)
        # A local server is asked 600 times a minute at first.
        await until(lambda: len(server.asked) >= CALLS // 2 or worker.returncode is not None, seconds=100)
        worker.kill()
        _, errors = await worker.communicate()
        assert b"prices: none for gate: what it costs is not known" in errors
        await until(lambda: not server.connections)
        before = len(server.asked)
        assert CALLS // 2 <= before < CALLS
        status, _, told = await ran(place.settings, "run", TASK, "--drain", **given)
        assert status == 0, told
        after = len(server.asked)
        outputs = await place.events(RelevanceJudged)
        # The same inputs once more, in an installation that knows nothing but the journal.
        again = await installed(kafka, f"{topic_prefix}again.", [judge_of(TASK)])
        await again.feed(records, SOURCES)
        status, _, told = await ran(again.settings, "run", TASK, "--drain", **given)
        assert status == 0, told
        replayed = await again.events(RelevanceJudged)
    assert len(server.asked) == after, "a replay pays for nothing"
    times = asked_for(server)
    assert len(times) == CALLS
    assert max(times.values()) <= 2
    assert after - CALLS <= IN_FLIGHT, f"killed after {before}"
    for some in (outputs, replayed):
        assert len(some) == len({event.request_id for event in some}) == CALLS
        assert all(event.relevant for event in some)
    assert all(event.llm is not None and event.llm.cached for event in replayed)


def asked_for(server: ModelServer) -> Counter[str]:
    """How often each question was asked; its number is in the address of its case."""
    return Counter(asked.text for asked in server.asked)


def variables(base_url: str, journal: Path) -> dict[str, Any]:
    return {
        "kafka__session_timeout_seconds": 6,
        "logs__level": "warning",
        "llm__base_url": base_url,
        "model_tasks__judge_relevance__model": "gate",
        "llm__cache_path": str(journal),
        "models__limits": {"gate": {"requests_per_minute": 60_000, "tokens_per_minute": 10**8, "in_flight": IN_FLIGHT}},
        "models__tasks__judge_relevance__deadline_seconds": 20,
    }
