"""The fetch worker: addresses in, pages or reasons out. What one would let loose on the open web (R-273).

Every address goes through the guard, also each redirect; robots.txt is asked first; a host is visited by one request at
a time, at its pace; what was fetched for the same query is not fetched again.
"""

from __future__ import annotations

import asyncio
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Self
from urllib.parse import urljoin

from handlers.page.links import canonical_url
from schemas.outcome import FetchedPage, FetchFailure, FetchPages, FetchRefused, PagesReply
from streams.fetch.cache import FetchCache
from streams.fetch.client import Client, Response, Wanted
from streams.fetch.clock import Clock
from streams.fetch.guard import Resolver, Target, admit, parse_target, resolve
from streams.fetch.locks import KeyedLocks
from streams.fetch.politeness import Politeness
from streams.fetch.robots import Robots
from streams.fetch.settings import FetchSettings
from streams.telemetry.metrics import Metrics

_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_WAIT = frozenset((429, 503))
_PASSING = frozenset((FetchFailure.TIMEOUT, FetchFailure.UNREACHABLE, FetchFailure.SERVER_ERROR))


class FetchWorker:
    """Fetches pages. Use with ``async with``, or call ``aclose``."""

    def __init__(
        self,
        settings: FetchSettings,
        clock: Clock | None = None,
        resolver: Resolver = resolve,
        metrics: Metrics | None = None,
    ) -> None:
        """Opens nothing yet.

        Args:
            settings: Limits, manners and the operator's permissions.
            clock: Time and chance; the system's by default.
            resolver: Names to addresses.
            metrics: Counts outcomes, bytes and waits, where given.
        """
        self._settings = settings
        self._clock = clock or Clock()
        self._resolver = resolver
        self._metrics = metrics
        self._client = Client(settings, self._clock)
        self._cache = FetchCache(settings, self._clock)
        self._politeness = Politeness(settings, self._clock)
        self._robots = Robots(settings, self._clock, self._follow_plainly)
        self._underway = KeyedLocks()

    async def __aenter__(self) -> Self:
        """Returns itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes everything."""
        await self.aclose()

    async def aclose(self) -> None:
        """Closes connections and the cache."""
        await self._client.aclose()
        await self._cache.aclose()

    async def fetch(self, need: FetchPages) -> PagesReply:
        """The pages that were asked for, in that order; a page that did not come has its reason. Never raises."""
        return PagesReply(tuple(await asyncio.gather(*(self._fetch(url, need.query) for url in need.urls))))

    async def _fetch(self, url: str, query: str) -> FetchedPage | FetchRefused:
        canonical = canonical_url(url)
        if canonical is None:
            refused = parse_target(url)
            result = refused if isinstance(refused, FetchRefused) else FetchRefused(url, FetchFailure.INVALID_URL)
            self._count(result)
            return result
        # Two askers for one page: the second one finds it in the cache.
        async with self._underway.hold(f"{query}\n{canonical}"):
            known = await self._cache.get(query, canonical)
            if known is None:
                known = await self._get_page(url)
                self._count(known)
                await self._cache.put(query, canonical, known)
        return _under(url, known)

    async def _get_page(self, url: str) -> FetchedPage | FetchRefused:
        """Fetches a page, trying again where trouble may pass."""
        settings = self._settings
        for attempt in range(1, settings.attempts + 1):
            result = await self._get_once(url)
            if not isinstance(result, FetchRefused) or result.reason not in _PASSING or attempt == settings.attempts:
                return result
            ceiling = min(settings.max_backoff_seconds, settings.first_backoff_seconds * 2 ** (attempt - 1))
            await self._clock.sleep(self._clock.chance() * ceiling)
        raise AssertionError("there is at least one attempt")

    async def _get_once(self, url: str) -> FetchedPage | FetchRefused:
        """Follows an address to its page, at most ``max_redirects`` times, asking robots.txt at each place."""
        settings = self._settings
        wanted = Wanted(settings.content_types, settings.max_bytes)
        at = url
        for _ in range(settings.max_redirects + 1):
            admitted = await admit(at, settings, self._resolver)
            if isinstance(admitted, FetchRefused):
                return admitted
            permission = await self._robots.permission(admitted.target)
            if not permission.allowed:
                return FetchRefused(url, FetchFailure.ROBOTS, admitted.target.origin)
            response = await self._visit(admitted.target, wanted, permission.crawl_delay)
            if isinstance(response, FetchRefused):
                return response
            if response.status in _REDIRECTS and (location := response.headers.get("location")):
                at = urljoin(admitted.target.url, location)
                continue
            return self._page(url, admitted.target, response)
        return FetchRefused(url, FetchFailure.TOO_MANY_REDIRECTS, f"more than {settings.max_redirects}")

    async def _visit(self, target: Target, wanted: Wanted, crawl_delay: float) -> Response | FetchRefused:
        """One request in the host's turn; a wish to wait that is within the budget is granted once, in place."""
        settings = self._settings
        if self._politeness.wait(target.host) > max(settings.retry_after_seconds, settings.max_delay_seconds):
            return FetchRefused(target.url, FetchFailure.RATE_LIMITED, "the host asked for a longer pause")
        response, wish = await self._turn(target, wanted, crawl_delay)
        if wish is not None and wish <= settings.retry_after_seconds:
            response, wish = await self._turn(target, wanted, crawl_delay)
        if isinstance(response, FetchRefused) or response.status not in _WAIT:
            return response
        reason = FetchFailure.RATE_LIMITED if response.status == 429 else FetchFailure.SERVER_ERROR
        return FetchRefused(target.url, reason, f"status {response.status}")

    async def _turn(
        self, target: Target, wanted: Wanted, crawl_delay: float
    ) -> tuple[Response | FetchRefused, float | None]:
        """One request in the host's turn, and the seconds that its answer asks to wait, if it does."""
        asked = self._clock.monotonic()
        async with self._politeness.turn(target.host, crawl_delay) as turn:
            if self._metrics is not None:
                self._metrics.fetch_wait_seconds.observe(self._clock.monotonic() - asked)
            # The name is looked up and checked in the turn, so that what is connected to is what was checked.
            admitted = await admit(target.url, self._settings, self._resolver)
            if isinstance(admitted, FetchRefused):
                return admitted, None
            response = await self._client.get(admitted, wanted)
            if isinstance(response, FetchRefused):
                turn.failure()
                return response, None
            turn.answered(response.latency)
            wish = (
                retry_after(response.headers.get("retry-after", ""), self._clock) if response.status in _WAIT else None
            )
            if response.status >= 500 or response.status in _WAIT:
                turn.failure(wish)
            return response, wish

    async def _follow_plainly(self, url: str, wanted: Wanted) -> Response | FetchRefused:
        """Fetches a robots.txt: guarded and polite as ever, but without asking for permission."""
        at = url
        for _ in range(self._settings.max_redirects + 1):
            target = parse_target(at)
            if isinstance(target, FetchRefused):
                return target
            response = await self._visit(target, wanted, 0.0)
            if isinstance(response, FetchRefused) or response.status not in _REDIRECTS:
                return response
            at = urljoin(target.url, response.headers.get("location", ""))
        return FetchRefused(url, FetchFailure.TOO_MANY_REDIRECTS)

    def _page(self, url: str, target: Target, response: Response) -> FetchedPage | FetchRefused:
        if response.status >= 500:
            return FetchRefused(url, FetchFailure.SERVER_ERROR, f"status {response.status}")
        if not 200 <= response.status < 300:
            return FetchRefused(url, FetchFailure.CLIENT_ERROR, f"status {response.status}")
        content_type = response.headers.get("content-type", "")
        return FetchedPage(url, target.url, response.status, content_type, response.body, self._clock.now())

    def _count(self, result: FetchedPage | FetchRefused) -> None:
        if self._metrics is None:
            return
        if isinstance(result, FetchRefused):
            self._metrics.fetches_total.labels(result.reason).inc()
        else:
            self._metrics.fetches_total.labels("ok").inc()
            self._metrics.fetch_bytes_total.inc(len(result.body))


def retry_after(text: str, clock: Clock) -> float | None:
    """Seconds that a Retry-After header asks for, as a number or as a date (RFC 9110); None where it states nothing.

    >>> retry_after("120", Clock())
    120.0
    >>> retry_after("soon", Clock()) is None
    True
    """
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, (parsedate_to_datetime(text) - clock.now()).total_seconds())
    except (ValueError, TypeError, IndexError):
        return None


def _under(url: str, result: FetchedPage | FetchRefused) -> FetchedPage | FetchRefused:
    """A result under the address that it was asked for by."""
    if isinstance(result, FetchRefused):
        return FetchRefused(url, result.reason, result.detail)
    return FetchedPage(url, result.final_url, result.status, result.content_type, result.body, result.fetched_at)
