"""The content of a fetched page, or why it has none.

Detects files that are no page, "not found" with status 200, walls, redirects in the page, and pages without text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser

from handlers.html.content import PageFacts, PageReader
from handlers.html.encoding import not_a_page, page_bytes
from handlers.html.limits import parse_within
from handlers.html.links import absolute_url, canonical_url, host_of, registrable_domain
from handlers.html.reading import PageReadingSection
from handlers.html.refusals import PageRefusalsSection, Refusals
from handlers.text.patterns import Patterns, compile_details
from schemas.addresses import web_address
from schemas.replies import FetchedPage, FetchFailure, FetchRefused

_NOSCRIPT = re.compile(rb"(</?)noscript", re.IGNORECASE)
_REFRESH = re.compile(r" ?(\d{0,9})[\d.]{0,20} ?[;, ] ?(?:url ?= ?)?[\"']?([^\"']+)", re.IGNORECASE)
_ROOT = re.compile(
    r"/*(?:[a-z]{2}(?:[-_][a-z]{2})?/*)?(?:(?:index|default|home|start)(?:\.[a-z]{2,5})?/*)?", re.IGNORECASE
)
_TRAILS = '[aria-label*="breadcrumb" i],[itemtype$="BreadcrumbList"],[class*="breadcrumb"],[id*="breadcrumb"]'
_MAX_TRAILS = 5
_MAX_TRAIL_CHARACTERS = 300
_MAX_STEPS = 8
_MAX_REFRESH_CHARACTERS = 4_000
_MAX_TAGS = 50
_MAX_ONWARD_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Detail:
    """A fetched page with content.

    Attributes:
        trail: Its sections by its breadcrumbs.
        onward: The address to which it redirects within seconds.
    """

    page: FetchedPage
    content: PageFacts
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
        """A page as a detail, or why it is no detail (R-273). Never raises."""
        reason = why_elsewhere(page.url, page.final_url, self._refusals.section)
        read = FetchRefused(page.url, reason) if reason is not None else self._read(page)
        if isinstance(read, FetchRefused):
            return read
        least = self._refusals.section.least_characters
        if len(read.content.text) < least:
            plain = self._read(page, without_scripts=True)
            read = plain if isinstance(plain, Detail) else read
        facts = read.content
        refusal = self._refusals.why_no_content(facts.titles, facts.text, page.url, facts.form_lines)
        if refusal is not None:
            return FetchRefused(page.url, refusal.reason, refusal.words)
        if len(read.content.text) < least:
            return FetchRefused(page.url, FetchFailure.NO_CONTENT)
        return self._why_sent_on(read) or read

    def no_listing(self, page: FetchedPage, has_items: bool) -> FetchRefused | None:
        """Why a page that was fetched as a listing is refused; None if it may be a listing.

        If it has items, only its titles count.
        """
        read = self._read(page)
        if isinstance(read, FetchRefused):
            return None
        text = "" if has_items else read.content.text
        refusal = self._refusals.why_no_content(read.content.titles, text, page.url, read.content.form_lines)
        if refusal is not None:
            return FetchRefused(page.url, refusal.reason, refusal.words)
        if why_elsewhere(page.url, page.final_url, self._refusals.section) is FetchFailure.CHALLENGE:
            return FetchRefused(page.url, FetchFailure.CHALLENGE)
        return self._why_sent_on(read)

    def _why_sent_on(self, read: Detail) -> FetchRefused | None:
        """Why a page that redirects is refused; None if it does not redirect, or has text."""
        if read.onward is None or len(read.content.text) > self._refusals.section.short_characters:
            return None
        reason = why_elsewhere(read.page.url, read.onward, self._refusals.section) or FetchFailure.NO_CONTENT
        return FetchRefused(read.page.url, reason, f"redirects to {read.onward[:_MAX_ONWARD_CHARACTERS]}")

    def _read(self, page: FetchedPage, *, without_scripts: bool = False) -> Detail | FetchRefused:
        if (looks_like := not_a_page(page.body, page.content_type)) is not None:
            return FetchRefused(page.url, FetchFailure.NOT_HTML, looks_like)
        utf8 = page_bytes(page.body, page.content_type).utf8
        if without_scripts:
            # A page that scripts make may have its text in "noscript" too.
            utf8 = _NOSCRIPT.sub(rb"\1div", utf8)
        tree = parse_within(utf8, self._reading)
        if isinstance(tree, str):
            return FetchRefused(page.url, FetchFailure.NO_CONTENT, tree)
        onward = refreshed_to(tree, page.final_url, self._refusals.section.refresh_seconds)
        trail = trail_of(tree)
        content = self._reader.read(tree, page.final_url, page.fetched_at)
        return Detail(page, content, trail, onward)


def why_elsewhere(asked: str, final: str, section: PageRefusalsSection) -> FetchFailure | None:
    """Why the final page of redirects is not the page that was asked for; None if it may be.

    A login, a consent page or a test is a challenge. The front page of the same site instead of a deeper page is a soft
    404.
    """
    if canonical_url(asked) == canonical_url(final):
        return None
    if not _names(final).isdisjoint(set(section.walls) - _names(asked)):
        return FetchFailure.CHALLENGE
    at, wanted = web_address(final), web_address(asked)
    if at.query or not _ROOT.fullmatch(at.path) or _ROOT.fullmatch(wanted.path):
        return None
    same_site = registrable_domain(host_of(asked)) == registrable_domain(host_of(final))
    return FetchFailure.SOFT_404 if same_site else None


def refreshed_to(tree: LexborHTMLParser, url: str, longest_seconds: int) -> str | None:
    """The other address to which a page redirects within so many seconds; ``noscript`` does not count.

    >>> page = LexborHTMLParser('<meta http-equiv="Refresh" content="0; URL=/new">')
    >>> refreshed_to(page, "https://example.com/old", 10)
    'https://example.com/new'
    """
    for node in tree.css("meta[http-equiv]")[:_MAX_TAGS]:
        attributes = node.attributes
        if (attributes.get("http-equiv") or "").strip().lower() != "refresh":
            continue
        if node.parent is not None and node.parent.tag == "noscript":
            continue
        stated = _REFRESH.match(" ".join((attributes.get("content") or "")[:_MAX_REFRESH_CHARACTERS].split()))
        onward = absolute_url(url, stated[2]) if stated and int(stated[1] or 0) <= longest_seconds else None
        if onward is not None and canonical_url(onward) != canonical_url(url):
            return onward
    return None


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


def _names(url: str) -> set[str]:
    """Labels of the host and segments of the path, the segments without their ending."""
    address = web_address(url)
    segments = address.path.lower().split("/")
    return {*address.host.split("."), *(segment.partition(".")[0] for segment in segments)} - {""}
