"""The main combinations of task and fault through a real Kafka: all handlers that ask models, at a faulty server.

Every input has one output, also after an outage; breakers open and close again; no record dies.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from schemas.claims import ClaimEvaluated
from schemas.event import Event
from schemas.ranking import RankingCompleted
from schemas.relevance import RelevanceJudged
from schemas.retrieval import RetrievalEvaluated
from schemas.search import SearchEvaluated
from streams.app.application import Application
from streams.topology import Handler
from tests.kafka.installation import Installation, Installing, until
from tests.streams.llm.judges import GOOD, TASKS, WAITS, input_of, judge_of, word_of
from tests.streams.llm.model_server import FAULTS, Wire, model_server, says
from tests.streams.llm.outcomes import BEHAVED, cells

INPUTS = 6
FAILURES = 3
"""Questions that fail before a breaker opens."""
EXPECTED: Mapping[tuple[str, str], str] = {(fault, task): word for fault, task, word in cells()}
OUTPUTS: Mapping[str, tuple[str, type[Event]]] = {
    "judge_relevance": ("relevance.judged.v1", RelevanceJudged),
    "evaluate_retrieval": ("retrieval.evaluated.v1", RetrievalEvaluated),
    "evaluate_search": ("search.evaluated.v1", SearchEvaluated),
    "decontextualize_claim": ("claims.evaluated.v1", ClaimEvaluated),
    "rank_results": ("ranking.completed.v1", RankingCompleted),
}


def handlers() -> list[Handler]:
    """All that ask a model, with topics of one partition, which are made sooner."""
    judges = [judge_of(task) for task in TASKS]
    return [replace(judge, consumes=replace(judge.consumes, partitions=1)) for judge in judges]


async def good(wire: Wire) -> None:
    """Answers each task within its protocol; each asks a model of its own name."""
    await says(GOOD[wire.asked.body["model"]])(wire)


async def place_of(
    installing: Installing,
    base_url: str,
    folder: Path,
    per_minute: int = 60_000,
    patience: float = 20.0,
    deadline: float = 20.0,
) -> Installation:
    """An installation whose breakers are short, with inputs for every task.

    A deadline is short only where a model lets it pass: a machine that is starved answers late as well.
    """
    place = await installing(
        handlers(),
        llm={
            "base_url": base_url,
            "cache_path": folder / "llm.sqlite",
            "first_backoff_seconds": 0.02,
            "breaker_failures": FAILURES,
            "max_rest_seconds": 0.5,
        },
        model_tasks={task: {"model": task} for task in TASKS},
        models={
            "limits": {"default": {"requests_per_minute": per_minute, "tokens_per_minute": 10**8, "in_flight": 64}},
            "tasks": {
                task: {"deadline_seconds": deadline, "patience_seconds": patience, "attempts": 2} for task in TASKS
            },
        },
    )
    for task in TASKS:
        events = [input_of(task, number) for number in range(INPUTS)]
        await place.feed([(str(n).encode(), event.to_json()) for n, event in enumerate(events)], topic_of(task))
    return place


def topic_of(task: str) -> str:
    return judge_of(task).consumes.name


async def words_of(place: Installation, task: str) -> Counter[str]:
    """What became of the task's inputs; each has one output."""
    topic, kind = OUTPUTS[task]
    events = [kind.model_validate_json(record.value or b"") for record in await place.read(topic)]
    names = {"judge_relevance": "request_id", "decontextualize_claim": "claim_id", "rank_results": "request_id"}
    assert len({getattr(event, names.get(task, "batch_id")) for event in events}) == len(events) == INPUTS
    return Counter(word_of(event) for event in events)


async def dead(place: Installation) -> int:
    """How many inputs ended as dead letters."""
    return len(await place.read(*(f"{topic_of(task)}.{judge_of(task).group}.dlq" for task in TASKS)))


def open_breakers(application: Application) -> set[str]:
    """The handlers that rest."""
    value = application.registry.get_sample_value
    return {task for task in TASKS if value("assay_breaker_open", {"handler": task, "lane": "live"}) == 1}


@pytest.mark.parametrize("fault", ["hangs", "429", "500"])
async def test_model_outage_costs_few_judgments_and_no_output(
    installing: Installing, tmp_path: Path, fault: str
) -> None:
    async with model_server(FAULTS[fault]) as server:
        deadline = 4.0 if fault == "hangs" else 20.0
        place = await place_of(installing, server.base_url, tmp_path, deadline=deadline)
        async with place.running(*handlers()) as application:
            await until(lambda: open_breakers(application) == set(TASKS))
            assert application.health.alive().well
            server.behave = good
            await until(application.caught_up, times=2)
            assert not open_breakers(application)
        for task in TASKS:
            words, expected = await words_of(place, task), EXPECTED[fault, task]
            assert words[BEHAVED[task]] + words[expected] == INPUTS
            assert words[expected] <= (0 if expected == WAITS else FAILURES - 1)
        assert await dead(place) == 0
