"""An extraction on a real Kafka and a real web server on loopback, with a kill between fetch and commit."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiokafka import ConsumerRecord

from schemas.extraction import ExtractionCompleted, ExtractionNeeded, ExtractionTrigger
from tests.kafka.installation import CRAWLED, Installation, Installing, handlers_named, process, until, until_killed
from tests.streams.fetch.web import Web, response, serving

PLACE = "Blue Heron Hall"
"""Where the concerts are, which is said on the pages of their details alone."""


def listing(*paths: str) -> bytes:
    cards = "".join(
        f'<li class="card"><article><h3><a href="{path}">Concert {path[1:]}</a></h3><p>Read more</p></article></li>'
        for path in paths
    )
    return response(f"<title>All concerts</title><main><h1>All concerts</h1><ul>{cards}</ul></main>")


def detail(number: int) -> bytes:
    return response(
        f"<title>Evening {number} with the quartet</title><main><h1>Evening {number} with the quartet</h1>"
        f"<p>Date: November 29, 2026. Time: 8:00 PM. Venue: {PLACE}, 12 Quay Street. Price: $25. The quartet "
        "plays songs of the sea in the old hall by the harbour, with an interval of twenty minutes and soup.</p></main>"
    )


def offer(web: Web) -> None:
    """Has a listing of three concerts and their details served."""
    web.routes |= {f"/concerts/{number}-quartet": detail(number) for number in (11, 12, 13)}
    web.routes["/concerts"] = listing(*web.routes)


BATCHES = "retrieval.batches.v1"
NEEDED, COMPLETED = "extraction.needed.v1", "extraction.completed.v1"
[FETCH] = handlers_named("fetch_page")
HOST = "kalender.example"
QUERY = "concerts in Harbour Town this week"


def needed(host: str) -> tuple[bytes, bytes]:
    event = ExtractionNeeded(
        extraction_id=f"e-{host}",
        batch_id=f"b-{host}",
        query=QUERY,
        reason=ExtractionTrigger.AGGREGATOR_DETECTED,
        target_url=f"http://{host}/concerts",
        actionable_information=0.2,
    )
    return host.encode(), event.to_json()


def ids(records: Sequence[ConsumerRecord]) -> list[str]:
    return sorted(dict(record.headers)["ce_id"].decode() for record in records)


def asked_for(web: Web) -> dict[str, int]:
    return {path: count for path, count in web.seen.items() if path != "/robots.txt"}


@pytest.fixture
async def web() -> AsyncIterator[Web]:
    async with serving() as running:
        offer(running)
        yield running


def fetching(web: Web, tmp_path: Path, *hosts: str, **changes: Any) -> dict[str, Any]:
    return {
        "resolve": dict.fromkeys((HOST, *hosts), web.place),
        "min_delay_seconds": 0.0,
        "first_backoff_seconds": 0.0,
        "max_backoff_seconds": 0.0,
        "cache_path": str(tmp_path / "fetch.sqlite"),
        **changes,
    }


async def install(installing: Installing, fetch: dict[str, Any]) -> Installation:
    return await installing([FETCH], fetch=fetch)


async def test_what_was_fetched_before_a_kill_is_not_fetched_again(
    installing: Installing, web: Web, tmp_path: Path
) -> None:
    """The worker dies by SIGKILL with two details fetched and nothing committed; then the group is set back."""
    released = asyncio.Event()
    begun = 0

    async def third_waits(page: bytes, writer: asyncio.StreamWriter) -> None:
        nonlocal begun
        begun += 1
        if begun == 3:
            await released.wait()
        writer.write(page)
        await writer.drain()

    for number in (11, 12, 13):
        web.routes[f"/concerts/{number}-quartet"] = partial(third_waits, detail(number))
    fetch = fetching(web, tmp_path)
    assay = await install(installing, fetch)
    await assay.feed([needed(HOST)], NEEDED)
    given = {f"fetch__{name}": value for name, value in fetch.items()}
    worker = await process(assay.settings, "run", "fetch_page", kafka__session_timeout_seconds=6, **given)
    async with until_killed(worker):
        await until(lambda: begun == 3 or worker.returncode is not None)
        assert worker.returncode is None, "it still waits for the third"
    assert await assay.read(COMPLETED) == []
    released.set()
    await assay.drain(FETCH)
    [completed] = await assay.events(ExtractionCompleted)
    assert (completed.status, len(completed.fetched)) == ("ok", 3)
    assert sorted(asked_for(web).values()) == [1, 1, 1, 2], "only the one that never came was asked for again"
    assert web.seen["/robots.txt"] == 1
    before, outputs = Counter(web.seen), ids(await assay.read(COMPLETED, BATCHES, CRAWLED))
    await assay.set_back(FETCH)
    await assay.drain(FETCH)
    assert web.seen == before
    again = Counter(ids(await assay.read(COMPLETED, BATCHES, CRAWLED)))
    assert sorted(again) == outputs
    assert set(again.values()) == {2}, "the same events under the same ids"
