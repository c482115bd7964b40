"""Limits requests to each host: one at a time, and a pause that follows the host's response time.

A host that takes two seconds to answer gets a pause of about two seconds. Only an answer with the requested content
shortens the pause: errors and redirects cost a server little. Crawl-delay and Retry-After are added.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from streams.fetch.settings import FetchSettings
from streams.runtime.clock import Clock
from streams.runtime.files import KeyedLocks


@dataclass(slots=True)
class HostTurn:
    """One request to a host; its holder reports the result."""

    latency: float | None = None
    served: bool = False
    failed: bool = False
    retry_after: float | None = None

    def answered(self, latency: float, *, served: bool) -> None:
        """The host answered after ``latency`` seconds; ``served`` if it sent the content (2xx, 304)."""
        self.latency, self.served = latency, served

    def failure(self, retry_after: float | None = None) -> None:
        """The host did not answer, or is overloaded; ``retry_after`` is its Retry-After in seconds."""
        self.failed, self.retry_after = True, retry_after


@dataclass(eq=False, repr=False)
class HostPacing:
    """Turns at hosts, in order of arrival."""

    settings: FetchSettings
    clock: Clock
    _locks: KeyedLocks = field(default_factory=KeyedLocks, init=False)
    _paces: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict, init=False)
    """Of each host its pause, and when it is ready for a request on the monotonic clock."""

    def wait(self, host: str) -> float:
        """Seconds until the host may get a request, without the queue before it."""
        return max(0.0, self._paces[host][1] - self.clock.monotonic()) if host in self._paces else 0.0

    @asynccontextmanager
    async def turn(self, host: str, crawl_delay: float = 0.0) -> AsyncIterator[HostTurn | None]:
        """Waits for the host and holds its queue for the block.

        Yields None if the host asked for a longer pause than the settings allow. ``crawl_delay`` is in seconds.
        """
        patience = max(self.settings.retry_after_seconds, self.settings.max_delay_seconds)
        async with self._locks.hold(host):
            while (seconds := self.wait(host)) > 0:
                if seconds > patience:
                    yield None
                    return
                await self.clock.sleep(seconds)
            turn = HostTurn()
            try:
                yield turn
            finally:
                self._learn(host, turn, crawl_delay)

    def _learn(self, host: str, turn: HostTurn, crawl_delay: float) -> None:
        if turn.latency is None and not turn.failed:
            return
        settings = self.settings
        most = max(settings.max_delay_seconds, settings.min_delay_seconds)
        least = min(max(settings.min_delay_seconds, crawl_delay), most)
        before, _ = self._paces.pop(host, (least, 0.0))
        if turn.failed or turn.latency is None:
            after = 2 * before
        else:
            # Half way towards the latency, as in Scrapy's AutoThrottle.
            after = (before + turn.latency) / 2
            after = after if turn.served else max(before, after)
        delay = min(max(after, least), most)
        pause = max(delay, turn.retry_after or 0.0)
        self._paces[host] = (delay, self.clock.monotonic() + pause)
        while len(self._paces) > settings.hosts:
            self._paces.popitem(last=False)
