"""The whole path of a query on a real Kafka (R-233): crawled, scored, indexed, ranked and labelled."""

import json
import re
from collections.abc import AsyncIterator
from html import escape
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from schemas.documents import DocumentIndexed
from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted
from streams.topology import HANDLERS
from tests.kafka.installation import Installing, until
from tests.streams.index.qdrant_server import QdrantServer
from tests.streams.llm.model_server import Wire, model_server, says

STAGES = ("retrieval", "bm25", "ranking", "mmr", "reasoning")
REQUESTED, INDEXED = "ranking.requested.v1", "documents.indexed.v1"
PATH = tuple(handler for handler in HANDLERS if handler.name in {"score_page", "index_page", "rank_results"})
CREDIT = '<meta name="author" content="Lin Mei"><meta property="article:published_time" content="2024-05-06T08:00:00Z">'
ROWS = "".join(f"<tr><td>{part}</td><td>{state}</td></tr>" for part, state in (("Gate", "shut"), ("Wall", "dry")))
TABLE = f"<table><tr><th>Part</th><th>State</th></tr>{ROWS}</table>"
SAID = "The Heron Valley dam was closed in May after the engineers had found a crack in its wall. "


@pytest.fixture
async def index() -> AsyncIterator[QdrantServer]:
    with QdrantServer().listening() as made:
        yield made


def crawled(url: str, title: str, text: str, head: str = "", body: str = "", **more: str) -> tuple[bytes, bytes]:
    """A page as a crawler brings it; what is said in it is escaped, as a page's own author would do."""
    html = (
        f"<html lang=en><head><title>{escape(title)}</title>{head}</head><body><article><h1>{escape(title)}</h1>"
        f"<p>{escape(text)}</p>{body}</article></body></html>"
    )
    return url.encode(), json.dumps({"url": url, "html": html, **more}).encode()


PAGES = (
    crawled(
        "https://water.gov.tw/dam",
        "Heron Valley dam closed in May",
        SAID * 6,
        CREDIT,
        f"<h2>State</h2><p>{SAID}</p>{TABLE}"
        "<p>It was built by <a href='https://engineers.example/'>the engineers</a> of the valley.</p>",
        site_name="Water Office",
    ),
    crawled("https://www.cna.com.tw/dam", "Dam closed", SAID * 4, CREDIT, site_name="中央社"),
    crawled("https://diary.example/dam", "My walk to the dam", f"A fine day in Heron Valley. {SAID}"),
    crawled("https://diary.example/soup", "Soup", "Leeks, potatoes and cream make a soup for cold days."),
)


async def reply(wire: Wire) -> None:
    """A judge that ranks the passages as they are shown."""
    numbers = [int(number) for number in re.findall(r"^<<passage (\d+) ", wire.asked.text, re.MULTILINE)]
    scores = [{"number": number, "score": round(1 / number, 3)} for number in numbers]
    await says(json.dumps({"scores": scores}))(wire)


async def test_pages_pass_from_crawl_to_context(installing: Installing, index: QdrantServer, tmp_path: Path) -> None:
    async with model_server(reply) as models:
        assay = await installing(
            PATH,
            index={"url": index.url},
            llm={"base_url": models.base_url, "model": "m", "cache_path": tmp_path / "llm.sqlite"},
            models={"limits": {"default": {"requests_per_minute": 60_000, "tokens_per_minute": 10_000_000}}},
        )
        request = RankingRequested(request_id="q", query="When was the Heron Valley dam closed?")

        async def are_indexed() -> bool:
            return len(await assay.read(INDEXED)) >= len(PAGES)

        with capture_logs() as logs:
            async with assay.running(*PATH) as application:
                await assay.feed(PAGES)
                await until(are_indexed)
                await assay.feed([(b"q", request.to_json())], REQUESTED)
                await until(application.drain_detector.reached, times=2)
        [event] = await assay.events(RankingCompleted)
        assert len(models.asked) == 1

    assert event.stages == STAGES
    [line] = [line for line in logs if line["event"] == "query answered"]
    assert line["stages"] == list(STAGES)
    assert line["cts_scores"] == [result.cts_score for result in event.results[:5]]
    assert line["trust_labels"] == [result.trust_label for result in event.results[:5]]

    scores = {page.url: page.cts_score for page in await assay.events(DocumentIndexed)}
    assert all(result.cts_score == scores[result.url] for result in event.results)
    assert all(result.trust_features is not None for result in event.results)
    labels = {result.url.split("/")[2]: result.trust_label for result in event.results}
    assert (labels["water.gov.tw"], labels["www.cna.com.tw"], labels["diary.example"]) == ("HIGH", "MEDIUM", "LOW")
    assert event.context.startswith("[TRUST_TIER: HIGH] Source: Water Office\n")
    assert "[TRUST_TIER: MEDIUM] Source: 中央社\n" in event.context
