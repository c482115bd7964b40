"""A worker that is killed among a thousand paid calls, the worker after it, and a replay: nothing is paid twice.

Except what was under way at the kill; and every input comes to one output.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from schemas.relevance import RelevanceJudged
from tests.kafka.installation import installed, until
from tests.streams.llm.judges import input_of, judge_of
from tests.streams.llm.model_server import ModelServer, model_server, says, slow

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

TASK, SOURCES, JUDGED = "judge_relevance", "relevance.requested.v1", "relevance.judged.v1"
CALLS, IN_FLIGHT = 1000, 20


async def test_a_kill_among_a_thousand_paid_calls(kafka: str, topic_prefix: str, tmp_path: Path) -> None:
    records = [(str(number).encode(), input_of(TASK, number).to_json()) for number in range(CALLS)]
    async with model_server(slow(0.02, says("Relevant"))) as server:
        given = environment(kafka, server.base_url, tmp_path / "llm.sqlite")
        place = await installed(kafka, topic_prefix, [judge_of(TASK)])
        await place.feed(records, SOURCES)
        worker = await start(topic_prefix, given, told=tmp_path / "told")
        await until(lambda: len(server.asked) >= CALLS // 2 or worker.returncode is not None)
        worker.kill()
        await worker.wait()
        assert "prices: none for gate: what it costs is not known" in (tmp_path / "told").read_text()
        await until(lambda: not server.connections)
        before = len(server.asked)
        assert CALLS // 2 <= before < CALLS

        worker = await start(topic_prefix, given, "--drain")
        assert await worker.wait() == 0
        after = len(server.asked)
        outputs = [RelevanceJudged.model_validate_json(record.value or b"") for record in await place.read(JUDGED)]

        # The same inputs once more, in an installation that knows nothing but the journal.
        again = await installed(kafka, f"{topic_prefix}again.", [judge_of(TASK)])
        await again.feed(records, SOURCES)
        worker = await start(f"{topic_prefix}again.", given, "--drain")
        assert await worker.wait() == 0
        replayed = [RelevanceJudged.model_validate_json(record.value or b"") for record in await again.read(JUDGED)]
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
    """How often each question came; its number stands in the address that its case was made of."""
    return Counter(asked.text for asked in server.asked)


async def start(
    prefix: str, given: dict[str, str], *options: str, told: Path | None = None
) -> asyncio.subprocess.Process:
    """A worker of the real command; what it says goes into a file, where one is named."""
    command = Path(sys.executable).parent / "assay"
    environment = {**os.environ, **given, "ASSAY_KAFKA__TOPIC_PREFIX": prefix}
    with (told or Path(os.devnull)).open("wb") as file:
        return await asyncio.create_subprocess_exec(
            str(command), "run", TASK, *options, env=environment, stderr=file if told else None
        )


def environment(kafka: str, base_url: str, journal: Path) -> dict[str, str]:
    return {
        "ASSAY_KAFKA__BOOTSTRAP_SERVERS": kafka,
        "ASSAY_KAFKA__SESSION_TIMEOUT_SECONDS": "6",
        "ASSAY_HTTP__ENABLED": "false",
        "ASSAY_LOGS__LEVEL": "warning",
        "ASSAY_LLM__BASE_URL": base_url,
        "ASSAY_MODEL_TASKS__JUDGE_RELEVANCE__MODEL": "gate",
        "ASSAY_LLM__CACHE_PATH": str(journal),
        "ASSAY_MODELS__LIMITS": json.dumps(
            {"gate": {"requests_per_minute": 60_000, "tokens_per_minute": 10**8, "in_flight": IN_FLIGHT}}
        ),
        "ASSAY_MODELS__TASKS__JUDGE_RELEVANCE__DEADLINE_SECONDS": "20",
    }
