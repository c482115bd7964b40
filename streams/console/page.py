"""The screen ``page``: what happened to a page over all handlers, each point of its score, and its text with marks."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import unified_diff
from functools import partial
from itertools import pairwise

from aiokafka.errors import KafkaError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from schemas.outcome import Dead
from schemas.pages import CrawledPage, ScoredPage
from streams.console.context import Context, Screen
from streams.console.lists import render_list
from streams.console.objects import Read
from streams.console.page_text import PageText, PageTexts, typed_parts
from streams.replay.comparisons import ComponentChange, component_changes
from streams.topology import DOCUMENTS_INDEXED, PAGES_SCORED, handler_named
from streams.views.words import SubjectKind, verdict_of
from streams.workers.template import ChildStartError

_MOST_VERSIONS = 6
_MOST_CRAWLED = 6
_SCORER = handler_named("score_page")
_Step = tuple[int, str, str, str, str, str]
_STEPS = {PAGES_SCORED.name: "scored", DOCUMENTS_INDEXED.name: "indexed"}


def routes(context: Context) -> list[Route]:
    texts = PageTexts(context.settings, context.resources)
    return [Route("/page", partial(_page, context)), Route("/page/text", partial(_text, context, texts))]


SCREEN = Screen("Pages", "/page", "p", "how far a page can be trusted, and why", routes)


async def _page(context: Context, request: Request) -> Response:
    url = request.query_params.get("url", "").strip()
    if not url:
        return await render_list(context, "/page", request, "pages.html", states=context.store.states())
    entries, mentions = context.store.of_subject(url, SubjectKind.PAGE), context.store.mentions(url)
    scored = [its for its in entries if its.position.topic == PAGES_SCORED.name]
    problem, crawled, reads = "", [], {}
    try:
        crawled = await context.records.crawled(url, _MOST_CRAWLED)
        reads = await context.records.events([its.position for its in scored[:_MOST_VERSIONS]])
    except KafkaError as error:
        if not (entries or mentions):
            raise
        problem = f"Kafka can't be read: {error}"
    if not (entries or mentions or crawled):
        unknown = f"No decision about {url} is kept, and Kafka has no copy of it."
        return context.missing(request, "No such page", unknown)
    versions = [(entry, _scored(reads.get(entry.position))) for entry in scored[:_MOST_VERSIONS]]
    newest = next((page for _, page in versions if page is not None), None)
    done = [(_STEPS.get(its.position.topic, "refused"), its, its.verdict) for its in entries]
    done += [(role, its, note) for its, role, note in mentions]
    steps: list[_Step] = [(its.at, name, its.handler, told, its.tone, its.path) for name, its, told in done]
    steps += map(_crawl, crawled)
    return context.render(
        request,
        "page.html",
        url=url,
        page=newest,
        entry=scored[0] if scored else None,
        steps=sorted(steps, reverse=True),
        # Each version with what it changed against the one before it; None if one of the two has expired.
        changes=[
            (entry, earlier, changes_between(before, after) if before and after else None)
            for (entry, after), (earlier, before) in pairwise(versions)
        ],
        expired=bool(scored) and newest is None and not problem,
        has_text=bool(crawled),
        parts=typed_parts(newest.content, newest.blocks) if newest and not crawled else (),
        problem=problem,
        other_rules=context.other_rules(_SCORER, newest.config_version if newest else None),
    )


async def _text(context: Context, texts: PageTexts, request: Request) -> Response:
    """The newest crawled text with marks; it runs the scorer again, so the page loads it after itself."""
    url = request.query_params.get("url", "").strip()
    text, problem = None, ""
    try:
        for read in await context.records.crawled(url, 1):
            text = await texts.read(read.event) if isinstance(read.event, CrawledPage) else read.event
    except (KafkaError, ChildStartError) as error:
        problem = str(error)
    refused = f"{text.reason}: {text.detail}" if isinstance(text, Dead) else ""
    shown = text if isinstance(text, PageText) else None
    return context.render(request, "page_text.html", text=shown, refused=refused, problem=problem)


def _scored(read: Read | None) -> ScoredPage | None:
    return read.event if read is not None and isinstance(read.event, ScoredPage) else None


def _crawl(read: Read) -> _Step:
    by = read.headers.get("ce_source", "").removeprefix("assay/") or "a crawler"
    return int(read.at.timestamp() * 1000), "crawled", by, verdict_of(read.event), "none", read.position.path


_FACTS = ("cts_score", "trust_label", "tier", "state", "title", "date", "authors", "site_name", "language")
_MOST_LINES = 400
_SHOWN_LINES = 12


@dataclass(frozen=True, slots=True)
class PageChanges:
    """How a version of a page differs from the one before it; of many lines, the first are kept."""

    components: tuple[ComponentChange, ...]
    facts: list[tuple[str, str, str]]
    added: list[str]
    removed: list[str]
    more_lines: int
    other_rules: bool

    @property
    def is_empty(self) -> bool:
        return not (self.components or self.facts or self.added or self.removed or self.other_rules)


def changes_between(before: ScoredPage, after: ScoredPage) -> PageChanges:
    old, new = before.content.splitlines()[:_MOST_LINES], after.content.splitlines()[:_MOST_LINES]
    lines = [*unified_diff(old, new, n=0, lineterm="")][2:]  # without the heading
    removed, added = ([line[1:] for line in lines if line[0] == sign] for sign in "-+")
    facts = [(name, _word(getattr(before, name)), _word(getattr(after, name))) for name in _FACTS]
    return PageChanges(
        components=component_changes(before, after),
        facts=[fact for fact in facts if fact[1] != fact[2]],
        added=added[:_SHOWN_LINES],
        removed=removed[:_SHOWN_LINES],
        more_lines=max(0, len(added) - _SHOWN_LINES) + max(0, len(removed) - _SHOWN_LINES),
        other_rules=before.config_version != after.config_version,
    )


def _word(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else "" if value is None else str(value)
