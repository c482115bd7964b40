"""Everything that is read off a page, put together from one parse and one walk.

A tree, its address and the time of the fetch go in; a ``PageContent`` comes out. The readers beside this module each
know one thing (dates, bylines, text, citations); this one only asks them in the order in which they need each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain

from selectolax.lexbor import LexborHTMLParser

from handlers.html.bylines import BylineWords, Credit, find_credit
from handlers.html.citations import (
    Citations,
    CitationWords,
    find_citations,
    find_references,
    has_figures,
    has_prices,
    is_wire_report,
)
from handlers.html.dates import DatedPage, DateWords, FoundDate, find_date
from handlers.html.hints import Hints
from handlers.html.links import host_of, registrable_domain
from handlers.html.main_text import MainText, count_words, leading_sentences, main_text
from handlers.html.marks import look_near
from handlers.html.others import Others, OthersWords, is_event
from handlers.html.outline import A, Outline
from handlers.html.reading import PageReadingSection
from handlers.html.structured_data import SchemaTypes, StructuredData, read_structured_data
from handlers.html.titles import find_title, site_in_title
from handlers.html.walk import has_data_table, walk_page
from handlers.text.day_order import origin_of
from handlers.text.details import DetailPatterns
from handlers.text.language import find_language
from handlers.text.moments import MomentReader

_HOST = re.compile(r"(?:https?:)?//(?:[^/?#@\\]{0,200}@)?([\w.-]{1,253})", re.IGNORECASE)
_TEXTS_AFTER = 12
"""Texts after the main text in which a line, and not only a heading, can open the references."""
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_DOI_NAMES = ("citation_doi", "dc.identifier", "prism.doi")
_MAX_ABOVE = 30
"""Elements within a line between a text and the link around it."""
_SCHEMES = frozenset(("", "http:", "https:"))


@dataclass(frozen=True, slots=True)
class PageContent:
    """What a page shows and states. Texts hold neither NUL characters nor lone surrogates.

    Attributes:
        external_links_count: Different links to other registrable domains in the main text and its references.
        headings_count: Headings h2 and h3 in the main text.
        has_statistics: A data table outside of boilerplate, or figures in the main text.
        site_name: The page's own claim, "" where it makes none.
        not_counted: By component of the trust score: what the page has and why it gives no points.
    """

    title: str
    text: str
    summary: str
    date: FoundDate | None
    credit: Credit
    site_name: str
    language: str | None
    word_count: int
    citations: Citations
    external_links_count: int
    headings_count: int
    has_statistics: bool
    schema_type: str | None
    schema_is_article: bool
    is_wire_report: bool
    not_counted: Mapping[str, str]


class PageReader:
    """Reads pages under one configuration; its word lists are compiled once."""

    def __init__(self, reading: PageReadingSection, patterns: DetailPatterns) -> None:
        self._reading = reading
        self._patterns = patterns
        self._hints = Hints(reading)
        self._types = SchemaTypes(reading)
        self._bylines = BylineWords(reading, tuple(patterns.months))
        self._dates = DateWords(reading, MomentReader(patterns), self._bylines.names)
        self._others = OthersWords(reading)
        self._citations = CitationWords(reading)

    def read(self, tree: LexborHTMLParser, url: str, fetched_at: datetime | None) -> PageContent:
        """Reads a parsed page. Never raises, whatever the page holds.

        Args:
            tree: The parse; it is walked once, which takes parts out of it: nothing else can read it afterwards.
            url: The page's address, against which links are external and which may hold a date.
            fetched_at: When it was fetched; nothing can have been published after it.
        """
        reading = self._reading
        page = walk_page(tree, self._hints, reading.max_nodes)
        data = read_structured_data(
            page.json_ld, page.item_types, page.part_types, self._types, reading.max_structured_characters
        )
        body = main_text(page, reading.max_content_characters)
        host = host_of(url)
        site_name = _clean(_first(page, reading.site_names) or data.publisher or site_in_title(page.title, host))[:200]
        near = look_near(page, body.first)
        others = Others(page, near, self._others)
        language = find_language(page.language or _first(page, reading.language_names) or data.language, body.text)
        declared = [
            page.language,
            data.language,
            *(tag for name in reading.language_names for tag in page.meta.get(name, ())),
        ]
        dated = DatedPage(
            outline=page,
            data=data,
            url=url,
            near=near,
            others=others,
            is_event=is_event(page, data, near, url, self._others),
            origin=origin_of(url, declared, language, self._patterns),
            fetched_at=fetched_at,
        )
        credit = find_credit(page, data, near, others, self._bylines, site_name, host)
        support = self._support(page, body, others, url)
        return PageContent(
            title=_clean(find_title(page, data, _first(page, reading.title_names), site_name, host)),
            text=_clean(body.text),
            summary=_clean(_summary(page, data, body.text, reading)),
            date=find_date(dated, self._dates),
            credit=replace(
                credit, names=tuple(map(_clean, credit.names)), agencies=tuple(map(_clean, credit.agencies))
            ),
            site_name=site_name,
            language=language,
            word_count=count_words(body.text),
            citations=support.citations,
            external_links_count=support.external_links_count,
            headings_count=support.headings_count,
            has_statistics=support.has_statistics,
            schema_type=data.type,
            schema_is_article=data.is_article,
            is_wire_report=bool(credit.agencies)
            or is_wire_report(body.text[: reading.head_characters], self._citations),
            not_counted=support.not_counted,
        )

    def _support(self, page: Outline, body: MainText, others: Others, url: str) -> _Support:
        """What supports the main text, and what of the page does not count because it is elsewhere or no support."""
        text = "\n".join(block.text for block in body.blocks if not others.holds(block.element, block.start))
        beyond = body.end + _TEXTS_AFTER
        lines = [
            block
            for block in page.blocks(body.first)
            if (block.start < beyond or block.tag in _HEADINGS)
            and not page.is_boilerplate(block.element)
            and (block.tag in _HEADINGS or not others.holds(block.element, block.start))
        ]
        references = find_references(lines, page.texts, page.links, self._citations)
        entries = references.texts if references is not None and references.has_entries else range(0)
        inside = [line for line in lines if line.start < body.end]
        linked = (range(line.start, line.end) for line in inside if line.linked)
        hrefs = _links_in(page, chain(*linked, entries))
        listed = " ".join(page.texts[entries.start : entries.stop]) if entries else None
        declared = (content for name in _DOI_NAMES for content in page.meta.get(name, ()))
        citations = find_citations(text, listed, hrefs, declared)
        links = count_external_links(hrefs, url)
        headings = sum(line.tag in ("h2", "h3") and not others.holds(line.element, line.start) for line in inside)
        has_statistics = has_figures(text, self._reading.min_figures) or has_data_table(page, self._reading)
        remarks = {
            "doi_or_citation": "a DOI that is mentioned and not cited" if citations.uncited_dois else "",
            "external_links": _elsewhere(count_external_links(page.hrefs, url) - links),
            "references_section": "a references heading without entries" if references and not entries else "",
            "headings": _elsewhere(page.headings_count - headings),
            "statistics": "prices" if not has_statistics and has_prices(text) else "",
        }
        not_counted = {name: remark for name, remark in remarks.items() if remark}
        return _Support(citations, links, headings, has_statistics, not_counted)


@dataclass(frozen=True, slots=True)
class _Support:
    """What supports the main text, as ``PageContent`` has it."""

    citations: Citations
    external_links_count: int
    headings_count: int
    has_statistics: bool
    not_counted: Mapping[str, str]


def _elsewhere(number: int) -> str:
    return f"{number} outside the main text" if number > 0 else ""


def _links_in(page: Outline, texts: Iterable[int]) -> list[str]:
    """Addresses of the links that begin at some texts."""
    found = []
    for index in texts:
        if page.links[index]:
            node = page.nodes[index].parent
            for _ in range(_MAX_ABOVE):
                if node is None or node.tag_id == A:
                    break
                node = node.parent
            if node is not None and (href := node.attrs.get("href")):
                found.append(href)
    return found


def count_external_links(hrefs: list[str], url: str) -> int:
    """Different addresses on other registrable domains than the page's own.

    >>> count_external_links(["/a", "https://b.example.com/", "//other.org/x", "//other.org/x"], "https://example.com/")
    1
    """
    own = registrable_domain(host_of(url))
    is_external: dict[str, bool] = {}
    found = 0
    for href in {href.strip() for href in hrefs if "//" in href}:
        parts = href.split("/", 3)
        if len(parts) < 3 or parts[1] or parts[0].lower() not in _SCHEMES:
            continue
        place = parts[2]
        external = is_external.get(place)
        if external is None:
            match = _HOST.match(href)
            external = match is not None and registrable_domain(match[1].lower().strip(".")) != own
            is_external[place] = external
        found += external
    return found


def _first(page: Outline, names: tuple[str, ...]) -> str:
    return next((" ".join(page.meta[name][0].split()) for name in names if name in page.meta), "")


def _summary(page: Outline, data: StructuredData, text: str, reading: PageReadingSection) -> str:
    described = _first(page, reading.description_names) or data.description
    return leading_sentences(described or text, reading.max_summary_characters)


def _clean(text: str) -> str:
    """JSON escapes can hold lone surrogates and NUL characters, which no store takes."""
    if text.isascii() and "\x00" not in text:
        return text
    return text.encode("utf-8", "replace").decode().replace("\x00", "")
