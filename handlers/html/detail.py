"""A fetched page read for what it says: its content, or why there is none.

In: a page as it came over the wire. Out: a ``Detail``, or a refusal with its reason. It tells apart what the status
does not: files that are no page, "not found" with status 200, walls, and pages that are empty without scripts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from handlers.html.content import PageContent, PageReader
from handlers.html.encoding import not_a_page, page_bytes, parse_bytes
from handlers.html.limits import admitted
from handlers.html.reading import PageReadingSection
from handlers.html.refresh import refreshed_to
from handlers.html.refusals import PageRefusalsSection, Refusals, why_elsewhere
from handlers.html.trail import trail_of
from handlers.text.details import compile_details
from handlers.text.patterns import Patterns
from schemas.replies import FetchedPage, FetchFailure, FetchRefused

_NOSCRIPT = re.compile(rb"(</?)noscript", re.IGNORECASE)
_MAX_TITLE_CHARACTERS = 500
_MAX_ONWARD_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Detail:
    """A page that came and is content.

    Attributes:
        titles: What it is called: its own title, its window's, its main heading.
        trail: The sections that it stands in, by its breadcrumbs.
        onward: Where it sends its reader by itself, if it does so within seconds.
    """

    page: FetchedPage
    content: PageContent
    titles: tuple[str, ...]
    trail: tuple[str, ...] = ()
    onward: str | None = None


class DetailReader:
    """Reads fetched pages under one configuration; its word lists are compiled once."""

    def __init__(self, reading: PageReadingSection, refusals: PageRefusalsSection, patterns: Patterns) -> None:
        self._reading = reading
        details = compile_details(tuple(patterns.values()))
        self._refusals = Refusals(refusals, details)
        self._reader = PageReader(reading, details)

    def detail(self, page: FetchedPage) -> Detail | FetchRefused:
        """A page as a detail, or why it is none (R-273). Never raises."""
        reason = why_elsewhere(page.url, page.final_url, self._refusals.section)
        read = FetchRefused(page.url, reason) if reason is not None else self._read(page)
        if isinstance(read, FetchRefused):
            return read
        least = self._refusals.section.least_characters
        if len(read.content.text) < least:
            plain = self._read(page, without_scripts=True)
            read = plain if isinstance(plain, Detail) else read
        if (refusal := self._refusals.why_no_content(read.titles, read.content.text, page.final_url)) is not None:
            return FetchRefused(page.url, refusal.reason, refusal.words)
        if len(read.content.text) < least:
            return FetchRefused(page.url, FetchFailure.NO_CONTENT)
        return self._why_sent_on(read) or read

    def no_listing(self, page: FetchedPage, has_items: bool) -> FetchRefused | None:
        """Why what came in the place of a listing is none, by its own words; beside items only its titles count."""
        read = self._read(page)
        if isinstance(read, FetchRefused):
            return None
        text = "" if has_items else read.content.text
        if (refusal := self._refusals.why_no_content(read.titles, text, page.final_url)) is not None:
            return FetchRefused(page.url, refusal.reason, refusal.words)
        if why_elsewhere(page.url, page.final_url, self._refusals.section) is FetchFailure.CHALLENGE:
            return FetchRefused(page.url, FetchFailure.CHALLENGE)
        return self._why_sent_on(read)

    def _why_sent_on(self, read: Detail) -> FetchRefused | None:
        """Why a page that sends its reader on is not what was asked for; None where it stays, or holds a text."""
        if read.onward is None or len(read.content.text) > self._refusals.section.short_characters:
            return None
        reason = why_elsewhere(read.page.url, read.onward, self._refusals.section) or FetchFailure.NO_CONTENT
        return FetchRefused(read.page.url, reason, f"sends its reader on to {read.onward[:_MAX_ONWARD_CHARACTERS]}")

    def _read(self, page: FetchedPage, *, without_scripts: bool = False) -> Detail | FetchRefused:
        if (looks_like := not_a_page(page.body, page.content_type)) is not None:
            return FetchRefused(page.url, FetchFailure.NOT_HTML, looks_like)
        body = page_bytes(page.body, page.content_type)
        if without_scripts:
            # A page that scripts make may say the same to those who run none.
            body = replace(body, utf8=_NOSCRIPT.sub(rb"\1div", body.utf8))
        utf8 = admitted(body.utf8, self._reading)
        if isinstance(utf8, str):
            return FetchRefused(page.url, FetchFailure.NO_CONTENT, utf8)
        tree = parse_bytes(replace(body, utf8=utf8)).tree
        shown = [
            node.text()[:_MAX_TITLE_CHARACTERS] for node in (tree.css_first("title"), tree.css_first("h1")) if node
        ]
        onward = refreshed_to(tree, page.final_url, self._refusals.section.refresh_seconds)
        trail = trail_of(tree)
        content = self._reader.read(tree, page.final_url, page.fetched_at)
        return Detail(page, content, (content.title, *shown), trail, onward)
