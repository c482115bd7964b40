"""The window: order by key, the contiguous finished prefix, and its bounds, under any order of completion."""

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest
from aiokafka import TopicPartition
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from streams.pipeline.commit import CommitResult, Committer
from streams.pipeline.consumer import PartitionCursor
from streams.pipeline.partition import Held, Partition
from streams.pipeline.processor import Done, RecordProcessor
from streams.pipeline.window import Entry, Window
from streams.settings.model import PipelineSettings
from streams.topology.codec import OutputRecord
from tests.streams.doubles import VirtualClock, raw_record

Item = Entry[str, str]


def make(max_records: int = 10, max_bytes: int = 1000, ordered: bool = True) -> Window[str, str]:
    return Window(max_records, max_bytes, ordered)


def test_room_follows_from_the_mean_size_of_the_records_before() -> None:
    window = make(max_records=8, max_bytes=100)
    assert window.room == 8
    window.admit(0, b"a", 10, "")
    assert window.room == 7
    window.admit(1, b"b", 30, "")
    assert window.room == 3


def test_larger_records_than_before_may_take_twice_the_bytes() -> None:
    window = make(max_bytes=100)
    assert not window.exceeds(1000)
    window.admit(0, b"a", 50, "")
    assert not window.exceeds(150)
    assert window.exceeds(151)


def test_misuse_is_refused() -> None:
    window = make()
    entry = window.admit(4, None, 1, "")
    with pytest.raises(ValueError, match="not above"):
        window.admit(4, None, 1, "")
    with pytest.raises(ValueError, match="before it is finished"):
        window.release(1)
    assert entry is not None


class WindowMachine(RuleBasedStateMachine):
    """Any order of admissions, completions and commits, compared with a plain list."""

    def __init__(self) -> None:
        super().__init__()
        self.admitted: list[tuple[int, bytes | None]] = []
        self.started: list[Item] = []
        self.finished: set[int] = set()
        self.sizes: list[int] = []
        self.admitted_sizes: list[int] = []
        self.committed = 0
        self.offset = 0
        self.now = 0.0

    @initialize(ordered=st.booleans())
    def begin(self, ordered: bool) -> None:
        self.ordered = ordered
        self.window = make(max_records=8, max_bytes=100, ordered=ordered)

    @property
    def held(self) -> list[int]:
        """The sizes of what is held."""
        return self.sizes[self.committed :]

    @rule(gap=st.integers(1, 3), key=st.sampled_from([None, b"a", b"b", b"c"]), size=st.integers(0, 60))
    def admit(self, gap: int, key: bytes | None, size: int) -> None:
        if not self.window.room:
            assert len(self.held) == 8 or sum(self.held) + sum(self.admitted_sizes) / len(self.admitted_sizes) > 100
            return
        assert len(self.held) < 8
        self.admitted_sizes.append(size)
        waits = self.ordered and key is not None and any(k == key for k in self.unfinished)
        self.offset += gap
        self.admitted.append((self.offset, key))
        self.sizes.append(size)
        entry = self.window.admit(self.offset, key, size, "r")
        assert (entry is None) is waits
        if entry is not None:
            self.start(entry)

    @property
    def unfinished(self) -> list[bytes | None]:
        """Keys of what is admitted and not finished."""
        return [key for offset, key in self.admitted if offset not in self.finished]

    def start(self, entry: Item) -> None:
        assert (entry.window, entry.record, entry.finished) == (self.window, "r", False)
        self.now += 1
        entry.started_at = self.now
        self.started.append(entry)

    @precondition(lambda self: self.started)
    @rule(data=st.data(), size=st.integers(0, 60))
    def finish(self, data: st.DataObject, size: int) -> None:
        entry = self.started.pop(data.draw(st.integers(0, len(self.started) - 1)))
        self.finished.add(entry.offset)
        self.sizes[[offset for offset, _ in self.admitted].index(entry.offset)] = size
        following = self.window.finish(entry, "", size)
        assert (entry.record, entry.done, entry.finished) == (None, "", True)
        assert (following is None) is (not self.ordered or entry.key is None or entry.key not in self.unfinished)
        if following is not None:
            self.start(following)

    @rule(most=st.integers(1, 5), size=st.integers(1, 100))
    def commit(self, most: int, size: int) -> None:
        prefix = self.window.finished_prefix(most, size)
        expected: list[int] = []
        total = 0
        for (offset, _), taken in zip(self.admitted[self.committed :], self.held, strict=True):
            total += taken
            if offset not in self.finished or len(expected) == most or (expected and total > size):
                break
            expected.append(offset)
        assert [entry.offset for entry in prefix] == expected
        self.window.release(len(prefix))
        self.committed += len(prefix)

    @invariant()
    def one_of_a_key_at_a_time_and_in_order(self) -> None:
        if not self.ordered:
            assert len(self.started) == len(self.unfinished)
            return
        keys = [entry.key for entry in self.started if entry.key is not None]
        assert len(keys) == len(set(keys))
        for entry in self.started:
            earlier = [o for o, key in self.admitted if key == entry.key and key is not None and o < entry.offset]
            assert all(offset in self.finished for offset in earlier)

    @invariant()
    def nothing_is_forgotten(self) -> None:
        assert len(self.window) == len(self.held) <= 8
        assert self.window.bytes_held == sum(self.held)
        assert self.window.started_since == min((entry.started_at or 0.0 for entry in self.started), default=None)
        assert self.window.last_offset == (self.admitted[-1][0] if self.admitted else -1)


TestWindowMachine = WindowMachine.TestCase


# --- one partition ---------------------------------------------------------------------------------------------------


PLACE = TopicPartition("in", 0)
DONE = Done.of(OutputRecord("out", b"a", b"0", ()))


class Commits(Committer):
    """Commits that work."""

    def __init__(self) -> None:
        self.made: list[int] = []

    async def open(self) -> int:
        return 0

    async def commit(self, outputs: Sequence[OutputRecord], next_offset: int) -> CommitResult:  # noqa: ARG002
        self.made.append(next_offset)
        return CommitResult(next_offset)

    async def close(self) -> None:
        """Holds nothing."""


class Cursor(PartitionCursor):
    """A place that the test moves."""

    def __init__(self) -> None:
        self.next_offset = self.delivered_to = 0
        self.closed = self.breaker_open = False

    @property
    def position(self) -> int:
        return max(self.next_offset, self.delivered_to)

    def start_at(self, offset: int, room: int) -> None:  # noqa: ARG002
        self.next_offset = offset

    def set_room(self, records: int) -> None:
        """No consumer asks."""

    def discard_old_poll(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True


async def opened(commits: Commits, cursor: Cursor) -> tuple[Partition, list[Held]]:
    """A running partition, and the records that it has started."""
    started: list[Held] = []
    settings = PipelineSettings(commit_linger_seconds=0.0)
    partition = Partition(
        PLACE,
        cursor,
        commits,
        cast("RecordProcessor", None),
        settings,
        VirtualClock(),
        lambda _, held: started.append(held),
        serialize_by_key=True,
    )
    partition.open()
    await asyncio.sleep(0)
    assert partition.opened
    return partition, started


async def test_a_late_result_does_not_start_the_next_record() -> None:
    """Another process moved the offset, so the records are taken in again."""
    records = [raw_record(offset=number) for number in range(2)]
    partition, started = await opened(Commits(), Cursor())
    partition.admit(records)
    partition._resume_from(0)
    partition.admit(records)
    late, again = started
    partition.finish(late, DONE)
    assert started == [late, again]
    await partition.close(0)


@pytest.mark.parametrize(("moved", "made"), [(0, []), (7, [7])])
async def test_a_position_behind_markers_is_committed(moved: int, made: list[int]) -> None:
    commits, cursor = Commits(), Cursor()
    partition, _ = await opened(commits, cursor)
    cursor.delivered_to = moved
    partition.tick()
    await asyncio.sleep(0.01)
    assert commits.made == made
    await partition.close(0)
