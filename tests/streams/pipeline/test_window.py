"""The window: order by key, the contiguous finished prefix, and its bounds, under any order of completion."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from streams.pipeline.window import Entry, Window

Held = Entry[str, str]


def make(max_records: int = 10, max_bytes: int = 1000, ordered: bool = True) -> Window[str, str]:
    return Window(max_records, max_bytes, ordered)


def test_a_key_waits_for_its_turn() -> None:
    window = make()
    first = window.admit(5, b"a", 1, "r5")
    assert first is not None
    assert window.admit(6, b"a", 1, "r6") is None
    other = window.admit(7, b"b", 1, "r7")
    assert other is not None
    following = window.finish(first, "done", 1)
    assert following is not None
    assert following.offset == 6


def test_without_order_or_without_key_nobody_waits() -> None:
    unordered = make(ordered=False)
    assert unordered.admit(0, b"a", 1, "") is not None
    assert unordered.admit(1, b"a", 1, "") is not None
    keyless = make()
    assert keyless.admit(0, None, 1, "") is not None
    assert keyless.admit(1, None, 1, "") is not None


def test_only_the_contiguous_prefix_is_offered() -> None:
    window = make()
    entries = [window.admit(offset, None, 1, "") for offset in (3, 4, 9)]
    assert entries[1] is not None
    window.finish(entries[1], "done", 1)
    assert window.finished_prefix(10, 1000) == []
    assert entries[0] is not None
    window.finish(entries[0], "done", 1)
    assert [entry.offset for entry in window.finished_prefix(10, 1000)] == [3, 4]
    assert [entry.offset for entry in window.finished_prefix(1, 1000)] == [3]


def test_a_prefix_is_bounded_in_bytes_but_never_empty_for_it() -> None:
    window = make()
    for offset in range(3):
        entry = window.admit(offset, None, 1, "")
        assert entry is not None
        window.finish(entry, "done", 40)
    assert len(window.finished_prefix(10, 90)) == 2
    assert len(window.finished_prefix(10, 1)) == 1


def test_one_record_larger_than_the_bound_is_admitted_alone() -> None:
    window = make(max_bytes=10)
    assert window.has_room(50)
    window.admit(0, b"a", 50, "")
    assert not window.has_room(1)


def test_misuse_is_refused() -> None:
    window = make()
    entry = window.admit(4, None, 1, "")
    with pytest.raises(ValueError, match="not above"):
        window.admit(4, None, 1, "")
    with pytest.raises(ValueError, match="before it is finished"):
        window.release(1)
    assert entry is not None
    assert not make().owns(entry)


class WindowMachine(RuleBasedStateMachine):
    """Any order of admissions, completions and commits, held against a plain list."""

    def __init__(self) -> None:
        super().__init__()
        self.window = make(max_records=8, max_bytes=100)
        self.admitted: list[tuple[int, bytes | None]] = []
        self.started: list[Held] = []
        self.finished: set[int] = set()
        self.committed = 0
        self.offset = 0

    @rule(gap=st.integers(1, 3), key=st.sampled_from([None, b"a", b"b", b"c"]), size=st.integers(0, 60))
    def admit(self, gap: int, key: bytes | None, size: int) -> None:
        if not self.window.has_room(size):
            return
        self.offset += gap
        self.admitted.append((self.offset, key))
        entry = self.window.admit(self.offset, key, size, "r")
        if entry is not None:
            self.started.append(entry)

    @precondition(lambda self: self.started)
    @rule(data=st.data(), size=st.integers(0, 60))
    def finish(self, data: st.DataObject, size: int) -> None:
        entry = self.started.pop(data.draw(st.integers(0, len(self.started) - 1)))
        self.finished.add(entry.offset)
        following = self.window.finish(entry, "done", size)
        if following is not None:
            self.started.append(following)

    @rule(most=st.integers(1, 5), size=st.integers(1, 100))
    def commit(self, most: int, size: int) -> None:
        prefix = self.window.finished_prefix(most, size)
        expected = self.admitted[self.committed : self.committed + len(prefix)]
        assert [entry.offset for entry in prefix] == [offset for offset, _ in expected]
        assert all(entry.offset in self.finished for entry in prefix)
        self.window.release(len(prefix))
        self.committed += len(prefix)

    @invariant()
    def one_of_a_key_at_a_time_and_in_order(self) -> None:
        keys = [entry.key for entry in self.started if entry.key is not None]
        assert len(keys) == len(set(keys))
        for entry in self.started:
            earlier = [o for o, key in self.admitted if key == entry.key and key is not None and o < entry.offset]
            assert all(offset in self.finished for offset in earlier)

    @invariant()
    def nothing_is_forgotten(self) -> None:
        assert len(self.window) == len(self.admitted) - self.committed
        assert len(self.window) <= 8
        if not self.window:
            assert self.window.bytes_held == 0


TestWindowMachine = WindowMachine.TestCase
