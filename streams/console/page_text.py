"""The text of a crawled page, block by block, with what the scorer made of each: counted, skipped, hidden or refused.

``score_page`` runs again on the page, under the present rules. A block is counted if its text is in the content that
was scored, hidden if the page's markup shows it to no reader, and skipped otherwise. If the page was refused, all of it
is. Both run in a child process under the limits of the workers, because pages are untrusted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Literal

from selectolax.lexbor import LexborNode

from handlers.html.encoding import page_bytes
from handlers.html.limits import parse_within
from handlers.html.markdown import render_markdown
from handlers.html.styles import hiding, read_style
from handlers.score_page import ScorePageRules, score_page
from schemas.outcome import Dead, Emit
from schemas.pages import CrawledPage, ScoredPage
from streams.settings.model import Settings
from streams.workers.child import Work
from streams.workers.pool import WorkerPool

Fate = Literal["counted", "skipped", "hidden", "refused"]
MOST_CHARACTERS = 120_000
"""Of a page's text that is shown; a page can have 8 MB."""
_MOST_BLOCKS = 5_000
_MOST_NODES = 400_000
_NO_TEXT = frozenset(("script", "style", "template", "head", "iframe", "object", "svg", "math", "noscript", "select"))
_INLINE = frozenset(
    (
        "a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins", "kbd", "label",
        "mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "u", "var", "wbr",
    )
)  # fmt: skip
_CELLS = frozenset(("td", "th"))
"""They are apart, and a row of them is one block."""
_LEAST_IN_CONTENT = 12
"""Characters of a block that is looked for inside the lines of the content; a shorter one has to be a line."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a page's text, and why it has this fate."""

    text: str
    fate: Fate
    why: str = ""


@dataclass(frozen=True, slots=True)
class PageText:
    """The text of a page.

    Attributes:
        refusal: Why nothing of it is counted, "" if something may be.
        cut: Whether the page has more text than is shown.
        markdown: The content that was scored, by its blocks.
        suspected: Passages that are written to a machine.
    """

    blocks: tuple[Block, ...]
    refusal: str
    cut: bool
    markdown: str = ""
    suspected: tuple[str, ...] = ()

    def count(self, fate: Fate) -> int:
        return sum(len(block.text) for block in self.blocks if block.fate == fate)


def read_page_text(page: CrawledPage, rules: ScorePageRules) -> PageText:
    outcome = score_page(page, rules)
    refusal = content = markdown = ""
    suspected: tuple[str, ...] = ()
    match outcome:
        case Dead():
            refusal = f"{outcome.reason}: {outcome.detail}"
        case Emit(events=(ScoredPage() as scored,)):
            content, suspected = scored.content, scored.suspected_lines
            refusal = next((its.reason for its in scored.cts_breakdown if its.component == "refusal"), "")
            markdown = (
                "" if refusal else render_markdown(content, scored.blocks, entries=scored.entries)[:MOST_CHARACTERS]
            )
    found = [(line, "") for line in (page.content or "")[: MOST_CHARACTERS + 1].splitlines() if line.strip()]
    if page.content is None:
        tree = parse_within(page_bytes(page.body, page.content_type).utf8, rules.page_reading)
        if not isinstance(tree, str) and tree.body is not None:
            found = [*_blocks(tree.body)]
    counted = _Content("" if refusal else content)
    blocks: list[Block] = []
    length = 0
    for text, hidden in found:
        length += len(text)
        if length > MOST_CHARACTERS or len(blocks) >= _MOST_BLOCKS:
            return PageText(tuple(blocks), refusal, True, markdown, suspected)
        if refusal:
            blocks.append(Block(text, "refused", hidden))
        elif hidden:
            blocks.append(Block(text, "hidden", f"{hidden}, and counted" if counted.has(text) else hidden))
        else:
            blocks.append(Block(text, "counted" if counted.has(text) else "skipped"))
    return PageText(tuple(blocks), refusal, False, markdown, suspected)


class _Content:
    """Finds blocks in the content that was scored."""

    def __init__(self, content: str) -> None:
        self._lines = {_plain(line) for line in content.splitlines()}
        self._whole = _plain(content)

    def has(self, text: str) -> bool:
        plain = _plain(text)
        return plain in self._lines or (len(plain) >= _LEAST_IN_CONTENT and plain in self._whole)


def _plain(text: str) -> str:
    return "".join(text.split())


def _blocks(body: LexborNode) -> Iterator[tuple[str, str]]:
    """The texts of the blocks in page order, and how each is hidden; without recursion, for pages can be deep."""
    texts: list[str] = []
    before = (0, "")
    # Of each element, the block that it belongs to and how it is hidden; None if no text in it is shown.
    places: dict[int, tuple[int, str] | None] = {body.mem_id: (body.mem_id, _hides(body))}
    after_link = False
    for number, node in enumerate(body.traverse(include_text=True)):
        if number > _MOST_NODES:
            break
        above = node.parent.mem_id if node.parent is not None else body.mem_id
        place, tag = places.get(above, (above, "")), node.tag
        if tag != "-text":
            within = tag in _INLINE or tag in _CELLS
            if place is None or tag in _NO_TEXT:
                places.setdefault(node.mem_id, None)
            else:
                places.setdefault(node.mem_id, (place[0] if within else node.mem_id, place[1] or _hides(node)))
            if tag in _CELLS:
                texts.append(" ")
            elif not within and texts:
                yield from _joined(texts, before[1])
                texts = []
            continue
        if place is None or not (text := node.text_content or "").strip():
            continue
        if place != before and texts:
            yield from _joined(texts, before[1])
            texts = []
        before = place
        is_link = node.parent is not None and node.parent.tag == "a"
        if is_link and after_link:
            # Links of a menu are apart on the screen.
            texts.append(" ")
        after_link = is_link
        texts.append(text)
    yield from _joined(texts, before[1])


def _joined(texts: list[str], hidden: str) -> Iterator[tuple[str, str]]:
    if line := " ".join("".join(texts).split()):
        yield line, hidden


def _hides(node: LexborNode) -> str:
    """How an element hides its text from a reader; "" if it does not."""
    attributes = node.attributes
    if "hidden" in attributes:
        return "it has the attribute hidden"
    if (attributes.get("aria-hidden") or "").lower() == "true":
        return "aria-hidden"
    how = hiding(read_style(attributes.get("style") or ""))
    if how is None:
        return ""
    return "its style hides it" + (f" ({how.kind.replace('_', ' ')})" if how.kind != "style" else "")


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
    _ = rules.compiled
    return partial(read_page_text, rules=rules)
