"""The limits of a model are shared by processes, each of which has the share of its partitions, on a real Kafka."""

from pathlib import Path

from schemas.relevance import RelevanceJudged
from streams.app.application import Application
from tests.kafka.installation import Installing, until
from tests.streams.llm.judges import input_of, judge_of
from tests.streams.llm.model_server import model_server, says, slow

TASK, INPUTS = "judge_relevance", 20


async def test_each_process_has_the_share_of_its_partitions(installing: Installing, tmp_path: Path) -> None:
    async with model_server(slow(0.01, says("Relevant"))) as server:
        place = await installing(
            [judge_of(TASK)],
            partitions=4,
            llm={"base_url": server.base_url, "model": "m", "cache_path": tmp_path / "llm.sqlite"},
            model_tasks={TASK: {"model": "own"}},
            models={
                "limits": {"default": {"requests_per_minute": 60_000, "tokens_per_minute": 10**8}},
                "replay_share": 0.0,
            },
        )
        async with place.running(judge_of(TASK)) as first:
            await until(lambda: share(first) == 1.0)
            async with place.running(judge_of(TASK)) as second:
                await until(lambda: share(first) == share(second) == 0.5)
                await place.feed(
                    [(str(number).encode(), input_of(TASK, number).to_json()) for number in range(INPUTS)],
                    judge_of(TASK).consumes.name,
                )
                await until(first.drain_detector.reached, times=2)
                await until(second.drain_detector.reached, times=2)
            await until(lambda: share(first) == 1.0)
        assert share(first) == 0.0
        assert len(await place.events(RelevanceJudged)) == INPUTS


def share(application: Application) -> float:
    return application.shares.of(TASK)
