"""Reads a page once: its facts, its state, and the sections that its breadcrumbs name."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from selectolax.lexbor import LexborHTMLParser

from handlers.html.content import PageFacts, PageReader
from handlers.html.encoding import not_a_page, page_bytes
from handlers.html.hidden import judge
from handlers.html.limits import parse_within
from handlers.html.links import session_of
from handlers.html.reading import PageReadingSection
from handlers.html.state import PageRefusalsSection, PageState, Shown, StateReader, find_machinery
from handlers.text.patterns import DetailPatterns, PatternRules
from schemas.outcome import Dead, DeadReason
from schemas.pages import MAX_PAGE_BYTES, CrawledPage
from schemas.replies import FetchedPage, FetchFailure, FetchRefused
from schemas.states import State

TEXTLESS = frozenset((State.EMPTY, State.NEEDS_RENDER))
_NOSCRIPT = re.compile(rb"(</?)noscript", re.IGNORECASE)
_TRAILS = '[aria-label*="breadcrumb" i],[itemtype$="BreadcrumbList"],[class*="breadcrumb"],[id*="breadcrumb"]'
_MAX_TRAILS = 5
_MAX_TRAIL_CHARACTERS = 300
_MAX_STEPS = 8
Fetched = tuple[str, str | None, int | None, datetime | None]
"""The address that was asked for, that after redirects, the status, and when a page was fetched."""


@dataclass(frozen=True, slots=True)
class Detail:
    """A fetched page with content."""

    page: FetchedPage
    content: PageFacts


class StatedReader:
    """Reads pages and their states under one configuration; its word lists are compiled once."""

    def __init__(self, reading: PageReadingSection, refusals: PageRefusalsSection, details: DetailPatterns) -> None:
        self._reading = reading
        self.addressed = reading.addressed.compiled
        self.states = StateReader(refusals, details)
        self._pages = PageReader(reading, details)

    def extracted(self, page: CrawledPage) -> PageFacts:
        """The facts and the state of a page whose text a crawler extracted."""
        facts = self._pages.read_extracted(page)
        shown = Shown(facts.titles, facts.text)
        return replace(facts, state=self.states.page_state(shown, page.url, page.final_url, page.status))

    def fetched(self, page: FetchedPage, allowed: Container[State] = ()) -> Detail | FetchRefused:
        """A fetched page with its trail, or why it is refused; states that are ``allowed`` are not refused."""
        at = (page.url, page.final_url, page.status, page.fetched_at)
        found = self.read(page.body, page.content_type, *at, with_trail=True)
        if isinstance(found, Dead):
            is_page = found.reason is DeadReason.TOO_COMPLEX
            return FetchRefused(page.url, FetchFailure.NO_CONTENT if is_page else FetchFailure.NOT_HTML, found.detail)
        if found.state.is_content or found.state.kind in allowed:
            return Detail(page, found)
        return FetchRefused(page.url, FetchFailure(found.state.kind.value), found.state.because)

    def read(
        self,
        body: bytes | str,
        content_type: str | None,
        url: str,
        final_url: str | None = None,
        status: int | None = None,
        fetched_at: datetime | None = None,
        *,
        with_trail: bool = False,
    ) -> PageFacts | Dead:
        """The facts and the state of a page, or why it can't be read. Never raises."""
        if too_large := why_too_large(len(body)):
            return too_large
        if looks_like := not_a_page(body, content_type):
            return Dead(DeadReason.UNREADABLE_PAGE, looks_like)
        utf8 = page_bytes(body, content_type).utf8
        if isinstance(body, str) and (too_large := why_too_large(len(utf8))):
            return too_large
        at = (url, final_url, status, fetched_at)
        found = self._parsed(utf8, at, with_trail=with_trail)
        least = self.states.section.least_characters
        if isinstance(found, PageFacts) and len(found.text) < least and _NOSCRIPT.search(utf8):
            # A page that scripts make may have its text in "noscript" too, which most visitors do not see.
            plain = self._parsed(_NOSCRIPT.sub(rb"\1div", utf8), at, with_trail=with_trail)
            if isinstance(plain, PageFacts) and plain.state.is_content:
                return found if any(judge([plain.text], self.addressed)) else plain
        return found

    def _parsed(self, utf8: bytes, fetched: Fetched, *, with_trail: bool) -> PageFacts | Dead:
        url, final_url, status, fetched_at = fetched
        tree = parse_within(utf8, self._reading)
        if isinstance(tree, str):
            return Dead(DeadReason.TOO_COMPLEX, tree)
        at, section = final_url or url, self.states.section
        session = session_of(tree, url) if "sid=" in url.lower() else ""
        trail = trail_of(tree) if with_trail else ()
        facts = self._pages.read(tree, at, fetched_at)
        is_short = len(facts.text) <= section.page_characters
        machinery = find_machinery(tree, utf8, at, facts.text, section) if is_short else None
        states_origin = facts.schema_type is not None or bool(facts.has_date or facts.has_author)
        shown = Shown(facts.titles, facts.text, unread=facts.unread, states_origin=states_origin)
        state = self.states.page_state(shown, url, final_url, status, machinery)
        return replace(facts, state=state, session=session, trail=trail)

    def read_result(
        self, html: str | None, title: str, text: str, url: str, *, is_full: bool = False
    ) -> tuple[PageState, PageFacts | None]:
        """The state of a result by its page; by title and text without a page that can be read. The facts of the page.

        ``is_full``: the text is that of the whole page, which scripts may have made.
        """
        found = self.read(html, None, url) if html else None
        facts = found if isinstance(found, PageFacts) else None
        if facts is None or (is_full and text.strip() and facts.state.kind in TEXTLESS):
            return self.states.page_state(Shown((title,), text, is_whole=is_full), url), facts
        return facts.state, facts


class PageRules(PatternRules):
    """Rules of a handler that reads pages."""

    page_reading: PageReadingSection
    page_refusals: PageRefusalsSection

    @cached_property
    def pages(self) -> StatedReader:
        """Reads pages and their states under these rules; its word lists are compiled once."""
        return StatedReader(self.page_reading, self.page_refusals, self.details)


def why_too_large(size: int) -> Dead | None:
    """Why a page of so many bytes is not read."""
    if size <= MAX_PAGE_BYTES:
        return None
    return Dead(DeadReason.TOO_LARGE, f"the page has {size} bytes, more than {MAX_PAGE_BYTES}")


def trail_of(tree: LexborHTMLParser) -> tuple[str, ...]:
    """The links of a page's breadcrumbs, the widest section first.

    >>> markup = '<nav aria-label="Breadcrumb"><a href="/b">Books</a> > <a href="/h">History</a> > Rome</nav>'
    >>> trail_of(LexborHTMLParser(markup))
    ('Books', 'History')
    """
    for node in tree.css(_TRAILS)[:_MAX_TRAILS]:
        links = node.css("a[href]")
        # An element around the whole page may have the name too.
        texts = [link.text()[: 4 * _MAX_TRAIL_CHARACTERS] for link in links] if len(links) <= _MAX_STEPS else []
        steps = tuple(filter(None, (" ".join(text.split()) for text in texts)))
        if steps and sum(map(len, steps)) <= _MAX_TRAIL_CHARACTERS:
            return steps
    return ()
