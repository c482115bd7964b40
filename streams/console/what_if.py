"""The screen ``what_if``: a page scored under the settings in force and under changed ones, and the same over pages.

The score is computed in a child process under the limits of the workers. Nothing is written. A page that is not on the
topic of crawled pages is fetched from the web only for a user who may act.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from aiokafka.errors import KafkaError, KafkaTimeoutError
from pydantic import ValidationError
from starlette.datastructures import FormData, QueryParams
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from handlers.html.links import canonical_url, host_of
from handlers.score_page import ScorePageRules
from schemas.needs import FetchPages
from schemas.outcome import Dead, Outcome
from schemas.pages import MAX_PAGE_BYTES, CrawledPage, ScoredPage
from schemas.replays import OffsetRange
from schemas.replies import FetchedPage
from schemas.rules import Section
from streams.console.context import Context, Screen
from streams.console.guard import form_too_large
from streams.fetch.worker import FetchWorker
from streams.kafka.log_reader import committed_ranges, read_log
from streams.replay.diff import emitted
from streams.replay.diff_pages import PageDifferences
from streams.runtime.settings_files import SettingsError
from streams.settings.changes import as_yaml, changed, differences
from streams.settings.model import Settings
from streams.topology import PAGES_CRAWLED, handler_named
from streams.topology.codec import refusal, timestamp
from streams.workers.handler_jobs import RawRecord, Trials

_MOST_FORM = 3 * MAX_PAGE_BYTES + 100_000
"""Bytes of a form: a percent sign and two digits for each byte of a page."""
_COUNTS = (50, 100, 200, 500)
"""Pages over which settings can be compared."""
_LIMIT = 50
"""Moved pages that are shown."""
_KEPT_SECONDS = 30.0
"""How long the page of an address is kept: a slider that moves asks for it many times."""
_SOURCE_TIERS = ("1", "2", "3")
_SAMPLE = "https://example.org/report"


@dataclass(frozen=True, slots=True)
class Slider:
    """A number of the settings that a user moves.

    Attributes:
        name: In forms and addresses.
        label: For people.
        path: Section and keys.
    """

    name: str
    label: str
    path: tuple[str, ...]

    def most(self, settings: Settings) -> int:
        """Its largest value: with the points for what is on a page, a score is 100 at most."""
        return 100 - settings.trust_points.most if "base_scores" in self.path else 100

    def value(self, settings: Settings) -> int:
        """Its value in the settings."""
        found: Any = settings
        for key in self.path:
            found = getattr(found, key)
        return int(found)


SLIDERS = (
    Slider("tier_a", "Tier A from", ("tiered_indexing", "tier_a", "min_cts")),
    Slider("tier_b", "Tier B from", ("tiered_indexing", "tier_b", "min_cts")),
    Slider("high", "Label HIGH from", ("trust_labels", "high")),
    Slider("medium", "Label MEDIUM from", ("trust_labels", "medium")),
    Slider("source_1", "Points of source tier 1", ("source_rules", "base_scores", "tier_1")),
    Slider("source_2", "Points of source tier 2", ("source_rules", "base_scores", "tier_2")),
    Slider("source_3", "Points of source tier 3", ("source_rules", "base_scores", "tier_3")),
)


def routes(context: Context) -> list[Route]:
    """The screen, the answer to a change, the settings as a file, and the comparison over pages."""
    its = _WhatIf(context)
    return [
        Route("/what-if", its.page),
        Route("/what-if/try", its.try_, methods=["POST"]),
        Route("/what-if/settings.yaml", its.settings_file),
        Route("/what-if/pages", its.pages),
    ]


SCREEN = Screen("What if", "/what-if", "w", "try other settings on a page", routes)


@dataclass(frozen=True, slots=True)
class Wish:
    """Changed settings, as a form or an address has them."""

    values: Mapping[str, int]
    domain: str
    tier: str

    @property
    def fields(self) -> list[tuple[str, str]]:
        """What differs, as the fields of a form."""
        moved = [(name, str(value)) for name, value in self.values.items()]
        return moved + ([("domain", self.domain), ("tier", self.tier)] if self.tier else [])

    @property
    def query(self) -> str:
        """What differs, as a part of an address."""
        return urlencode(self.fields)


def wish_of(given: FormData | QueryParams, settings: Settings) -> Wish:
    """The sliders that were moved, and the source that has another tier; what is no number counts as not moved."""
    values = {}
    for slider in SLIDERS:
        text = str(given.get(slider.name, ""))
        if text.isascii() and text.isdigit() and len(text) <= 3 and int(text) != slider.value(settings):
            values[slider.name] = min(int(text), slider.most(settings))
    domain, tier = str(given.get("domain", "")).strip().lower()[:253], str(given.get("tier", ""))
    return Wish(values, domain, tier if domain and tier in _SOURCE_TIERS else "")


def changes_of(wish: Wish, settings: Settings) -> dict[str, Any]:
    """The keys that a wish changes, as in a file of ``--config``."""
    changes: dict[str, Any] = {}
    for slider in SLIDERS:
        if slider.name in wish.values:
            inner = changes
            for key in slider.path[:-1]:
                inner = inner.setdefault(key, {})
            inner[slider.path[-1]] = wish.values[slider.name]
    if wish.tier:
        listed = settings.source_tiers.model_dump()
        tiers = {name: [entry for entry in entries if entry != wish.domain] for name, entries in listed.items()}
        tiers[f"tier_{wish.tier}"].append(wish.domain)
        changes["source_tiers"] = {name: tiers[name] for name in tiers if tiers[name] != list(listed[name])}
    return changes


class _WhatIf:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._started: asyncio.Task[Trials] | None = None
        self._comparing = asyncio.Lock()
        self._trying = asyncio.Semaphore(2)
        """A pasted page may have 8 MB, and several copies of it exist while it is scored."""
        self._last: tuple[str, float, tuple[CrawledPage, str]] | None = None
        handler = handler_named("score_page")
        if handler is None:
            raise KeyError("score_page")
        self._handler = handler
        self._rules = context.settings.rules(ScorePageRules)
        context.resources.push_async_callback(self._end)

    async def page(self, request: Request) -> Response:
        """The form; its values come from the address. The child starts now, so that the first answer is fast."""
        self._begin()
        settings = self._context.settings
        wish = wish_of(request.query_params, settings)
        sliders = [(slider, wish.values.get(slider.name, slider.value(settings))) for slider in SLIDERS]
        url = request.query_params.get("url", "")[:8192]
        return self._context.render(
            request,
            "what_if.html",
            sliders=sliders,
            settings=settings,
            wish=wish,
            url=url,
            domain=wish.domain or host_of(url),
        )

    async def try_(self, request: Request) -> Response:
        """The decision on the form's page under both settings, as a part of the screen."""
        if (refused := form_too_large(request, _MOST_FORM, "The page has more than 8 MB.")) is not None:
            return refused
        async with self._trying:
            return await self._try(request)

    async def _try(self, request: Request) -> Response:
        async with request.form(max_part_size=_MOST_FORM) as form:
            url, html = str(form.get("url", "")).strip(), str(form.get("html", ""))
            wish = wish_of(form, self._context.settings)
        if not url and not html.strip():
            return self._refuse(request, "Paste the HTML of a page, or give the address of one.")
        other = self._changed(wish)
        if isinstance(other, str):
            return self._refuse(request, other)
        found = await self._page(request, url, html)
        if isinstance(found, str):
            return self._refuse(request, found)
        source, origin = found
        now, then = await self._outcomes(source, other, wish)
        return self._context.render(
            request,
            "what_if_result.html",
            problem="",
            origin=origin,
            now=_side(now),
            then=_side(then),
            components=_components(now, then),
            yaml=as_yaml(differences(self._context.settings, other)),
            wish=wish,
            query=urlencode({"url": url}) + ("&" + wish.query if wish.query else "") if url else wish.query,
            counts=_COUNTS,
        )

    async def settings_file(self, request: Request) -> Response:
        """The changed keys as a file for ``--config``."""
        other = self._changed(wish_of(request.query_params, self._context.settings))
        if isinstance(other, str):
            return PlainTextResponse(other, 422)
        text = as_yaml(differences(self._context.settings, other))
        head = "# Keys that differ from the configuration in force: assay replay score_page --config FILE --diff\n"
        return Response(
            head + text,
            media_type="application/yaml",
            headers={"content-disposition": 'attachment; filename="what-if.yaml"'},
        )

    async def pages(self, request: Request) -> Response:
        """What the changed settings do to the newest crawled pages."""
        settings = self._context.settings
        wish, asked = wish_of(request.query_params, settings), request.query_params.get("pages", "")
        count = int(asked) if asked in map(str, _COUNTS) else _COUNTS[1]
        other = self._changed(wish)
        found = PageDifferences(_LIMIT)
        problem = ""
        if isinstance(other, str):
            problem, other = other, settings
        elif self._comparing.locked():
            problem = "Another comparison runs; try again in a moment."
        elif wish.query:
            async with self._comparing:
                try:
                    await self._compare(found, other, wish, count)
                except KafkaError as error:
                    problem = f"Kafka can't be read: {error}"
        return self._context.render(
            request,
            "what_if_pages.html",
            problem=problem,
            found=found,
            told=found.to_wire(),
            wish=wish,
            count=count,
            counts=_COUNTS,
            yaml=as_yaml(differences(settings, other)),
        )

    def _refuse(self, request: Request, problem: str) -> Response:
        """The result's place says why there is no result."""
        return self._context.render(request, "what_if_result.html", problem=problem)

    def _changed(self, wish: Wish) -> Settings | str:
        """The changed settings, or why there can't be any."""
        settings = self._context.settings
        try:
            other = changed(settings, changes_of(wish, settings))
            if wish.query:
                other.rules(ScorePageRules)
        except SettingsError as error:
            return str(error)
        return other

    async def _page(self, request: Request, url: str, html: str) -> tuple[CrawledPage, str] | str:
        """The page to score and where it is from, or why it can't be scored."""
        if html.strip():
            return self._crawled({"url": url or _SAMPLE, "html": html}, "the pasted HTML")
        if canonical_url(url) is None:
            return "The address begins with http:// or https:// and a host."
        now = self._context.clock.monotonic()
        if self._last is not None and self._last[0] == url and now - self._last[1] < _KEPT_SECONDS:
            return self._last[2]
        found = await self._found(request, url)
        if not isinstance(found, str):
            self._last = url, now, found
        return found

    async def _found(self, request: Request, url: str) -> tuple[CrawledPage, str] | str:
        """The page of an address among the crawled pages or, for a user who may act, from the web."""
        keys = {spelling.encode() for spelling in (url, canonical_url(url)) if spelling}
        try:
            known = [read.event for read in await self._context.records.newest(PAGES_CRAWLED, keys, 1)]
        except KafkaTimeoutError:
            known = []  # It may be further back, or on the web alone.
        except KafkaError as error:
            return f"Kafka can't be read: {error}"
        if known and isinstance(known[0], CrawledPage):
            return known[0], "the newest crawled record of the address"
        if not self._context.guard.may_act(request):
            return "This address is not among the crawled pages. Sign in to fetch it from the web, or paste its HTML."
        async with FetchWorker(self._context.settings.fetch) as fetcher:
            [reply] = (await fetcher.fetch(FetchPages((url,), ""))).pages
        if not isinstance(reply, FetchedPage):
            return f"The page can't be fetched: {reply.reason}{f', {reply.detail}' if reply.detail else ''}"
        fields = {"url": reply.url, "html_base64": reply.body, "content_type": reply.content_type}
        others = {"final_url": reply.final_url, "status": reply.status, "fetched_at": reply.fetched_at}
        return self._crawled(fields | others, "a fetch just now")

    def _crawled(self, fields: dict[str, Any], origin: str) -> tuple[CrawledPage, str] | str:
        try:
            return CrawledPage.model_validate(fields), origin
        except ValidationError as error:
            return f"That is no page: {refusal(error).detail}"

    def _begin(self) -> asyncio.Task[Trials]:
        """The start of the child; another one after a failure."""
        if self._started is None or (self._started.done() and self._started.exception() is not None):
            trials = Trials(self._handler, self._rules, self._context.settings.workers)
            self._started = asyncio.create_task(self._context.resources.enter_async_context(trials), name="what if")
        return self._started

    async def _end(self) -> None:
        """Gives a start up that is not done; what was started is closed by the context."""
        if self._started is not None:
            self._started.cancel()
            await asyncio.gather(self._started, return_exceptions=True)

    async def _outcomes(self, source: CrawledPage | RawRecord, other: Settings, wish: Wish) -> tuple[Outcome, Outcome]:
        trials = await asyncio.shield(self._begin())
        sections: dict[str, Section] = {name: getattr(other, name) for name in changes_of(wish, self._context.settings)}
        return await trials.outcomes(source, sections)

    async def _compare(self, found: PageDifferences, other: Settings, wish: Wish, count: int) -> None:
        """Feeds the comparison with the newest crawled pages."""
        kafka = self._context.settings.kafka
        for standing in await committed_ranges(kafka, [PAGES_CRAWLED.name]):
            ranges = _newest(standing.ranges, count)
            async with aclosing(read_log(kafka, PAGES_CRAWLED.name, ranges)) as records:
                async for record in records:
                    source = RawRecord(record.value, record.headers, timestamp(record.timestamp))
                    found.add(*await self._outcomes(source, other, wish))


def _newest(ranges: tuple[OffsetRange, ...], count: int) -> list[OffsetRange]:
    """The last offsets of each partition, ``count`` in all or a few more.

    >>> ranges = OffsetRange(partition=0, start=0, end=90), OffsetRange(partition=1, start=5, end=7)
    >>> [its.start for its in _newest(ranges, 10)]
    [82, 5]
    """
    left = count
    chosen = []
    # The shortest first, so that the others take what it leaves.
    for rest, its in zip(range(len(ranges), 0, -1), sorted(ranges, key=lambda one: one.end - one.start), strict=True):
        taken = min(its.end - its.start, -(-left // rest))
        left -= taken
        chosen.append(its.model_copy(update={"start": its.end - taken}))
    return sorted(chosen, key=lambda one: one.partition)


def _side(outcome: Outcome) -> dict[str, Any]:
    """One side of the result for its template."""
    page = emitted(outcome, ScoredPage)
    dead = f"{outcome.reason}: {outcome.detail}" if isinstance(outcome, Dead) else ""
    return {"page": page, "dead": dead or ("" if page else "no decision")}


def _components(now: Outcome, then: Outcome) -> list[dict[str, Any]]:
    """The components of both scores, in the order of the breakdown."""
    lines: dict[str, dict[str, Any]] = {}
    for side, outcome in (("now", now), ("then", then)):
        page = emitted(outcome, ScoredPage)
        for line in page.cts_breakdown if page else ():
            lines.setdefault(line.component, {"name": line.component, "now": None, "then": None})
            lines[line.component][side] = line.points
            lines[line.component]["reason"] = line.reason
    return list(lines.values())
