"""Snippet requests on a real Kafka, with a web and a model on loopback: every request completes exactly once."""

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from schemas.relevance import RelevanceJudged, SnippetExtracted, SnippetsCompleted, SnippetsRequested
from streams.topology import HANDLERS
from tests.kafka.installation import Installing, process, until, until_killed
from tests.streams.fetch.web import Web, response, serving
from tests.streams.llm.model_server import Behaviour, ModelServer, by_message, hangs, model_server, says

NAMES = ("request_snippets", "fetch_page", "judge_relevance")
OURS = tuple(handler for handler in HANDLERS if handler.name in NAMES)
REQUESTED, COMPLETED = "snippets.requested.v1", "snippets.completed.v1"
HOST, DOWN = "council.example", "down.example"
QUERY = "repair of bicycle brakes"
PROSE = (
    "Brakes wear down with every ride, and a lever that reaches the handlebar says that the cable has stretched or "
    "that the pads are gone. Loosen the bolt, pull the cable tight and fasten the bolt again."
)


def page(title: str) -> bytes:
    return response(
        f"<title>{title}</title><meta name=description content='About {title}.'>"
        f"<main><h1>{title}</h1><p>{PROSE}</p></main>"
    )


def request(*urls: str) -> tuple[bytes, bytes]:
    asked = SnippetsRequested(request_id="r1", query="bicycles", context=QUERY, urls=urls)
    return b"r1", asked.to_json()


def judging(text: str) -> Behaviour:
    """Relevant is what is about brakes."""
    return says("Relevant" if "About brakes." in text else "Irrelevant")


def settings(server: ModelServer, web: Web, folder: Path) -> dict[str, Any]:
    return {
        "llm": {
            "base_url": server.base_url,
            "model": "judge",
            "cache_path": str(folder / "llm.sqlite"),
            "first_backoff_seconds": 0.01,
        },
        "models": {
            "limits": {"default": {"requests_per_minute": 100_000, "tokens_per_minute": 100_000_000}},
            "tasks": {"judge_relevance": {"deadline_seconds": 60.0, "attempts": 1}},
        },
        "fetch": {
            # Port 1 refuses connections.
            "resolve": {HOST: web.place, DOWN: "127.0.0.1:1"},
            "min_delay_seconds": 0.0,
            "attempts": 1,
            "cache_path": str(folder / "fetch.sqlite"),
        },
    }


@pytest.fixture
async def web() -> AsyncIterator[Web]:
    async with serving() as running:
        for name in ("brakes", "taxes"):
            running.routes[f"/{name}"] = page(name)
        yield running


async def test_kill_loses_no_source_and_makes_no_second_completion(
    installing: Installing, web: Web, tmp_path: Path
) -> None:
    """SIGKILL while the second source is being judged; then others take over."""
    urls = [f"http://{HOST}/brakes", f"http://{HOST}/taxes", f"http://{DOWN}/"]
    async with model_server(by_message(judging)) as server:
        told = settings(server, web, tmp_path)
        assay = await installing(OURS, **told)
        await assay.feed([request(*urls)], REQUESTED)
        server.script = [says("Relevant"), hangs()]
        given = {f"{section}__{name}": value for section, values in told.items() for name, value in values.items()}
        worker = await process(assay.settings, "run", *NAMES, kafka__session_timeout_seconds=6, **given)
        async with until_killed(worker):
            await until(lambda: len(server.asked) == 2 or worker.returncode is not None)
            assert worker.returncode is None, "it still waits for the second judgment"
        assert await assay.read(COMPLETED) == []
        async with assay.running(*OURS) as application:
            await assay.quiet(application)
        assert len(server.asked) == 3, "the first answer is not asked for again"
    [end] = await assay.events(SnippetsCompleted)
    assert [source.outcome for source in end.sources] == ["relevant", "irrelevant", "not_fetched"]
    assert [event.snippet for event in await assay.events(SnippetExtracted)] == [PROSE]
    assert Counter(event.url for event in await assay.events(RelevanceJudged)) == Counter(urls[:2])
    assert web.seen["/brakes"] == web.seen["/taxes"] == 1
