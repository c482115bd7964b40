"""The screen ``what_if``: a page scored under the settings in force and under changed ones.

The score is computed in a child process under the limits of the workers. Nothing is written. A page that is not on the
topic of crawled pages is fetched from the web only for a user who may act.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from operator import attrgetter
from typing import Any, NamedTuple
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
from schemas.replies import FetchedPage
from streams.console.context import Context, Screen
from streams.console.guard import form_too_large
from streams.fetch.worker import FetchWorker, crawled_fields
from streams.replay.comparisons import emitted
from streams.runtime.settings_files import SettingsError
from streams.settings.changes import as_yaml, changed, differences
from streams.settings.model import Settings
from streams.topology import HANDLERS
from streams.topology.codec import refusal
from streams.workers.handler_jobs import Trials

_MOST_FORM = 3 * MAX_PAGE_BYTES + 100_000  # bytes of a form: a percent sign and two digits for each byte of a page
_KEPT_SECONDS = 30.0  # how long the page of an address is kept: a slider that moves asks for it many times
_SOURCE_TIERS = ("1", "2", "3")
_SAMPLE = "https://example.org/report"
_SCORER = next(handler for handler in HANDLERS if handler.name == "score_page")


class Slider(NamedTuple):
    """A number of the settings that a user moves; ``path`` is its section and keys, with dots."""

    name: str
    label: str
    path: str

    def most(self, settings: Settings) -> int:
        """Its largest value: with the points for what is on a page, a score is 100 at most."""
        return 100 - settings.trust_points.most if "base_scores" in self.path else 100

    def value(self, settings: Settings) -> int:
        return int(attrgetter(self.path)(settings))


SLIDERS = (
    Slider("tier_a", "Tier A from", "tiered_indexing.tier_a.min_cts"),
    Slider("tier_b", "Tier B from", "tiered_indexing.tier_b.min_cts"),
    Slider("high", "Label HIGH from", "trust_labels.high"),
    Slider("medium", "Label MEDIUM from", "trust_labels.medium"),
    Slider("source_1", "Points of source tier 1", "source_rules.base_scores.tier_1"),
    Slider("source_2", "Points of source tier 2", "source_rules.base_scores.tier_2"),
    Slider("source_3", "Points of source tier 3", "source_rules.base_scores.tier_3"),
)
Change = Mapping[str, str | int]
"""The sliders that were moved, and the domain and the tier of a source that has another one."""


def change_of(given: FormData | QueryParams | Mapping[str, str], settings: Settings) -> Change:
    """The change that a form or an address names; what is no number counts as not moved."""
    change: dict[str, str | int] = {}
    for slider in SLIDERS:
        text = str(given.get(slider.name, ""))
        if text.isascii() and text.isdigit() and len(text) <= 3 and int(text) != slider.value(settings):
            change[slider.name] = min(int(text), slider.most(settings))
    domain, tier = str(given.get("domain", "")).strip().lower()[:253], str(given.get("tier", ""))
    return change | {"domain": domain, "tier": tier} if domain and tier in _SOURCE_TIERS else change


def changed_settings(change: Change, settings: Settings) -> Settings:
    """Raises SettingsError if the changed keys contradict each other."""
    document: dict[str, Any] = {}
    for slider in SLIDERS:
        if slider.name in change:
            *sections, key = slider.path.split(".")
            inner = document
            for name in sections:
                inner = inner.setdefault(name, {})
            inner[key] = change[slider.name]
    if "tier" in change:
        domain, listed = change["domain"], settings.source_tiers.model_dump()
        tiers = {name: [entry for entry in entries if entry != domain] for name, entries in listed.items()}
        tiers[f"tier_{change['tier']}"].append(domain)
        document["source_tiers"] = {name: tiers[name] for name in tiers if tiers[name] != list(listed[name])}
    other = changed(settings, document)
    other.rules(ScorePageRules)
    return other


class _PageError(Exception):
    """Why there is no page to score, for the user."""


def routes(context: Context) -> list[Route]:
    screen = _WhatIf(context)
    return [
        Route("/what-if", screen.page),
        Route("/what-if/try", screen.try_, methods=["POST"]),
        Route("/what-if/settings.yaml", screen.settings_file),
    ]


SCREEN = Screen("What if", "/what-if", "w", "try other settings on a page", routes)


class _WhatIf:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._settings = context.settings
        self._trying = asyncio.Semaphore(2)
        """A pasted page may have 8 MB, and several copies of it exist while it is scored."""
        self._last: tuple[str, float, tuple[CrawledPage, str]] | None = None

    async def page(self, request: Request) -> Response:
        """The form; its values come from the address."""
        change, settings = change_of(request.query_params, self._settings), self._settings
        url = request.query_params.get("url", "")[:8192]
        sliders = [(slider, change.get(slider.name, slider.value(settings))) for slider in SLIDERS]
        chosen: dict[str, Any] = {
            "tier": change.get("tier", ""),
            "domain": change.get("domain", host_of(url)),
            "url": url,
        }
        return self._context.render(request, "what_if.html", sliders=sliders, settings=settings, **chosen)

    async def try_(self, request: Request) -> Response:
        """The decision on the form's page under both settings, as a part of the screen."""
        if (refused := form_too_large(request, _MOST_FORM, "The page has more than 8 MB.")) is not None:
            return refused
        async with self._trying, request.form(max_part_size=_MOST_FORM) as form:
            url, html = str(form.get("url", "")).strip(), str(form.get("html", ""))
            change = change_of(form, self._settings)
            try:
                other = changed_settings(change, self._settings)
                source, origin = await self._page(request, url, html)
            except (SettingsError, _PageError) as error:
                return self._context.render(request, "what_if_result.html", problem=str(error))
            trials = await self._context.once(
                Trials,
                lambda: Trials(_SCORER, [self._settings.rules(ScorePageRules)], self._settings.workers),
            )
            differing = differences(self._settings, other)
            changes = {name: getattr(other, name) for name in differing}
            sides = [_side(await trials.outcome(source, changes=changed)) for changed in ({}, changes)]
            told: dict[str, Any] = {"origin": origin, "sides": sides, "yaml": as_yaml(differing)}
            query = urlencode(({"url": url} if url else {}) | dict(change))
            told |= {"problem": "", "change": urlencode(dict(change)), "query": query}
            return self._context.render(request, "what_if_result.html", **told)

    async def settings_file(self, request: Request) -> Response:
        try:
            other = changed_settings(change_of(request.query_params, self._settings), self._settings)
        except SettingsError as error:
            return PlainTextResponse(str(error), 422)
        head = "# Keys that differ from the configuration in force: assay replay score_page --config FILE --diff\n"
        text, headers = as_yaml(differences(self._settings, other)), {"content-disposition": _ATTACHED}
        return Response(head + text, media_type="application/yaml", headers=headers)

    async def _page(self, request: Request, url: str, html: str) -> tuple[CrawledPage, str]:
        """The page to score, and where it is from. Raises _PageError."""
        if html.strip():
            return _crawled({"url": url or _SAMPLE, "html": html}), "the pasted HTML"
        if not url:
            raise _PageError("Paste the HTML of a page, or give the address of one.")
        if canonical_url(url) is None:
            raise _PageError("The address begins with http:// or https:// and a host.")
        now = self._context.clock.monotonic()
        if self._last is None or self._last[0] != url or now - self._last[1] >= _KEPT_SECONDS:
            self._last = url, now, await self._found(request, url)
        return self._last[2]

    async def _found(self, request: Request, url: str) -> tuple[CrawledPage, str]:
        """The page of an address among the crawled pages or, for a user who may act, from the web."""
        try:
            known = [read.event for read in await self._context.records.crawled(url, 1)]
        except KafkaTimeoutError:
            known = []  # It may be further back, or on the web alone.
        except KafkaError as error:
            raise _PageError(f"Kafka can't be read: {error}") from None
        if known and isinstance(known[0], CrawledPage):
            return known[0], "the newest crawled record of the address"
        if not self._context.guard.may_act(request):
            hint = "Sign in to fetch it from the web, or paste its HTML."
            raise _PageError(f"This address is not among the crawled pages. {hint}")
        async with FetchWorker(self._settings.fetch) as fetcher:
            [reply] = (await fetcher.fetch(FetchPages((url,), ""))).pages
        if not isinstance(reply, FetchedPage):
            raise _PageError(f"The page can't be fetched: {reply.reason}{f', {reply.detail}' if reply.detail else ''}")
        return _crawled(crawled_fields(reply)), "a fetch just now"


_ATTACHED = 'attachment; filename="what-if.yaml"'


def _crawled(fields: dict[str, Any]) -> CrawledPage:
    try:
        return CrawledPage.model_validate(fields)
    except ValidationError as error:
        raise _PageError(f"That is no page: {refusal(error).detail}") from None


def _side(outcome: Outcome) -> dict[str, Any]:
    page = emitted(outcome, ScoredPage)
    dead = f"{outcome.reason}: {outcome.detail}" if isinstance(outcome, Dead) else ""
    lines = {line.component: line for line in page.cts_breakdown} if page else {}
    return {"page": page, "lines": lines, "dead": dead or ("" if page else "no decision")}
