"""The demonstration of the last version before the event contracts of 1.0: its data works with this version."""

import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import QdrantClient

from schemas.dead import dead_letter_topic, is_marker
from schemas.retrieval import RetrievalEvaluated
from streams.demo import feed
from streams.http.server import HttpServer
from streams.settings.model import HttpSettings, Settings
from streams.topology import HANDLERS, TOPICS, Handler, Topic, topic_named
from streams.topology.codec import decode
from tests.kafka.installation import CRAWLED, Installation, command, handlers_named, installed, ran, until
from tests.kafka.versions import LAST_BEFORE_1_0, assay_of, code_of
from tests.samples import instance, the_handler
from tests.streams.llm.judges import GOOD
from tests.streams.llm.model_server import Wire, model_server, says

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

EVENTS = Path("streams/demo/events")
BATCHES = "retrieval.batches.v1"
QUERIES = "ranking.requested.v1"
NOT_WRITTEN = {"ranking.feedback.v1", "decisions.reviewed.v1", "replays.v1"}
"""Topics that no handler writes, and for which the demonstration has no events."""
FAILING = """
import asyncio
import itertools
from dataclasses import replace

from schemas.outcome import Retry, RetryReason
from streams.app.application import Application
from streams.settings.model import load_settings
from streams.topology import HANDLERS

calls = itertools.count()


def fail(event, rules):
    if next(calls) % 2:
        raise RuntimeError("a bug")
    return Retry(RetryReason.UNAVAILABLE, "not now")


async def work():
    [judge] = [handler for handler in HANDLERS if handler.name == "evaluate_retrieval"]
    await Application(load_settings(), [replace(judge, fn=fail, retry_later=(15,))]).start()
    await asyncio.Event().wait()


asyncio.run(work())
"""
"""A worker that leaves half of its records in a retry topic and half in the dead letter topic."""


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the earlier code."""
    return code_of(LAST_BEFORE_1_0, tmp_path_factory.mktemp("earlier"))


@asynccontextmanager
async def sample_web(seen: Counter[str]) -> AsyncIterator[str]:
    """The address of the demonstration's sites; each request is counted by its host and path."""

    async def serve(scope: dict[str, Any], receive: Any, send: feed.Send) -> None:
        if scope["type"] == "http":
            seen[dict(scope["headers"]).get(b"host", b"").decode() + scope["path"]] += 1
        await feed.serve(scope, receive, send)

    async with HttpServer(serve, HttpSettings(port=0, allowed_hosts=feed.hosts())) as server:
        yield server.address


async def judge(wire: Wire) -> None:
    """A valid reply for each task; every task has a separate model."""
    await says(GOOD[wire.asked.body["model"]])(wire)


def points(index: Path) -> Counter[str]:
    """The ids of all points of an embedded index."""
    client = QdrantClient(path=str(index))
    try:
        names = [collection.name for collection in client.get_collections().collections]
        return Counter(str(point.id) for name in names for point in client.scroll(name, limit=10_000)[0])
    finally:
        client.close()


async def run_earlier(tree: Path, state: Path, settings: Settings, *words: str, **variables: Any) -> None:
    """``assay WORDS`` of the earlier code, which must end with 0."""
    async with assay_of(tree, state, settings, *words, **variables) as process:
        await process.communicate()
    assert process.returncode == 0, (state / "worker.log").read_text()


async def letters(assay: Installation, *handlers: Handler) -> list[Any]:
    """The dead letters of handlers."""
    found = await assay.read(*(dead_letter_topic(handler.consumes.name, handler.group) for handler in handlers))
    return [record for record in found if not is_marker(record.headers)]


async def decoded(assay: Installation, topic: Topic, suffix: str = "") -> list[Any]:
    """The events on a topic, each of which this version must read."""
    records = await assay.read(topic.name + suffix)
    return [instance(topic.event, decode(topic, record.value, record.headers, None)) for record in records]


def pages(file: Path) -> Path:
    """A file for ``assay publish`` with the pages of the sample web that can be read."""
    urls = (feed.NOTICE, feed.WIRE_REPORT, feed.BREAD, f"{feed.SHOP}/")
    file.write_text("".join(json.dumps({"url": url, "html": feed.page(url).decode()}) + "\n" for url in urls))
    return file


async def test_records_answers_fetched_pages_and_points_are_used(
    kafka: str, topic_prefix: str, earlier: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: Counter[str] = Counter()
    index = tmp_path / "index"
    async with sample_web(seen) as web, model_server(judge) as models:
        flags: dict[str, Any] = {
            "fetch": {
                "resolve": dict.fromkeys(feed.hosts(), web),
                "min_delay_seconds": 0.0,
                "cache_path": str(tmp_path / "fetch.sqlite"),
            },
            "index": {"path": str(index)},
            "llm": {"base_url": models.base_url, "cache_path": str(tmp_path / "llm.sqlite")},
            "model_tasks": {task: {"model": task} for task in GOOD},
            "models": {"limits": {"default": {"requests_per_minute": 60_000, "tokens_per_minute": 10_000_000}}},
        }
        assay = await installed(kafka, topic_prefix, HANDLERS, TOPICS, **flags)

        async def before(*words: str) -> None:
            await run_earlier(earlier, tmp_path, assay.settings, *words, **flags)

        for file in sorted((earlier / EVENTS).glob("*.jsonl")):
            if file.stem != QUERIES:
                await before("publish", file.stem, str(file))
        await before("publish", CRAWLED, str(pages(tmp_path / "pages.jsonl")))
        await before("run", "--drain")
        await before("publish", QUERIES, str(earlier / EVENTS / f"{QUERIES}.jsonl"))
        await before("run", "--drain")
        assert await letters(assay, *HANDLERS) == []
        events = {topic.name: await decoded(assay, topic) for topic in TOPICS}
        assert {name for name, found in events.items() if not found} == NOT_WRITTEN
        asked, fetched, indexed = len(models.asked), Counter(seen), points(index)
        assert asked > 10
        assert fetched
        assert indexed

        query = ("query", "reservoir levels", "--no-model", "--json")
        status, out, err = await command(assay.settings, capsys, *query, index__path=str(index))
        assert status == 0, err
        assert feed.NOTICE in out

        for handler in HANDLERS:
            await assay.set_back(handler)
        [rank] = handlers_named("rank_results")
        judges = [handler for handler in HANDLERS if handler.asks_models and handler is not rank]
        await assay.drain(*judges)
        assert len(models.asked) == asked
        await assay.drain(*(handler for handler in HANDLERS if handler is not rank))
        await assay.drain(rank)
        assert await letters(assay, *HANDLERS) == []
        for name, found in events.items():
            if name in {topic.name for handler in HANDLERS for topic in handler.emits}:
                assert len(await decoded(assay, instance(Topic, topic_named(name)))) > len(found), name
        # The identity of a fetched source has another title now, so a new request for it asks again.
        assert {question.body["model"] for question in models.asked[asked:]} <= {"judge_relevance"}
        assert seen == fetched
        assert points(index) == indexed


async def test_backfill_retries_and_dead_letters_go_on(
    kafka: str, topic_prefix: str, earlier: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    retried = replace(the_handler("evaluate_retrieval"), retry_later=(15,))
    [retry] = retried.retry_topics
    [classify] = handlers_named("classify_results")
    processing = {"retries": {"max_attempts": 1}}
    assay = await installed(kafka, topic_prefix, [classify, retried], processing=processing)
    settings = assay.settings
    publish = ("publish", BATCHES, str(earlier / EVENTS / f"{BATCHES}.jsonl"))
    await run_earlier(earlier, tmp_path, settings, *publish, "--run-id", "backfill")
    status, out, err = await ran(settings, *publish, "--resume", "backfill", "--json")
    assert (status, json.loads(out)["published"]) == (0, 0), err
    await run_earlier(earlier, tmp_path, settings, "run", classify.name, "--drain")
    batches = await decoded(assay, instance(Topic, topic_named("results.classified.v1")))

    async def all_have_failed() -> bool:
        return len(await letters(assay, retried)) + len(await assay.read(retry.topic)) == len(batches)

    async with assay_of(earlier, tmp_path, settings, program=FAILING, processing=processing):
        await until(all_have_failed)
    dead = await letters(assay, retried)
    assert 0 < len(dead) < len(batches)

    await assay.drain(retried)
    assert len(await assay.events(RetrievalEvaluated)) == len(batches) - len(dead)
    status, out, _ = await command(settings, capsys, "dlq", "redrive", "--handler", retried.name, "--json")
    assert (status, len(dead)) == (0, json.loads(out.splitlines()[-1])["redriven"]), out
    await assay.drain(retried)
    evaluated = await assay.events(RetrievalEvaluated)
    assert Counter(event.batch_id for event in evaluated) == Counter(batch.batch_id for batch in batches)
    assert len(await letters(assay, retried)) == len(dead)
