"""The parts of ``make bench`` that start workers, briefly and with made-up pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from streams.local_kafka.broker import LocalKafka
from tools.bench import feeds, hostile_run, promises, runs, start_up
from tools.bench.hostile import REASONS

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(300)]
PAGES = [(f"https://site.example/{number}", b"<title>A page</title><p>Some text.</p>") for number in range(30)]


@pytest.fixture(scope="module")
def broker() -> Iterator[LocalKafka]:
    with LocalKafka() as kafka:
        yield kafka


@pytest.fixture(autouse=True)
def _pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "load_pages", lambda: PAGES)
    monkeypatch.setattr(start_up, "load_pages", lambda: PAGES)


async def test_hostile_mix(broker: LocalKafka) -> None:
    workers = {"processes": 1, "cpu_seconds": 5}
    its = await hostile_run.one_round(broker, 20, 20, workers, "mix.")
    assert its.verdicts.flawless, its.verdicts
    assert its.verdicts.processed == 17
    assert its.verdicts.dead == dict.fromkeys(REASONS.values(), 1)
    figures = hostile_run.figures([its], workers)
    assert figures["rebalances"] == 0
    assert its.mixed.report.children_cpu > 2
    assert its.mixed.report.broker_cpu > 0
    rows = promises.promises({"hostile": figures})
    assert sum(row.measured != promises.UNMEASURED for row in rows) == 8


async def test_the_bare_loop_reads_every_page_once(broker: LocalKafka) -> None:
    feed = await feeds.feed_pages(broker, 40)
    report = (await runs.bare(feed, "pages")).report
    assert report.records == 1200
    assert report.more["delivered"] == 1200


async def test_start(broker: LocalKafka) -> None:
    start = await start_up.measure(broker, {"processes": 1}, "start.")
    assert 0 < start.ready <= start.first_result
    assert 0 < start.children_cpu < start.cpu
