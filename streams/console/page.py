"""The screen ``page``: what happened to a page over all handlers, each point of its score, and its text with marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter

from aiokafka.errors import KafkaError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from handlers.html.links import canonical_url
from schemas.outcome import Dead
from schemas.pages import CrawledPage, ScoredPage
from streams.console.context import Context, Screen
from streams.console.entries import Entry
from streams.console.page_text import PageText
from streams.console.records import Read
from streams.console.versions import changes_between
from streams.topology import DOCUMENTS_INDEXED, PAGES_CRAWLED, PAGES_SCORED, handler_named
from streams.views.subjects import SubjectKind
from streams.views.words import verdict_of
from streams.workers.template import ChildStartError

_MOST_VERSIONS = 6
_MOST_CRAWLED = 6
_MOST_LISTED = 100
_SCORER = handler_named("score_page")
_STEPS = {PAGES_SCORED.name: "scored", DOCUMENTS_INDEXED.name: "indexed"}


def routes(context: Context) -> list[Route]:
    """The list of pages, a page, and the part with its text."""
    its = _Pages(context)
    return [Route("/page", its.page), Route("/page/text", its.text)]


SCREEN = Screen("Pages", "/page", "p", "how far a page can be trusted, and why", routes)


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a page's history."""

    name: str
    at: int
    by: str
    told: str
    tone: str
    link: str


class _Pages:
    def __init__(self, context: Context) -> None:
        self._context = context

    async def page(self, request: Request) -> Response:
        url = request.query_params.get("url", "").strip()
        if not url:
            return self._listed(request)
        store = self._context.store
        entries = store.of_subject(url, SubjectKind.PAGE)
        mentions = store.mentions(url)
        scored = [its for its in entries if its.position.topic == PAGES_SCORED.name]
        problem, crawled, reads = "", [], {}
        try:
            crawled = await self._crawled(url)
            reads = await self._context.records.events([its.position for its in scored[:_MOST_VERSIONS]])
        except KafkaError as error:
            if not (entries or mentions):
                raise
            problem = f"Kafka can't be read: {error}"
        if not (entries or mentions or crawled):
            unknown = f"No decision about {url} is kept, and Kafka has no copy of it."
            return self._context.missing(request, "No such page", unknown)
        versions = [(entry, reads.get(entry.position)) for entry in scored[:_MOST_VERSIONS]]
        newest = next((its for _, read in versions if (its := _scored(read)) is not None), None)
        steps = [
            *(_crawl(read) for read in crawled),
            *(_step(_STEPS.get(its.position.topic, "refused"), its, its.verdict) for its in entries),
            *(_step(role, its, note) for its, role, note in mentions),
        ]
        return self._context.render(
            request,
            "page.html",
            url=url,
            page=newest,
            entry=scored[0] if scored else None,
            steps=sorted(steps, key=attrgetter("at"), reverse=True),
            changes=_changes(versions),
            expired=bool(scored) and newest is None and not problem,
            has_text=bool(crawled),
            problem=problem,
            other_rules=self._context.other_rules(_SCORER, newest.config_version if newest else None),
        )

    async def text(self, request: Request) -> Response:
        """The newest crawled text with marks; it runs the scorer again, so the page loads it after itself."""
        url = request.query_params.get("url", "").strip()
        text: PageText | Dead | None = None
        problem = ""
        try:
            crawled = await self._crawled(url)
            event = crawled[0].event if crawled else None
            if isinstance(event, CrawledPage):
                text = await self._context.texts.read(event)
            elif isinstance(event, Dead):
                text = event
        except (KafkaError, ChildStartError) as error:
            problem = str(error)
        refused = f"{text.reason}: {text.detail}" if isinstance(text, Dead) else ""
        shown = text if isinstance(text, PageText) else None
        return self._context.render(request, "page_text.html", text=shown, refused=refused, problem=problem)

    async def _crawled(self, url: str) -> list[Read]:
        keys = {spelling.encode() for spelling in (url, canonical_url(url)) if spelling}
        return await self._context.records.newest(PAGES_CRAWLED, keys, _MOST_CRAWLED)

    def _listed(self, request: Request) -> Response:
        tier = request.query_params.get("tier", "").lower()
        tone = tier if tier in ("a", "b", "c") else ""
        entries = self._context.store.newest(_MOST_LISTED, topic=PAGES_SCORED.name, tone=tone)
        return self._context.render(request, "pages.html", entries=entries, tier=tier)


def _scored(read: Read | None) -> ScoredPage | None:
    return read.event if read is not None and isinstance(read.event, ScoredPage) else None


def _changes(versions: Sequence[tuple[Entry, Read | None]]) -> list[tuple[Entry, object]]:
    """Each version with what it changed against the one before it, the newest first; None for an expired one."""
    found: list[tuple[Entry, object]] = []
    for (entry, read), (_, earlier) in pairwise(versions):
        after, before = _scored(read), _scored(earlier)
        found.append((entry, changes_between(before, after) if before and after else None))
    return found


def _crawl(read: Read) -> Step:
    by = read.headers.get("ce_source", "").removeprefix("assay/") or "a crawler"
    its = read.position
    path = f"/decision/{its.topic}/{its.partition}/{its.offset}"
    return Step("crawled", int(read.at.timestamp() * 1000), by, verdict_of(read.event), "none", path)


def _step(name: str, entry: Entry, told: str) -> Step:
    return Step(name, entry.at, entry.handler, told, entry.tone, entry.path)
