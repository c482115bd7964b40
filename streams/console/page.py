"""The screen ``page``: what happened to a page over all handlers, each point of its score, and its text with marks.

The text is the newest crawled content by its typed blocks, and the lines that were left out, each with why. For it
``score_page`` runs again on the page, under the present rules, in a child process under the limits of the workers,
because pages are untrusted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from functools import partial
from itertools import accumulate, groupby, islice, pairwise
from typing import NamedTuple

from aiokafka.errors import KafkaError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from handlers.html.encoding import page_bytes
from handlers.html.hints import Hints
from handlers.html.limits import parse_within
from handlers.html.main_content import candidates, find_content
from handlers.html.markdown import every_block, render_markdown
from handlers.html.walk import walk_page
from handlers.score_page import ScorePageRules, score_page
from schemas.outcome import Dead
from schemas.pages import ContentBlock, CrawledPage, ScoredPage
from streams.console.context import Context, Screen
from streams.console.lists import render_list
from streams.console.objects import Read
from streams.replay.comparisons import ComponentChange, component_changes, emitted
from streams.topology import DOCUMENTS_INDEXED, PAGES_SCORED, handler_named
from streams.views.words import SubjectKind, verdict_of
from streams.workers.child import Work
from streams.workers.pool import WorkerPool
from streams.workers.template import ChildStartError

_MOST_VERSIONS = 6
_MOST_CRAWLED = 6
_SCORER = handler_named("score_page")
_Step = tuple[int, str, str, str, str, str]
_STEPS = {PAGES_SCORED.name: "scored", DOCUMENTS_INDEXED.name: "indexed"}


def routes(context: Context) -> list[Route]:
    return [Route("/page", partial(_page, context)), Route("/page/text", partial(_text, context))]


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


async def _text(context: Context, request: Request) -> Response:
    """The newest crawled text with marks; it runs the scorer again, so the page loads it after itself."""
    url = request.query_params.get("url", "").strip()
    text, problem = None, ""
    try:
        for read in await context.records.crawled(url, 1):
            text = await page_text_of(context, read.event) if isinstance(read.event, CrawledPage) else read.event
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


MOST_CHARACTERS = 120_000  # of a page's content, and of what was left out, that is shown; a page can have 8 MB
_MOST_PARTS = 5_000


class LeftOut(NamedTuple):
    text: str
    why: str


class TypedPart(NamedTuple):
    """A block of the content, or a table: its rows of cells, each with whether it is a heading."""

    block: ContentBlock
    text: str
    rows: Sequence[tuple[bool, Sequence[str]]] = ()


@dataclass(frozen=True, slots=True)
class PageText:
    """The text of a page; why nothing of it is content, if so; and whether it has more text than is shown.

    ``suspected`` are the lines of the content that are written to a machine.
    """

    parts: tuple[TypedPart, ...]
    left_out: tuple[LeftOut, ...]
    refusal: str
    cut: bool
    markdown: str = ""
    suspected: tuple[str, ...] = ()


def read_page_text(page: CrawledPage, rules: ScorePageRules) -> PageText:
    outcome = score_page(page, rules)
    scored = emitted(outcome, ScoredPage)
    refusal = f"{outcome.reason}: {outcome.detail}" if isinstance(outcome, Dead) else ""
    if scored:
        refusal = next((its.reason for its in scored.cts_breakdown if its.component == "refusal"), "")
    content, blocks = (scored.content, scored.blocks) if scored and not refusal else ("", ())
    lines = _left_out(page, rules, content, refusal) if page.content is None else iter(())
    left = [*dict.fromkeys(islice(lines, _MOST_PARTS))]
    shown = sum(length <= MOST_CHARACTERS for length in accumulate(len(line.text) for line in left))
    is_cut = len(content) > MOST_CHARACTERS or shown < len(left) or next(lines, None) is not None
    markdown = render_markdown(content, blocks, entries=scored.entries if scored else ())[:MOST_CHARACTERS]
    suspected = scored.suspected_lines if scored else ()
    return PageText(typed_parts(content, blocks), tuple(left[:shown]), refusal, is_cut, markdown, suspected)


def typed_parts(content: str, blocks: Sequence[ContentBlock]) -> tuple[TypedPart, ...]:
    """The blocks of a content with their texts; the rows of a table together."""
    text = content[:MOST_CHARACTERS]
    shown = [block for block in blocks if block["end"] <= len(text)]
    parts = []
    for _, group in groupby(every_block(text, shown), key=lambda block: block.get("table") or (block["start"], 0)):
        [block, *others] = group
        rows = [
            (its.get("header", False), [text[start:end] for start, end in its["cells"]])
            for its in (block, *others)
            if "table" in its
        ]
        parts.append(TypedPart(block, text[block["start"] : block["end"]], rows))
    return tuple(parts[:_MOST_PARTS])


def _left_out(page: CrawledPage, rules: ScorePageRules, content: str, refusal: str) -> Iterator[LeftOut]:
    """The lines of a page that are not in its content, in page order, and the texts that its markup hides."""
    reading = rules.page_reading
    tree = parse_within(page_bytes(page.body, page.content_type).utf8, reading)
    if isinstance(tree, str):
        return
    outline = walk_page(tree, Hints(reading), reading.max_nodes)
    found = find_content(outline, reading.content_trees.forest, reading.max_content_characters)
    chosen, near = {block.start for block in found.blocks}, {block.start for block in candidates(outline)}
    yield from (
        LeftOut(text, refusal or "navigation and the like, its beginning") for _, text in outline.asides if text
    )
    for line in outline.lines_with_links():
        if refusal:
            yield LeftOut(line.text, refusal)
        elif line.start not in chosen:
            if line.start not in near:
                why = "a notice, or beside the text"
            elif line.linked * 2 > len(line.text):
                why = "links"
            else:
                why = "a copy of other content" if line.text in content else "its place in the template has no content"
            yield LeftOut(line.text, why)
    for hidden in outline.hidden:
        if hidden.outcome != "kept":
            why = f"hidden by {hidden.kind.replace('_', ' ')} in {hidden.place}, {hidden.outcome.replace('_', ' ')}"
            yield LeftOut(hidden.text, f"{why}: {hidden.reason}" if hidden.reason else why)


async def page_text_of(context: Context, page: CrawledPage) -> PageText | Dead:
    """The text of a page; why it has no text, for a page that takes too long. Raises ChildStartError."""
    rules, workers = context.settings.rules(ScorePageRules), context.settings.workers
    if workers.processes == 0:
        return await asyncio.to_thread(read_page_text, page, rules)
    # A copy has no cached properties, which the child computes faster than it reads them.
    work = partial(_work, rules.model_copy())
    pool = await context.once(WorkerPool, lambda: WorkerPool(work, 1, workers.limits))
    result: PageText | Dead = await pool.run(page)
    return result


def _work(rules: ScorePageRules) -> Work:
    _ = rules.pages, rules.compiled_sources
    return partial(read_page_text, rules=rules)
