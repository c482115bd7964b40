"""The parts of ``make bench`` that start workers, briefly and with made-up pages."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tools.bench import feeds, hostile_run, promises, runs, start_up
from tools.bench.hostile import REASONS

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(300)]
PAGES = [(f"https://site.example/{number}", b"<title>A page</title><p>Some text.</p>") for number in range(30)]


@dataclass(frozen=True)
class Given:
    """The Kafka of the tests, whose process is not known."""

    bootstrap_servers: str
    pid: int | None = None


@pytest.fixture(autouse=True)
def _pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "load_pages", lambda: PAGES)
    monkeypatch.setattr(start_up, "load_pages", lambda: PAGES)


async def test_hostile_mix(kafka: str, topic_prefix: str) -> None:
    workers = {"processes": 1, "cpu_seconds": 0.5}
    its = await hostile_run.one_round(Given(kafka), 60, 20, workers, topic_prefix)
    assert its.verdicts.flawless, its.verdicts
    assert its.verdicts.processed == 51
    assert its.verdicts.dead == dict.fromkeys(REASONS.values(), 3)
    figures = hostile_run.figures([its], workers)
    assert figures["rebalances"] == 0
    assert its.mixed.report.children_cpu > 3 * 0.5
    rows = promises.promises({"hostile": figures})
    assert sum(row.measured != promises.UNMEASURED for row in rows) == 8


async def test_the_bare_loop_reads_every_page_once(kafka: str, topic_prefix: str) -> None:
    feed = await feeds.feed_pages(Given(kafka), 40, topic_prefix)
    report = (await runs.bare(feed, "pages")).report
    assert report.records == 1200
    assert report.more["delivered"] == 1200


async def test_start(kafka: str, topic_prefix: str) -> None:
    start = await start_up.measure(Given(kafka), {"processes": 1}, topic_prefix)
    assert 0 < start.ready <= start.first_result
    assert 0 < start.children_cpu < start.cpu
