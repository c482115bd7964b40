from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.structs import OffsetAndTimestamp

from schemas.replays import OffsetRange
from streams.kafka.groups import TopicState
from streams.kafka.settings import KafkaSettings
from streams.replay import ranges
from streams.replay.plan import ReplayError
from streams.replay.ranges import EARLIEST, LATEST, Bound, bounds_of, count, find_ranges
from streams.settings.model import load_settings
from tests.tables import tables

TABLES = tables(__file__)

NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)
Wanted = dict[str, Any]
"""A bound by its attribute."""


@pytest.mark.parametrize(("start", "end", "since", "bounds"), TABLES["bounds_as_they_are_typed"])
def test_bounds_as_they_are_typed(start: str, end: str, since: str, bounds: tuple[Wanted, Wanted]) -> None:
    assert bounds_of(start, end, since, NOW) == (Bound(**bounds[0]), Bound(**bounds[1]))


@pytest.mark.parametrize(("start", "end", "since", "says"), TABLES["what_is_typed_wrong_is_refused"])
def test_what_is_typed_wrong_is_refused(start: str, end: str, since: str, says: str) -> None:
    with pytest.raises(ReplayError, match=says):
        bounds_of(start, end, since, NOW)


def test_a_range_has_no_less_than_nothing() -> None:
    assert count((OffsetRange(partition=0, start=3, end=10), OffsetRange(partition=1, start=4, end=4))) == 7
    with pytest.raises(ValueError, match="ends before"):
        OffsetRange(partition=0, start=3, end=2)


@dataclass
class Cluster:
    """The reader and the admin client of a cluster with one topic: first and end offset of each partition, by number.

    The records of a partition are a minute apart; the last one is written at NOW.
    """

    logs: dict[int, tuple[int, int]]
    name: str = "shop.pages.crawled.v1"
    kept_seconds: float | None = None
    asked: list[Any] = field(default_factory=list)

    def make(self, settings: KafkaSettings, *topics: str, **options: Any) -> Cluster:
        if topics:
            self.asked.append((settings.bootstrap_servers, topics, options))
        return self

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def list_topics(self) -> list[str]:
        return [self.name]

    def partitions_for_topic(self, name: str) -> set[int] | None:
        return set(self.logs) if name == self.name else None

    async def beginning_offsets(self, places: list[TopicPartition]) -> dict[TopicPartition, int]:
        return {place: self.logs[place.partition][0] for place in places}

    async def end_offsets(self, places: list[TopicPartition]) -> dict[TopicPartition, int]:
        return {place: self.logs[place.partition][1] for place in places}

    async def offsets_for_times(self, times: dict[TopicPartition, int]) -> dict[TopicPartition, Any]:
        found: dict[TopicPartition, Any] = {}
        for place, instant in times.items():
            first, end = self.logs[place.partition]
            written = {end - 1 - n: int((NOW - timedelta(minutes=n)).timestamp() * 1000) for n in range(end - first)}
            later = [offset for offset, at in written.items() if at >= instant]
            found[place] = OffsetAndTimestamp(min(later), written[min(later)]) if later else None
        return found


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster({2: (5, 10), 0: (0, 3), 1: (4, 4)})
    monkeypatch.setattr(ranges, "make_reader", made.make)
    monkeypatch.setattr(ranges, "make_admin", made.make)

    async def read_topics(_: Any, topics: list[str]) -> dict[str, TopicState]:
        return {topic: TopicState((0, 1, 2), made.kept_seconds) for topic in topics}

    monkeypatch.setattr(ranges, "read_topics", read_topics)
    return made


async def resolved(*bounds: Bound, topic: str = "pages.crawled.v1", **options: Any) -> list[tuple[int, int, int]]:
    settings = load_settings(kafka={"bootstrap_servers": "kafka.invalid:9092", "topic_prefix": "shop."})
    return [
        (its.partition, its.start, its.end) for its in (await find_ranges(settings, topic, *bounds, **options)).ranges
    ]


@pytest.mark.parametrize(("start", "end", "expected"), TABLES["find_ranges_of_every_partition"])
async def test_find_ranges_of_every_partition(
    cluster: Cluster, start: Wanted, end: Wanted, expected: tuple[tuple[int, int, int], ...]
) -> None:
    assert await resolved(Bound(**start), Bound(**end)) == [*expected]
    [(servers, topics, committed)] = cluster.asked
    assert (servers, topics) == ("kafka.invalid:9092", (cluster.name,))
    assert not committed.get("uncommitted")


@pytest.mark.parametrize(("start", "end", "kept", "gone", "wanted"), TABLES["what_is_deleted_of_a_range_is_named"])
async def test_what_is_deleted_of_a_range_is_named(
    cluster: Cluster, start: Wanted, end: Wanted, kept: float | None, gone: str, wanted: bool
) -> None:
    cluster.kept_seconds = kept
    settings = load_settings(kafka={"bootstrap_servers": "kafka.invalid:9092", "topic_prefix": "shop."})
    found = await find_ranges(settings, "pages.crawled.v1", Bound(**start), Bound(**end))
    assert found.gone.endswith(gone)
    assert bool(found.gone) is bool(gone)
    assert not gone or found.wanted is wanted


@pytest.mark.parametrize("bounds", [(Bound(offsets={1: 4, 3: 0}), LATEST), (EARLIEST, Bound(offsets={3: 0, 4: 0}))])
async def test_find_ranges_refuses_an_unknown_partition(cluster: Cluster, bounds: tuple[Bound, Bound]) -> None:
    with pytest.raises(ReplayError, match=r"^there is no partition 3; there are 0 to 2$"):
        await resolved(*bounds)


async def test_find_ranges_refuses_an_unknown_topic(cluster: Cluster) -> None:
    with pytest.raises(ReplayError, match=r"^there is no topic shop\.other\.v1 on the cluster; `assay topics create`"):
        await resolved(topic="other.v1")
    assert cluster.asked == [], "a reader would wait for the topic"
    cluster.logs.clear()
    with pytest.raises(ReplayError, match=r"^there is no topic shop\.pages\.crawled\.v1 on the cluster"):
        await resolved()
