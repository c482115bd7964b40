"""The window: order by key, the contiguous finished prefix, and its bounds, under any order of completion."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from streams.pipeline.window import Entry, Window

Held = Entry[str, str]


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
        self.started: list[Held] = []
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

    def start(self, entry: Held) -> None:
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
