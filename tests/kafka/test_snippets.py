"""Snippet requests on a real Kafka, with a web and a model on loopback: every request completes exactly once."""

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from schemas.extraction import ExtractionCompleted
from schemas.relevance import (
    RelevanceJudged,
    SnippetExtracted,
    SnippetsCompleted,
    SnippetsRequested,
)
from streams.topology import HANDLERS
from tests.kafka.installation import Installing, process, until, until_killed
from tests.streams.fetch.web import Web, response, serving
from tests.streams.llm.model_server import Behaviour, ModelServer, by_message, hangs, model_server, says

NAMES = ("request_snippets", "fetch_page", "judge_relevance")
OURS = tuple(handler for handler in HANDLERS if handler.name in NAMES)
REQUESTED, SOURCES, JUDGED = "snippets.requested.v1", "relevance.requested.v1", "relevance.judged.v1"
EXTRACTED, COMPLETED = "snippets.extracted.v1", "snippets.completed.v1"
HOST, DOWN = "council.example", "down.example"
QUERY = "repair of bicycle brakes"
DEADLINE = 0.6
PROSE = (
    "Brakes wear down with every ride, and a lever that reaches the handlebar says that the cable has stretched or "
    "that the pads are gone. Loosen the bolt, pull the cable tight and fasten the bolt again."
)


def page(title: str, prose: str = PROSE) -> bytes:
    return response(
        f"<title>{title}</title><meta name=description content='About {title}.'>"
        f"<main><h1>{title}</h1><p>{prose}</p></main>"
    )


def request(*urls: str, request_id: str = "r1", **fields: Any) -> tuple[bytes, bytes]:
    values = {"request_id": request_id, "query": "bicycles", "context": QUERY, "urls": urls or None, **fields}
    return request_id.encode(), SnippetsRequested.model_validate(values).to_json()


def judging(text: str) -> Behaviour:
    """Relevant is what is about brakes; a question about patience gets no answer at all."""
    if "About patience." in text:
        return hangs()
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
            "tasks": {"judge_relevance": {"deadline_seconds": DEADLINE, "attempts": 1}},
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
        for name in ("brakes", "taxes", "patience"):
            running.routes[f"/{name}"] = page(name)
        yield running


async def test_a_request_ends_once_with_what_became_of_every_source(
    installing: Installing, web: Web, tmp_path: Path
) -> None:
    urls = [f"http://{HOST}/brakes", f"http://{DOWN}/", f"http://{HOST}/taxes", f"http://{HOST}/patience"]
    async with model_server(by_message(judging)) as server:
        assay = await installing(OURS, **settings(server, web, tmp_path))
        await assay.feed([request(*urls), request(domain="nowhere", request_id="r2")], REQUESTED)
        async with assay.running(*OURS) as application:
            await assay.quiet(application)
        assert len(server.asked) == 3, "nobody is asked about a source that didn't come"
        assert {asked.body["max_tokens"] for asked in server.asked} == {10}
        assert [len(asked.messages) for asked in server.asked] == [1, 1, 1]
        ended = [(asked.ended, "About patience." in asked.text) for asked in server.asked]
        assert ended == [("answered", False), ("answered", False), ("abandoned", True)], "at the deadline it is cut off"

        first, second = sorted(await assay.events(SnippetsCompleted), key=lambda end: end.request_id)
        judged = await assay.events(RelevanceJudged)

        # On redelivery only the failed judgment is made again: pages and opinions were kept.
        server.behave = says("Relevant")
        await assay.feed([request(*urls)], REQUESTED)
        async with assay.running(*OURS) as application:
            await assay.quiet(application)
        assert len(server.asked) == 4
        assert "About patience." in server.asked[3].text
    assert [web.seen[path] for path in ("/brakes", "/taxes", "/patience")] == [1, 1, 1]
    [again] = [end for end in await assay.events(SnippetsCompleted) if end.request_id == "r1" and end != first]
    assert [source.outcome for source in again.sources] == ["relevant", "not_fetched", "irrelevant", "relevant"]

    assert (first.request_id, first.query, first.failure) == ("r1", QUERY, None)
    assert [(source.url, source.outcome, source.failure) for source in first.sources] == [
        (urls[0], "relevant", None),
        (urls[1], "not_fetched", "unreachable"),
        (urls[2], "irrelevant", None),
        (urls[3], "timeout", None),
    ]
    assert [source.snippet for source in first.sources] == [PROSE, None, None, None]
    assert (second.request_id, second.failure, second.sources) == ("r2", "unknown_domain", ())

    assert Counter(event.outcome for event in judged) == Counter(("relevant", "irrelevant", "timeout"))
    [late] = [event for event in judged if event.outcome == "timeout"]
    assert late.llm
    assert late.llm.latency_ms <= 1000 * DEADLINE + 200
    snippets = await assay.events(SnippetExtracted)
    assert [(event.url, event.snippet) for event in snippets] == [(urls[n], PROSE) for n in (0, 0, 3)]
    fetched = await assay.events(ExtractionCompleted)
    assert Counter(event.status for event in fetched) == {"ok": 6, "failed": 2}
    assert {event.request_id for event in fetched} == {"r1"}


async def test_kill_loses_no_source_and_makes_no_second_completion(
    installing: Installing, web: Web, tmp_path: Path
) -> None:
    """SIGKILL while the second source is being judged; then others take over."""
    urls = [f"http://{HOST}/brakes", f"http://{HOST}/taxes", f"http://{DOWN}/"]
    async with model_server(by_message(judging)) as server:
        told = settings(server, web, tmp_path)
        told["models"]["tasks"]["judge_relevance"]["deadline_seconds"] = 60.0
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
    assert Counter(event.url for event in await assay.events(RelevanceJudged)) == Counter(urls[:2])
    assert web.seen["/brakes"] == web.seen["/taxes"] == 1
