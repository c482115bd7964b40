"""Fetches pages from the open web.

- The guard checks every address and every redirect.
- robots.txt is obeyed.
- Each host gets one request at a time, at its pace.
- An address whose path repeats itself is refused: relative links of endless pages grow so.
- A page for the same query comes from the cache; for another query it is fetched only if it has changed.
"""

from __future__ import annotations

import asyncio
import random
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Self, TypeVar

from handlers.html.links import canonical_url, host_of, registrable_domain
from schemas.needs import FetchPages
from schemas.replies import FetchedPage, FetchFailure, FetchRefused, PagesReply
from streams.fetch.cache import UNVERSIONED, FetchCache, Versioned
from streams.fetch.client import Accepts, FetchClient, Response
from streams.fetch.guard import Admitted, Resolver, SystemResolver, Target, admit, parse_target, repeated_part
from streams.fetch.robots import Robots
from streams.fetch.settings import FetchSettings
from streams.runtime.backoff import Chance, full_jitter, retry_after
from streams.runtime.clock import Clock, SystemClock
from streams.runtime.files import KeyedLocks
from streams.telemetry.metrics import Metrics, unexposed_metrics
from streams.telemetry.tracing import Tracer, Value

_TOO_MANY_REQUESTS = 429
_WAIT = frozenset((_TOO_MANY_REQUESTS, 503))
_PASSING = frozenset((FetchFailure.TIMEOUT, FetchFailure.UNREACHABLE, FetchFailure.SERVER_ERROR))
_NOT_MODIFIED = 304
_ROBOTS_REDIRECTS = 5  # as many as RFC 9309, 2.3.1.2, asks for
Fetched = TypeVar("Fetched", Versioned, Response)


class FetchWorker:
    """Fetches pages. Use it with ``async with``, or call ``aclose``."""

    def __init__(
        self,
        settings: FetchSettings,
        clock: Clock | None = None,
        resolver: Resolver | None = None,
        metrics: Metrics | None = None,
        tracer: Tracer | None = None,
        chance: Chance = random.random,
    ) -> None:
        """Opens nothing yet. Clock and resolver are the system's by default."""
        self._settings = settings
        self._clock = clock or SystemClock()
        self._chance = chance
        self._system = SystemResolver(settings.parallel)
        self._resolver = resolver or self._system
        self._metrics = metrics or unexposed_metrics()
        self._tracer = tracer or Tracer()
        self._client = FetchClient(settings, self._clock)
        self._cache = FetchCache(settings, self._clock)
        self._pacing = HostPacing(settings, self._clock)
        self._robots = Robots(
            settings,
            self._clock,
            lambda url, wanted: self._again(lambda: self._rules_once(url, wanted)),
            self._cache,
            lambda found: self._metrics.fetch_robots_total.labels(found).inc(),
        )
        self._in_flight = KeyedLocks()
        self._domains = KeyedLocks(settings.parallel_per_domain)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        self._system.close()
        await self._client.aclose()
        await self._cache.aclose()

    async def fetch(self, need: FetchPages) -> PagesReply:
        """Returns a page or a refusal for each URL, in their order. Never raises.

        All pages of the event share one time limit and one size limit. A page that misses the time limit is a
        ``TIMEOUT``, so a slow host does not delay the others.
        """
        if not need.urls:
            return PagesReply(())
        room = _Room(self._settings.pages_bytes)
        tasks = [asyncio.create_task(self._fetch(url, need.query, room)) for url in need.urls]
        try:
            await asyncio.wait(tasks, timeout=self._settings.pages_seconds)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return PagesReply(tuple(self._outcome(url, task) for url, task in zip(need.urls, tasks, strict=True)))

    def _outcome(self, url: str, task: asyncio.Task[FetchedPage | FetchRefused]) -> FetchedPage | FetchRefused:
        if not task.cancelled():
            return task.result()
        refused = FetchRefused(url, FetchFailure.TIMEOUT, "the time for all pages was up")
        self._count(refused)
        return refused

    async def _fetch(self, url: str, query: str, room: _Room) -> FetchedPage | FetchRefused:
        target = parse_target(url)
        if isinstance(target, FetchRefused):
            self._count(target)
            return target
        # Made of the guard's parse: otherwise two parsers could put different hosts under one key.
        canonical = canonical_url(target.url) or target.url
        # Of two concurrent requests for one page the second finds it in the cache.
        async with self._in_flight.hold(f"{query}\n{canonical}"):
            known = await self._cache.get(query, canonical)
            if known is None:
                fetched = await self._again(lambda: self._get_once(url))
                known, version = (fetched, UNVERSIONED) if isinstance(fetched, FetchRefused) else fetched
                self._count(known)
                await self._cache.put(query, canonical, known, version)
            else:
                self._metrics.fetches_cached_total.inc()
        if isinstance(known, FetchedPage):
            if len(known.body) > room.left:
                return FetchRefused(url, FetchFailure.OVER_BUDGET, f"above {self._settings.pages_bytes} bytes in all")
            room.left -= len(known.body)
        return replace(known, url=url)

    async def _get_once(self, url: str) -> Versioned | FetchRefused:
        """Follows at most ``max_redirects`` redirects to the page, and checks robots.txt at each address."""
        settings = self._settings
        at = url
        for _ in range(settings.max_redirects + 1):
            async with self._domains.hold(registrable_domain(host_of(at))):
                admitted = await admit(at, settings, self._resolver)
            if isinstance(admitted, FetchRefused):
                return admitted
            if part := repeated_part(admitted.target):
                return FetchRefused(url, FetchFailure.TRAP, f"the path repeats {part!r}")
            permission = await self._robots.permission(admitted.target)
            if permission.refusal is not None:
                why = f": {permission.detail}" if permission.detail else ""
                return FetchRefused(url, permission.refusal, f"robots.txt of {admitted.target.origin}{why}")
            known = await self._cache.version_of(admitted.target.url)
            unless = known.version if known is not None else UNVERSIONED
            wanted = Accepts(settings.content_types, settings.max_bytes, unless=unless)
            response = await self._visit(admitted.target, wanted, permission.crawl_delay)
            if isinstance(response, FetchRefused):
                return response
            if (onward := response.location(admitted.target.url)) is not None:
                at = onward
                continue
            if known is not None and response.status == _NOT_MODIFIED:
                return Versioned(replace(known.page, url=url, fetched_at=self._clock.now()), known.version)
            return self._page(url, admitted.target, response)
        return FetchRefused(url, FetchFailure.TOO_MANY_REDIRECTS, f"more than {settings.max_redirects}")

    async def _visit(self, target: Target, wanted: Accepts, crawl_delay: float) -> Response | FetchRefused:
        """Sends one request in the host's turn, and a second one if the host asks for a short wait."""
        response, wait = await self._turn(target, wanted, crawl_delay)
        if wait is not None and wait <= self._settings.retry_after_seconds:
            response, wait = await self._turn(target, wanted, crawl_delay)
        if isinstance(response, FetchRefused) or wait is None:
            return response
        return FetchRefused(target.url, FetchFailure.RATE_LIMITED, f"status {response.status}")

    async def _turn(
        self, target: Target, wanted: Accepts, crawl_delay: float
    ) -> tuple[Response | FetchRefused, float | None]:
        """Sends one request in the host's turn; also returns the seconds that the host asks to wait, or None."""
        asked = self._clock.monotonic()
        async with self._pacing.turn(target.host, crawl_delay) as turn:
            if turn is None:
                return FetchRefused(target.url, FetchFailure.RATE_LIMITED, "the host asked for a longer pause"), None
            started = self._clock.monotonic()
            self._metrics.fetch_wait_seconds.observe(started - asked)
            async with self._domains.hold(registrable_domain(target.host)):
                # The name is resolved and checked in the turn, so the client connects to a checked address.
                admitted = await admit(target.url, self._settings, self._resolver)
                if isinstance(admitted, FetchRefused):
                    return admitted, None
                try:
                    response = await self._request(admitted, wanted)
                except asyncio.CancelledError:
                    turn.failure()  # the host got a request
                    raise
            if isinstance(response, FetchRefused):
                if response.reason in _PASSING:
                    turn.failure()
                else:
                    turn.answered(self._clock.monotonic() - started, served=False)
                return response, None
            if response.status in _WAIT:
                # The latency of a refusal does not show the host's pace: the pause doubles.
                wait = self._wait_wanted(response)
                turn.failure(wait)
                return response, wait
            turn.answered(response.latency, served=response.ok or response.status == _NOT_MODIFIED)
            return response, None

    def _wait_wanted(self, response: Response) -> float | None:
        """Seconds that an overloaded host asks to wait; 0 for no longer than its pause, None for no wait."""
        wait = retry_after(response.headers, self._clock.now())
        if wait is None:
            return 0.0 if response.status == _TOO_MANY_REQUESTS else None
        return min(wait, self._settings.longest_rest_seconds)

    async def _request(self, admitted: Admitted, wanted: Accepts) -> Response | FetchRefused:
        target = admitted.target
        where: dict[str, Value] = {"url.full": target.url, "server.address": target.host, "server.port": target.port}
        with self._tracer.call("GET", {"http.request.method": "GET", **where}) as span:
            response = await self._client.get(admitted, wanted)
            if isinstance(response, FetchRefused):
                span.failed(response.reason)
            else:
                span.note({"http.response.status_code": response.status, "http.response.body.size": len(response.body)})
        return response

    async def _rules_once(self, url: str, wanted: Accepts) -> Response | FetchRefused:
        """Fetches a robots.txt like a page, but without checking robots.txt."""
        at = url
        for _ in range(_ROBOTS_REDIRECTS + 1):
            target = parse_target(at)
            if isinstance(target, FetchRefused):
                return target
            response = await self._visit(target, wanted, 0.0)
            if isinstance(response, FetchRefused):
                return response
            if response.status >= 500:
                return FetchRefused(url, FetchFailure.SERVER_ERROR, f"status {response.status}")
            if (onward := response.location(target.url)) is None:
                return response
            at = onward
        return FetchRefused(url, FetchFailure.TOO_MANY_REDIRECTS)

    async def _again(self, once: Callable[[], Awaitable[Fetched | FetchRefused]]) -> Fetched | FetchRefused:
        """Retries after failures that may pass, with exponential back-off and full jitter."""
        settings = self._settings
        for attempt in count(1):
            result = await once()
            if not isinstance(result, FetchRefused) or result.reason not in _PASSING or attempt == settings.attempts:
                break
            pause = full_jitter(attempt, settings.first_backoff_seconds, settings.max_backoff_seconds, self._chance)
            await self._clock.sleep(pause)
        return result

    def _page(self, url: str, target: Target, response: Response) -> Versioned | FetchRefused:
        if response.status >= 500:
            return FetchRefused(url, FetchFailure.SERVER_ERROR, f"status {response.status}")
        if not response.ok:
            return FetchRefused(url, FetchFailure.CLIENT_ERROR, f"status {response.status}")
        content_type = response.headers.get("content-type", "")
        # Counted here and not with the outcome: an unchanged page transfers no body.
        self._metrics.fetch_bytes_total.inc(len(response.body))
        page = FetchedPage(url, target.url, response.status, content_type, response.body, self._clock.now())
        return Versioned(page, response.version())

    def _count(self, result: FetchedPage | FetchRefused) -> None:
        outcome = result.reason if isinstance(result, FetchRefused) else "ok"
        self._metrics.fetches_total.labels(outcome).inc()


def crawled_fields(page: FetchedPage) -> dict[str, Any]:
    """The fields of the event of a page that was fetched."""
    fields = {"url": page.url, "html_base64": page.body, "content_type": page.content_type}
    return fields | {"final_url": page.final_url, "status": page.status, "fetched_at": page.fetched_at}


@dataclass(slots=True)
class _Room:
    """Remaining bytes for the pages of one event."""

    left: int


@dataclass(slots=True)
class HostTurn:
    """One request to a host; its holder reports the result, unless the host got no request."""

    latency: float | None = None  # seconds until the host answered; None if it did not, or is overloaded
    served: bool = False  # whether it sent the content (2xx, 304)
    asked: bool = False
    retry_after: float = 0.0

    def answered(self, latency: float, *, served: bool) -> None:
        self.asked, self.latency, self.served = True, latency, served

    def failure(self, retry_after: float | None = None) -> None:
        self.asked, self.latency, self.retry_after = True, None, retry_after or 0.0


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
        if not turn.asked:
            return
        settings = self.settings
        most = max(settings.max_delay_seconds, settings.min_delay_seconds)
        least = min(max(settings.min_delay_seconds, crawl_delay), most)
        before, _ = self._paces.pop(host, (least, 0.0))
        if turn.latency is None:
            after = 2 * before
        else:
            # Half way towards the latency, as in Scrapy's AutoThrottle.
            after = (before + turn.latency) / 2
            after = after if turn.served else max(before, after)
        delay = min(max(after, least), most)
        self._paces[host] = (delay, self.clock.monotonic() + max(delay, turn.retry_after))
        while len(self._paces) > settings.hosts:
            self._paces.popitem(last=False)
