"""The window of one input partition: records that were taken in and are not committed yet. No clock, no event loop.

Invariants, tested as properties:

1. Entries are in offset order; an offset is admitted once.
2. With ``serialize_by_key`` at most one entry of a key is started at a time, in offset order. Records without a key
   have no order.
3. Only the contiguous finished prefix is offered for commit, so an offset is never committed while an earlier record is
   unfinished. Transaction markers leave gaps between offsets; the prefix is contiguous in the order of admission.
4. Records held are bounded. ``room`` says how many more fit into the bytes, by the mean size of the records before.
   Larger ones exceed the bound; ``exceeds`` says when they take twice as much. A larger record is admitted alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

R = TypeVar("R")  # an input record
D = TypeVar("D")  # the result of a finished record


@dataclass(slots=True, eq=False)
class Entry(Generic[R, D]):
    """A record in a window. ``record`` is dropped once the entry is finished, to free its bytes."""

    offset: int
    key: Hashable
    size: int
    record: R | None
    window: Window[R, D]
    started_at: float | None = None
    done: D | None = None

    @property
    def finished(self) -> bool:
        return self.done is not None


class Window(Generic[R, D]):
    """A bounded window with a queue for each key."""

    def __init__(self, max_records: int, max_bytes: int, serialize_by_key: bool) -> None:
        self._max_records = max_records
        self._max_bytes = max_bytes
        self._by_key = serialize_by_key
        self._entries: deque[Entry[R, D]] = deque()
        self._waiting_by_key: dict[Hashable, deque[Entry[R, D]] | None] = {}
        """For each key with a started entry, the entries that wait; usually None."""
        self._bytes = 0
        self._admitted = self._admitted_bytes = 0
        self.last_offset = -1  # the highest offset admitted; -1 before the first

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def bytes_held(self) -> int:
        return self._bytes

    @property
    def started_since(self) -> float | None:
        """When the oldest unfinished entry was started; None if none is."""
        moments = (entry.started_at for entry in self._entries if entry.started_at is not None and not entry.finished)
        return min(moments, default=None)

    @property
    def room(self) -> int:
        """How many records may be admitted if they have the mean size of those before. An empty window has room."""
        records = self._max_records - len(self._entries)
        if self._admitted:
            records = min(records, (self._max_bytes - self._bytes) * self._admitted // max(1, self._admitted_bytes))
        return max(records, 0 if self._entries else 1)

    def exceeds(self, size: int) -> bool:
        """Whether a record of this size is one too many: larger records than before may take twice the bytes."""
        return bool(self._entries) and self._bytes + size > 2 * self._max_bytes

    def admit(self, offset: int, key: Hashable, size: int, record: R) -> Entry[R, D] | None:
        """Admits a record. Returns its entry if it may start at once, None if it waits for another one of its key.

        Raises ValueError: the offset is not above all admitted before.
        """
        if offset <= self.last_offset:
            raise ValueError(f"offset {offset} is not above {self.last_offset}")
        entry: Entry[R, D] = Entry(offset, key, size, record, self)
        self.last_offset = offset
        self._entries.append(entry)
        self._bytes += size
        self._admitted += 1
        self._admitted_bytes += size
        if not self._by_key or key is None:
            return entry
        if key not in self._waiting_by_key:
            self._waiting_by_key[key] = None
            return entry
        waiting = self._waiting_by_key[key]
        if waiting is None:
            waiting = self._waiting_by_key[key] = deque()
        waiting.append(entry)
        return None

    def finish(self, entry: Entry[R, D], done: D, size: int) -> Entry[R, D] | None:
        """Stores a result. Returns the next entry of the same key, which may start now; None if none waits."""
        self._bytes += size - entry.size
        entry.size = size
        entry.done = done
        entry.record = None
        if not self._by_key or entry.key is None:
            return None
        waiting = self._waiting_by_key[entry.key]
        if waiting:
            return waiting.popleft()
        del self._waiting_by_key[entry.key]
        return None

    def finished_prefix(self, max_records: int, max_bytes: int) -> list[Entry[R, D]]:
        """The entries that may be committed: finished, from the first one without a gap, within the bounds.

        A first entry that is finished is always among them, however large it is.
        """
        prefix: list[Entry[R, D]] = []
        total = 0
        for entry in self._entries:
            if entry.done is None or len(prefix) >= max_records or (prefix and total + entry.size > max_bytes):
                break
            prefix.append(entry)
            total += entry.size
        return prefix

    def release(self, count: int) -> None:
        """Removes the first ``count`` entries, which are committed. Raises ValueError if one is not finished."""
        for _ in range(count):
            entry = self._entries.popleft()
            if not entry.finished:
                raise ValueError(f"offset {entry.offset} is released before it is finished")
            self._bytes -= entry.size
