"""What robots.txt allows (RFC 9309): one file an origin, fetched as carefully as any page, believed for a while.

Rules that are not there (4xx) allow everything; rules that can't be had (5xx, unreachable, refused) forbid everything
until they can be, for nobody can say what they are.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from protego import Protego

from schemas.outcome import FetchRefused
from streams.fetch.client import Response, Wanted
from streams.fetch.clock import Clock
from streams.fetch.guard import Target
from streams.fetch.locks import KeyedLocks
from streams.fetch.settings import FetchSettings

Get = Callable[[str, Wanted], Awaitable[Response | FetchRefused]]
"""Fetches an address through guard and client, redirects followed."""


@dataclass(frozen=True, slots=True)
class Permission:
    """Whether an address may be fetched, and the pause that the site asks for between two of them, in seconds."""

    allowed: bool
    crawl_delay: float = 0.0


class Robots:
    """Remembers the rules of origins."""

    def __init__(self, settings: FetchSettings, clock: Clock, get: Get) -> None:
        """Takes how a file is fetched."""
        self._settings = settings
        self._clock = clock
        self._get = get
        self._agent = settings.user_agent.split("/")[0].split()[0]
        self._locks = KeyedLocks()
        self._rules: OrderedDict[str, tuple[float, Protego | None]] = OrderedDict()

    async def permission(self, target: Target) -> Permission:
        """Whether a target may be fetched under its origin's rules."""
        if not self._settings.robots:
            return Permission(True)
        async with self._locks.hold(target.origin):
            rules = await self._of(target.origin)
        if rules is None:
            return Permission(False)
        delay = rules.crawl_delay(self._agent)
        return Permission(bool(rules.can_fetch(target.url, self._agent)), float(delay or 0.0))

    async def _of(self, origin: str) -> Protego | None:
        known = self._rules.get(origin)
        if known is not None and known[0] > self._clock.monotonic():
            return known[1]
        response = await self._get(f"{origin}/robots.txt", Wanted(None, self._settings.robots_max_bytes, cut=True))
        rules, ttl = self._read(response)
        self._rules[origin] = (self._clock.monotonic() + ttl, rules)
        self._rules.move_to_end(origin)
        while len(self._rules) > self._settings.hosts:
            self._rules.popitem(last=False)
        return rules

    def _read(self, response: Response | FetchRefused) -> tuple[Protego | None, float]:
        settings = self._settings
        if isinstance(response, FetchRefused) or response.status >= 500 or response.status == 429:
            return None, settings.robots_failure_ttl_seconds
        text = response.body.decode("utf-8", "replace") if 200 <= response.status < 300 else ""
        return Protego.parse(text), settings.robots_ttl_seconds
