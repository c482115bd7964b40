"""The parts of ``make bench`` that start workers, briefly and with made-up pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from streams.local_kafka.broker import LocalKafka
from tools.bench import feeds, runs

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(300)]
PAGES = [(f"https://site.example/{number}", b"<title>A page</title><p>Some text.</p>") for number in range(30)]


@pytest.fixture(scope="module")
def broker() -> Iterator[LocalKafka]:
    with LocalKafka() as kafka:
        yield kafka


@pytest.fixture(autouse=True)
def _pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "load_pages", lambda: PAGES)


async def test_the_bare_loop_reads_every_page_once(broker: LocalKafka) -> None:
    feed = await feeds.feed_pages(broker, 40)
    report = (await runs.bare(feed, "pages")).report
    assert report.records == 1200
    assert report.more["delivered"] == 1200
