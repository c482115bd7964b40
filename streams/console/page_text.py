"""The content of a crawled page by its typed blocks, and the lines that were left out, each with why.

``score_page`` runs again on the page, under the present rules, in a child process under the limits of the workers,
because pages are untrusted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, groupby, islice
from typing import NamedTuple

from handlers.html.encoding import page_bytes
from handlers.html.hints import Hints
from handlers.html.limits import parse_within
from handlers.html.main_content import candidates, find_content
from handlers.html.markdown import every_block, render_markdown
from handlers.html.walk import walk_page
from handlers.score_page import ScorePageRules, score_page
from schemas.outcome import Dead
from schemas.pages import ContentBlock, CrawledPage, ScoredPage
from streams.replay.comparisons import emitted
from streams.settings.model import Settings
from streams.workers.child import Work
from streams.workers.pool import WorkerPool

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


class PageTexts:
    """Reads page texts in a child process, which starts when the first page is shown, and ends with ``resources``."""

    def __init__(self, settings: Settings, resources: AsyncExitStack) -> None:
        self._settings = settings
        self._resources = resources
        self._pool: WorkerPool | None = None
        self._starting = asyncio.Lock()

    async def read(self, page: CrawledPage) -> PageText | Dead:
        """The text of a page; why it has no text, for a page that takes too long. Raises ChildStartError."""
        rules, workers = self._settings.rules(ScorePageRules), self._settings.workers
        if workers.processes == 0:
            return await asyncio.to_thread(read_page_text, page, rules)
        async with self._starting:
            if self._pool is None:
                # A copy has no cached properties, which the child computes faster than it reads them.
                pool = WorkerPool(partial(_work, rules.model_copy()), 1, workers.limits)
                self._pool = await self._resources.enter_async_context(pool)
        result: PageText | Dead = await self._pool.run(page)
        return result


def _work(rules: ScorePageRules) -> Work:
    _ = rules.pages, rules.compiled_sources
    return partial(read_page_text, rules=rules)
