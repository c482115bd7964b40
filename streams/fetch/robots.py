"""Obeys robots.txt (RFC 9309): one file for each origin, fetched through the guard and cached.

A missing file (4xx) allows everything. A file that can't be fetched (5xx, 429, unreachable, refused) forbids everything
until it can be fetched.
"""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from protego import Protego

from schemas.replies import FetchedPage, FetchFailure, FetchRefused
from streams.fetch.cache import ROBOTS, FetchCache
from streams.fetch.client import Accepts, Response
from streams.fetch.guard import Target
from streams.fetch.settings import FetchSettings
from streams.runtime.clock import Clock
from streams.runtime.files import KeyedLocks

Get = Callable[[str, Accepts], Awaitable[Response | FetchRefused]]
"""Fetches an address through guard and client and follows redirects."""

_AGENT_LINE = re.compile(r"[ \t\ufeff]*user[- ]?agent(?=[ \t:])[ \t]*:?[ \t]*(.{0,500})", re.IGNORECASE)
_DELAY_LINE = re.compile(
    r"[ \t\ufeff]*crawl[- ]delay[ \t]*:[ \t]*([0-9]{1,6}(?:\.[0-9]{1,6})?)[ \t]*(?:#|$)", re.IGNORECASE
)
_LONGEST = 1_000_000
_TOKEN = re.compile(r"[^\s/#]+")
_DOWN = frozenset(
    (FetchFailure.UNREACHABLE, FetchFailure.TIMEOUT, FetchFailure.UNRESOLVABLE, FetchFailure.RATE_LIMITED)
)
"""Reasons that are reported instead of ``ROBOTS``, because the host itself is down."""


@dataclass(frozen=True, slots=True)
class Permission:
    """Why an address may not be fetched (None: it may), the crawl delay in seconds, and why there are no rules."""

    refusal: FetchFailure | None
    crawl_delay: float = 0.0
    detail: str = ""


class RobotsRules:
    def __init__(self, agent: str, text: str) -> None:
        """Parses any text without an error. ``agent`` is our name in lower case."""
        self._agent = agent
        self._parsed = Protego.parse(rules_for(agent, text))
        self._for_all = _delay_before_groups(text)

    def allows(self, url: str) -> bool:
        return bool(self._parsed.can_fetch(url, self._agent))

    @property
    def crawl_delay(self) -> float:
        """Seconds between two requests: the longer of Crawl-delay and Request-rate, or 0.

        A Crawl-delay before the first group applies to every agent.
        """
        delay = self._parsed.crawl_delay(self._agent)
        rate = self._parsed.request_rate(self._agent)
        every = min(rate.seconds, _LONGEST) / rate.requests if rate is not None else 0.0
        return max(self._for_all if delay is None else delay, every)


@dataclass(eq=False, repr=False)
class Robots:
    settings: FetchSettings
    clock: Clock
    get: Get
    cache: FetchCache
    on_rules: Callable[[str], None]  # gets the result of a lookup beyond memory: kept, fetched, none, or the failure

    def __post_init__(self) -> None:
        self._agent = self.settings.user_agent.partition("/")[0].split()[0].lower()
        self._locks = KeyedLocks()
        self._rules: OrderedDict[str, tuple[float, RobotsRules | Permission]] = OrderedDict()

    async def permission(self, target: Target) -> Permission:
        """Whether a target may be fetched under its origin's rules.

        If the rules can't be fetched, the refusal has that reason, so a host that is down is reported as down.
        """
        if not self.settings.robots:
            return Permission(None)
        async with self._locks.hold(target.origin):
            rules = await self._of(target.origin)
        if isinstance(rules, Permission):
            return rules
        return Permission(None if rules.allows(target.url) else FetchFailure.ROBOTS, rules.crawl_delay)

    async def _of(self, origin: str) -> RobotsRules | Permission:
        known = self._rules.get(origin)
        if known is not None and known[0] > self.clock.monotonic():
            return known[1]
        url = f"{origin}/robots.txt"
        kept = await self.cache.get(ROBOTS, url)
        if isinstance(kept, FetchedPage):
            body: bytes | Permission = kept.body
            age = (self.clock.now() - kept.fetched_at).total_seconds()
            self.on_rules("kept")
        else:
            # One byte more than the limit shows whether the file was cut.
            response = await self.get(url, Accepts(None, self.settings.robots_max_bytes + 1, cut=True))
            body = self._body(response)
            age = 0.0
            found = "fetched" if isinstance(response, Response) and response.ok else "none"
            self.on_rules(response.reason if isinstance(response, FetchRefused) else found)
            if not isinstance(body, Permission):
                page = FetchedPage(url, url, 200, "text/plain", body, self.clock.now())
                await self.cache.put(ROBOTS, url, page)
        if isinstance(body, Permission):
            rules: RobotsRules | Permission = body
            ttl = self.settings.robots_failure_ttl_seconds
        else:
            rules = await asyncio.to_thread(RobotsRules, self._agent, self._text(body))
            ttl = self.settings.robots_ttl_seconds - age
        self._rules[origin] = (self.clock.monotonic() + ttl, rules)
        self._rules.move_to_end(origin)
        while len(self._rules) > self.settings.hosts:
            self._rules.popitem(last=False)
        return rules

    def _body(self, response: Response | FetchRefused) -> bytes | Permission:
        if isinstance(response, FetchRefused):
            if response.reason is FetchFailure.TOO_MANY_REDIRECTS:
                return b""  # as if there were none, RFC 9309, 2.3.1.2
            is_down = response.reason in _DOWN
            return Permission(response.reason, detail=response.detail) if is_down else Permission(FetchFailure.ROBOTS)
        return response.body if response.ok else b""

    def _text(self, body: bytes) -> str:
        """A file as text, without the line that was cut: half a path would be another rule."""
        if len(body) > self.settings.robots_max_bytes:
            body = body[: self.settings.robots_max_bytes]
            body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
        return body.decode("utf-8-sig", "replace")


def rules_for(agent: str, text: str) -> str:
    r"""Rewrites a robots.txt: one name for all other agents, and our own only by its product token (RFC 9309, 2.2.1).

    The parser stores every rule once for each of its agents, so a file that names thousands of agents would fill the
    memory. It also matches a part of our name.

    >>> rules_for("assaybot", "User-agent: x\nUser-agent: assay\nDisallow: /\nUser-agent: AssayBot/2\nAllow: /")
    'User-agent: -\nDisallow: /\nUser-agent: assaybot\nAllow: /'
    """
    kept: list[str] = []
    for line in text.splitlines():
        found = _AGENT_LINE.match(line)
        token = _TOKEN.match(found.group(1)) if found else None
        if token is None:
            kept.append(line)
            continue
        name = token.group().lower().rstrip("*") or "*"
        line_of_name = f"User-agent: {name if name in ('*', agent) else '-'}"
        if not kept or kept[-1] != line_of_name:
            kept.append(line_of_name)
    return "\n".join(kept)


def _delay_before_groups(text: str) -> float:
    for line in text.splitlines():
        if _AGENT_LINE.match(line):
            break
        if found := _DELAY_LINE.match(line):
            return float(found.group(1))
    return 0.0
