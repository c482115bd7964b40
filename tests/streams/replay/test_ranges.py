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

FIRST = datetime(1970, 1, 1, tzinfo=UTC)
NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("start", "end", "since", "bounds"),
    [
        ("", "", "", (EARLIEST, LATEST)),
        ("earliest", "latest", "", (EARLIEST, LATEST)),
        ("", "", "7d", (Bound(at=NOW - timedelta(days=7)), LATEST)),
        ("2h", "90m", "", (Bound(at=NOW - timedelta(hours=2)), Bound(at=NOW - timedelta(minutes=90)))),
        ("2026-11-20", "2026-11-20T12:00+01:00", "", (
            Bound(at=datetime(2026, 11, 20, tzinfo=UTC)),
            Bound(at=datetime(2026, 11, 20, 11, tzinfo=UTC)),
        )),
        ("17", "3:40,5:41", "", (Bound(offset=17), Bound(offsets={3: 40, 5: 41}))),
        ("0001-01-01", "", "", (Bound(at=FIRST), LATEST)),
        ("0001-01-01T00:00+09:00", "", "", (Bound(at=FIRST), LATEST)),
        ("", "", "999999w", (Bound(at=FIRST), LATEST)),
        ("", "9999-12-31", "9999w", (Bound(at=FIRST), Bound(at=datetime(9999, 12, 31, tzinfo=UTC)))),
        ("2026-11-21T08:00", "2026-11-21T08:00Z", "", (Bound(at=NOW), Bound(at=NOW))),
        ("17", "17", "", (Bound(offset=17), Bound(offset=17))),
        ("20261321", "0:20261121", "", (Bound(offset=20261321), Bound(offsets={0: 20261121}))),
    ],
)  # fmt: skip
def test_bounds_as_they_are_typed(start: str, end: str, since: str, bounds: tuple[Bound, Bound]) -> None:
    assert bounds_of(start, end, since, NOW) == bounds


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


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (EARLIEST, LATEST, [(0, 0, 3), (1, 4, 4), (2, 5, 10)]),
        (Bound(at=NOW), LATEST, [(0, 2, 3), (1, 4, 4), (2, 9, 10)]),
        (Bound(at=NOW - timedelta(minutes=3)), LATEST, [(0, 0, 3), (1, 4, 4), (2, 6, 10)]),
        (EARLIEST, Bound(at=NOW - timedelta(minutes=1)), [(0, 0, 1), (1, 4, 4), (2, 5, 8)]),
        (Bound(at=NOW + timedelta(milliseconds=1)), LATEST, [(0, 3, 3), (1, 4, 4), (2, 10, 10)]),
        (EARLIEST, Bound(at=NOW + timedelta(milliseconds=1)), [(0, 0, 3), (1, 4, 4), (2, 5, 10)]),
        (Bound(offset=2), Bound(offset=7), [(0, 2, 3), (1, 4, 4), (2, 5, 7)]),
        (Bound(offsets={2: 6}), Bound(offsets={2: 8}), [(0, 3, 3), (1, 4, 4), (2, 6, 8)]),
        (Bound(offset=9), Bound(offset=2), [(0, 3, 3), (1, 4, 4), (2, 9, 9)]),
        (LATEST, LATEST, [(0, 3, 3), (1, 4, 4), (2, 10, 10)]),
        (EARLIEST, EARLIEST, [(0, 0, 0), (1, 4, 4), (2, 5, 5)]),
        (EARLIEST, Bound(offsets={2: 8}), [(0, 0, 3), (1, 4, 4), (2, 5, 8)]),
        (Bound(at=NOW), Bound(at=NOW), [(0, 2, 2), (1, 4, 4), (2, 9, 9)]),
    ],
)
async def test_find_ranges_of_every_partition(
    cluster: Cluster, start: Bound, end: Bound, expected: list[tuple[int, int, int]]
) -> None:
    assert await resolved(start, end) == expected
    [(servers, topics, committed)] = cluster.asked
    assert (servers, topics) == ("kafka.invalid:9092", (cluster.name,))
    assert not committed.get("uncommitted")


BOTH = "partition 1 from 0 to 3, partition 2 from 0 to 4"
OLD = datetime(1970, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("start", "end", "kept", "gone", "wanted"),
    [
        (Bound(offset=0), LATEST, None, f"9 offsets of pages.crawled.v1 are deleted (retention): {BOTH}", True),
        (Bound(offset=2), Bound(offset=3), None, "partition 1 from 2 to 2, partition 2 from 2 to 2", True),
        (Bound(offsets={2: 4}), LATEST, None, "partition 2 from 4 to 4", True),
        (Bound(offset=5), LATEST, None, "", True),
        (EARLIEST, LATEST, None, BOTH, False),
        (Bound(at=OLD), LATEST, 1e12, "", True),
        (Bound(at=OLD), LATEST, None, "", True),
        (Bound(at=OLD), LATEST, 60.0, f", which may belong to the range: {BOTH}", True),
    ],
)
async def test_what_is_deleted_of_a_range_is_named(
    cluster: Cluster, start: Bound, end: Bound, kept: float | None, gone: str, wanted: bool
) -> None:
    cluster.kept_seconds = kept
    settings = load_settings(kafka={"bootstrap_servers": "kafka.invalid:9092", "topic_prefix": "shop."})
    found = await find_ranges(settings, "pages.crawled.v1", start, end)
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
