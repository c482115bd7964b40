"""Instants become offsets of a real topic."""

from datetime import UTC, datetime, timedelta

from streams.kafka.clients import make_producer, opened
from streams.kafka.topics import create_topics
from streams.replay.ranges import EARLIEST, LATEST, Bound, find_ranges
from streams.topology import PAGES_CRAWLED
from tests.kafka.installation import install
from tests.tables import tables

TABLES = tables(__file__)

FIRST = datetime(2026, 11, 21, 8, tzinfo=UTC)
AFTER = Bound(at=FIRST + timedelta(days=1))


async def test_instant_maps_to_the_first_record_at_or_after_it(kafka: str, topic_prefix: str) -> None:
    settings = install(kafka, topic_prefix)
    await create_topics(settings.kafka, [PAGES_CRAWLED], [])
    async with opened(make_producer(settings.kafka, None, "feed")) as producer:
        for number in range(4):
            written = FIRST + timedelta(seconds=10 * number)
            await producer.send_and_wait(
                topic_prefix + PAGES_CRAWLED.name, b"{}", partition=1, timestamp_ms=int(written.timestamp() * 1000)
            )
    found = {}
    for name, start, end in [
        ("all", EARLIEST, LATEST),
        ("from the second", Bound(at=FIRST + timedelta(seconds=10)), LATEST),
        ("from between the second and the third", Bound(at=FIRST + timedelta(seconds=11)), LATEST),
        ("to the third", EARLIEST, Bound(at=FIRST + timedelta(seconds=20))),
        ("from after the last", AFTER, LATEST),
        ("to after the last", EARLIEST, AFTER),
    ]:
        ranges = (await find_ranges(settings, PAGES_CRAWLED.name, start, end)).ranges
        assert [its.partition for its in ranges] == list(range(PAGES_CRAWLED.partitions))
        assert {(its.start, its.end) for its in ranges if its.partition != 1} == {(0, 0)}
        found[name] = (ranges[1].start, ranges[1].end)
    assert found == TABLES["instant_maps_to_the_first_record_at_or_after_it"]
