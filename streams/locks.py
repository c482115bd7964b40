"""A few holders for each key at a time, and no table that grows: a key that nobody holds or waits for is forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class KeyedLocks:
    """Locks by key, first come, first served. Not safe across event loops."""

    def __init__(self, holders: int = 1) -> None:
        """So many may hold a key at once."""
        self._holders = holders
        self._locks: dict[str, tuple[asyncio.Semaphore, int]] = {}

    def __len__(self) -> int:
        return len(self._locks)

    @asynccontextmanager
    async def hold(self, key: str) -> AsyncIterator[None]:
        """Waits for the key and holds it."""
        lock, users = self._locks.get(key, (asyncio.Semaphore(self._holders), 0))
        self._locks[key] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks[key]
            if users == 1:
                del self._locks[key]
            else:
                self._locks[key] = (lock, users - 1)
