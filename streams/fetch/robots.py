"""What robots.txt allows (RFC 9309): one file an origin, fetched as carefully as any page, believed for a while.

Rules that are not there (4xx) allow everything; rules that can't be had (5xx, unreachable, refused) forbid everything
until they can be, for nobody can say what they are.
"""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from protego import Protego

from schemas.outcome import FetchFailure, FetchRefused
from streams.fetch.client import Response, Wanted
from streams.fetch.clock import Clock
from streams.fetch.guard import Target
from streams.fetch.settings import FetchSettings
from streams.locks import KeyedLocks

Get = Callable[[str, Wanted], Awaitable[Response | FetchRefused]]
"""Fetches an address through guard and client, redirects followed."""

_AGENT_LINE = re.compile(r"[ \t\ufeff]*user[- ]?agent[ \t]*:?[ \t]*(.{0,500})", re.IGNORECASE)
_DOWN = frozenset(
    (FetchFailure.UNREACHABLE, FetchFailure.TIMEOUT, FetchFailure.UNRESOLVABLE, FetchFailure.RATE_LIMITED)
)
"""Reasons for a missing robots.txt that say more than that it forbids."""


@dataclass(frozen=True, slots=True)
class Permission:
    """Why an address may not be fetched, None where it may; and the pause that the site asks for, in seconds."""

    refusal: FetchFailure | None
    crawl_delay: float = 0.0


class Robots:
    """Remembers the rules of origins."""

    def __init__(self, settings: FetchSettings, clock: Clock, get: Get) -> None:
        """Takes how a file is fetched."""
        self._settings = settings
        self._clock = clock
        self._get = get
        self._agent = settings.user_agent.partition("/")[0].split()[0].lower()
        self._locks = KeyedLocks()
        self._rules: OrderedDict[str, tuple[float, Protego | FetchFailure]] = OrderedDict()

    async def permission(self, target: Target) -> Permission:
        """Whether a target may be fetched under its origin's rules.

        Rules that can't be had forbid, for the reason that they can't be had; so a host that is down is called that.
        """
        if not self._settings.robots:
            return Permission(None)
        async with self._locks.hold(target.origin):
            rules = await self._of(target.origin)
        if isinstance(rules, FetchFailure):
            return Permission(rules)
        delay = float(rules.crawl_delay(self._agent) or 0.0)
        allowed = rules.can_fetch(target.url, self._agent)
        return Permission(None if allowed else FetchFailure.ROBOTS, delay)

    async def _of(self, origin: str) -> Protego | FetchFailure:
        known = self._rules.get(origin)
        if known is not None and known[0] > self._clock.monotonic():
            return known[1]
        response = await self._get(f"{origin}/robots.txt", Wanted(None, self._settings.robots_max_bytes, cut=True))
        rules = await asyncio.to_thread(self._read, response)
        lasting = not isinstance(rules, FetchFailure)
        ttl = self._settings.robots_ttl_seconds if lasting else self._settings.robots_failure_ttl_seconds
        self._rules[origin] = (self._clock.monotonic() + ttl, rules)
        self._rules.move_to_end(origin)
        while len(self._rules) > self._settings.hosts:
            self._rules.popitem(last=False)
        return rules

    def _read(self, response: Response | FetchRefused) -> Protego | FetchFailure:
        if isinstance(response, FetchRefused):
            if response.reason is FetchFailure.TOO_MANY_REDIRECTS:
                return Protego.parse("")  # as if there were none, RFC 9309, 2.3.1.2
            return response.reason if response.reason in _DOWN else FetchFailure.ROBOTS
        text = response.body.decode("utf-8-sig", "replace") if 200 <= response.status < 300 else ""
        return Protego.parse(rules_for(self._agent, text))


def rules_for(agent: str, text: str) -> str:
    r"""A robots.txt in which all other agents are one.

    The parser keeps every rule once for each agent that it is for, so a file of some hundred kilobytes that names
    thousands of agents would fill the memory.

    >>> rules_for("assaybot", "User-agent: x\nUser-agent: y-2\nDisallow: /\nUser-agent: *\nAllow: /")
    'User-agent: -\nDisallow: /\nUser-agent: *\nAllow: /'
    """
    kept: list[str] = []
    for line in text.splitlines():
        found = _AGENT_LINE.match(line)
        name = found.group(1).partition("#")[0].strip().lower() if found else ""
        if not name:
            kept.append(line)
            continue
        plain = name.replace("*", "")
        if plain:
            name = plain if plain in agent else "-"
        line_of_name = f"User-agent: {name}"
        if not kept or kept[-1] != line_of_name:
            kept.append(line_of_name)
    return "\n".join(kept)
