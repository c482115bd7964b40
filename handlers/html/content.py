"""Facts of a page, from one parse and one walk of its HTML or from the text that a crawler extracted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import TypeVar

from selectolax.lexbor import LexborHTMLParser

from handlers.html.addressed import Found
from handlers.html.bylines import BylineWords, CreditedPage, find_credit
from handlers.html.citations import CitationWords, cited_in, has_figures, is_wire_report, support_of
from handlers.html.encoding import whole
from handlers.html.entries import find_entries
from handlers.html.hidden import Hidden, judge, judge_stated, visible
from handlers.html.hints import Hints
from handlers.html.layout import Layout
from handlers.html.links import host_of
from handlers.html.main_content import Content, find_content
from handlers.html.outline import Outline
from handlers.html.published_date import DatedPage, DateWords, find_date
from handlers.html.reading import PageReadingSection
from handlers.html.state import CONTENT, PageState
from handlers.html.stated import agreed, is_name, with_description, without_orders
from handlers.html.structured_data import SchemaTypes, StructuredData, find_title, read_structured_data, site_in_title
from handlers.html.walk import walk_page
from handlers.text.dates import Moment, MomentReader, is_plausible, origin_of
from handlers.text.patterns import DetailPatterns
from handlers.text.scripts import find_language
from handlers.text.sentences import count_words, leading_sentences
from schemas.pages import ContentBlock, ContentEntry, CrawledPage, CrawlerMetadata, without_passages

_MAX_TITLE_CHARACTERS = 500
_MAX_NAME_CHARACTERS = 200
_MAX_PASSAGE, _QUOTED = 500, 200
Value = TypeVar("Value")
_MAX_SUMMED = 20
"""Lines of running text that a summary is made of."""
_LITTLE, _LINK = 100, 70
"""Characters of a text below which other lines are counted, and what a link among them counts."""

MAX_SCHEMA_TYPE = 64
"""Characters of a schema.org type that are kept; the longest real ones have half of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """Facts of one page; None if not observed. Texts hold neither NUL characters nor lone surrogates.

    Attributes:
        titles: The title, the window's title, and the heading of the story.
        site_name: As the page states it, else "".
        headings_count: Headings h2 and h3 in the main text (R-194); None if only ``has_headings`` is known.
        external_links_count: Different links in the main text and its references that ``count_external_links`` counts.
        has_statistics: A data table, or figures in the main text.
        schema_is_article: Whether ``schema_type`` is of the article family.
        not_counted: By component of the trust score, what the page has that gives no points.
        session: The parameter of the address that the page shows to be a session, such as ``sid=7``.
        hidden: Text that no visitor sees: what was taken out, and what the text still has.
        suspected: Passages of the text that are written to a machine, the clearest first.
        unread: Characters of lines outside of boilerplate, if no content was found.
        state: Content, or why the page has no content.
        trail: Its sections by its breadcrumbs, where they are asked for.
    """

    title: str
    titles: tuple[str, ...]
    text: str
    blocks: tuple[ContentBlock, ...] = ()
    entries: tuple[ContentEntry, ...] = ()
    summary: str
    date: Moment | None
    authors: tuple[str, ...]
    agencies: tuple[str, ...]
    site_name: str = ""
    language: str | None
    word_count: int
    has_doi: bool
    citation_count: int
    has_references_section: bool
    has_statistics: bool
    has_byline: bool | None
    has_author: bool | None
    has_date: bool | None
    schema_type: str | None
    schema_is_article: bool | None
    has_headings: bool | None = None
    headings_count: int | None = None
    external_links_count: int | None
    is_wire_report: bool | None
    not_counted: Mapping[str, str] = field(default_factory=dict)
    session: str = ""
    hidden: tuple[Hidden, ...] = ()
    suspected: tuple[Found, ...] = ()
    unread: int = 0
    state: PageState = CONTENT
    trail: tuple[str, ...] = ()


class PageReader:
    """Reads pages under one configuration; its word lists are compiled once."""

    def __init__(self, reading: PageReadingSection, patterns: DetailPatterns) -> None:
        self._reading = reading
        self._patterns = patterns
        self._hints = Hints(reading)
        self._types = SchemaTypes(reading)
        self._bylines = BylineWords(reading, patterns)
        self._dates = DateWords(reading, MomentReader(patterns), self._bylines.names)
        self._citations = CitationWords(reading)

    def read(self, tree: LexborHTMLParser, url: str, fetched_at: datetime | None) -> PageFacts:
        """Reads a parsed page. Never raises.

        Args:
            tree: The parse. The walk removes parts of it, so that it can't be read again.
            url: The page's address, which decides what links are external, and may hold a date.
            fetched_at: When it was fetched. It can't have been published later.
        """
        reading = self._reading
        addressed = reading.addressed.compiled
        canonical = tree.head.css_first("link[rel~=canonical][href]") if tree.head is not None else None
        original = (canonical.attributes.get("href") or "") if canonical is not None else ""
        page = walk_page(tree, self._hints, reading.max_nodes)
        data = read_structured_data(
            page.json_ld, page.item_types, page.part_types, self._types, reading.max_structured_characters
        )
        data, hidden = without_orders(data, addressed)
        page.hidden += hidden
        body = find_content(page, reading.content_trees.forest, reading.max_content_characters)
        host = host_of(url)
        site_name = clean(_first(page, reading.site_names) or data.publisher or site_in_title(page.title, host))[:200]
        entries = find_entries(page, body.blocks, body.spans, self._bylines.path)
        layout = Layout(page, body, entries)
        language = find_language(
            page.language or _first(page, reading.language_names) or data.language,
            body.text,
            self._patterns.small_words,
        )
        declared = [
            page.language,
            data.language,
            *(tag for name in reading.language_names for tag in page.meta.get(name, ())),
        ]
        dated = DatedPage(
            layout=layout,
            data=data,
            url=url,
            origin=origin_of(url, declared, language, self._patterns),
            fetched_at=fetched_at,
        )
        credit = find_credit(CreditedPage(layout, data, body.text, site_name, host), self._bylines)
        dating = find_date(dated, self._dates)
        support = support_of(page, body, layout, url, original, self._citations)
        title = clean(find_title(page, data, _first(page, reading.title_names), layout.heading_text, site_name, host))
        text = clean(with_description(body.text, data, page.title))
        shown = " ".join((page.title, host, *page.texts)).casefold()
        titles: tuple[str, ...] = (title, clean(page.title[:_MAX_TITLE_CHARACTERS]), clean(layout.heading_text))
        suspected: tuple[Found, ...] = ()
        if page.is_suspected:
            suspected = tuple(addressed.find(text))
            titles = tuple("" if said else one for one, said in zip(titles, judge(titles, addressed), strict=True))
        return PageFacts(
            title=titles[0],
            titles=titles,
            text=text,
            blocks=body.typed,
            entries=entries,
            summary=clean(_summary(page, data, body, text, suspected, reading)),
            date=dating.value if dating else None,
            authors=tuple(clean(name) for name in credit.names if is_name(name, shown)),
            agencies=tuple(map(clean, credit.agencies)),
            site_name=site_name if is_name(site_name, shown) else host,
            hidden=tuple(one for one in page.hidden if one.outcome != "kept" or one.is_in(text)),
            suspected=suspected,
            unread=_unread(page) if len(text) < _LITTLE else 0,
            language=language,
            word_count=count_words(text),
            has_doi=support.citations.has_doi,
            citation_count=support.citations.count,
            has_references_section=support.citations.has_references_section,
            has_statistics=support.has_statistics,
            has_byline=credit.has_byline,
            has_author=credit.has_author,
            has_date=dating is not None,
            schema_type=short_type(data.type),
            schema_is_article=data.is_article,
            headings_count=support.headings,
            external_links_count=support.external_links,
            is_wire_report=bool(credit.agencies)
            or is_wire_report(body.text[: reading.head_characters], self._citations),
            not_counted=support.not_counted,
        )

    def read_extracted(self, page: CrawledPage) -> PageFacts:
        """The facts of a page whose text a crawler extracted. Never raises, whatever its text holds.

        Args:
            page: With ``content``; its quality metadata takes precedence over what the text shows.
        """
        limits = self._reading
        text = clean((page.content or "")[: limits.max_content_characters])
        suspected = tuple(limits.addressed.compiled.find(text))
        stated = page.quality_metadata or CrawlerMetadata()
        citations = cited_in(text, self._citations)
        language = find_language("", text, self._patterns.small_words)
        date = self._given_date(page, language)
        credited = [name for author in page.authors if (name := _one_line(author, _MAX_NAME_CHARACTERS))]
        agencies = tuple(name for name in credited if name.casefold() in self._bylines.agencies)
        described = clean((page.summary or "")[: 2 * limits.max_summary_characters])
        schema_type = short_type(stated.schema_type)
        title = _one_line(page.title or "", _MAX_TITLE_CHARACTERS)
        for one in judge_stated("attribute", ((title, "title"), (described, "summary")), limits.addressed.compiled):
            title, described = "" if one.text == title else title, "" if one.text == described else described
        return PageFacts(
            title=title,
            titles=(title,),
            text=text,
            summary=leading_sentences(described or without_passages(text, suspected), limits.max_summary_characters),
            date=date,
            authors=tuple(name for name in credited if name not in agencies),
            agencies=agencies,
            language=language,
            suspected=suspected,
            word_count=count_words(text),
            has_doi=_first_known(stated.has_doi, citations.has_doi),
            citation_count=_first_known(stated.citation_count, citations.count),
            has_references_section=_first_known(stated.has_references_section, citations.has_references_section),
            has_statistics=_first_known(stated.has_statistics, has_figures(text, limits.min_figures)),
            has_byline=stated.has_byline,
            has_author=_first_known(stated.has_author, True if credited else None),
            has_date=_has_date(stated.has_date, page.date, date),
            schema_type=schema_type,
            schema_is_article=None if schema_type is None else self._types.is_article(schema_type),
            has_headings=stated.has_headings,
            external_links_count=stated.external_links_count,
            is_wire_report=_first_known(
                stated.is_wire_report,
                bool(agencies) or is_wire_report(text[: limits.head_characters], self._citations),
            ),
        )

    def _given_date(self, page: CrawledPage, language: str | None) -> Moment | None:
        """The date beside the text, by the rule that holds for dates of HTML."""
        if not page.date:
            return None
        origin = origin_of(page.final_url or page.url, (), language, self._patterns)
        found = self._dates.moments.read(page.date, origin)
        is_date = found is not None and is_plausible(found, self._reading.earliest_year, page.fetched_at)
        return found if is_date else None


def _unread(page: Outline) -> int:
    """Characters of lines outside of boilerplate; a link, as of an item of a listing, counts as ``_LINK``."""
    lines = [block for block in page.lines_with_links() if not page.regions.hidden[block.element]]
    return sum(_LINK if block.linked else len(block.text) for block in lines)


def _first(page: Outline, names: tuple[str, ...]) -> str:
    return next((" ".join(page.meta[name][0].split()) for name in names if name in page.meta), "")


def _summary(
    page: Outline,
    data: StructuredData,
    body: Content,
    text: str,
    suspected: Sequence[Found],
    reading: PageReadingSection,
) -> str:
    """The page's own description, else the first sentences of its running text, without headings and credits."""
    stated = (*(_first(page, (name,)) for name in reading.description_names), data.description)
    described = next(filter(None, (agreed(one, f"{page.title}\n{text}") for one in stated if one)), "")
    running = islice((block.text for block in body.blocks if block.running), _MAX_SUMMED)
    said = clean(" ".join(running) or body.text)
    for one in suspected:
        said = said.replace(text[one.start : one.end], " ")
    return leading_sentences(described or said, reading.max_summary_characters)


def passage_in(text: str, found: Sequence[Found]) -> str:
    """The clearest of the passages that are written to a machine, cut; "" without one."""
    return text[found[0].start : found[0].end][:_MAX_PASSAGE] if found else ""


def orders_of(facts: PageFacts) -> str:
    """What of a page is written to a machine, with visible words; "" if nothing is."""
    quarantined = sum(one.outcome == "quarantined" for one in facts.hidden)
    found = [f"{quarantined} hidden texts are written to a machine"] * bool(quarantined)
    if passage := passage_in(facts.text, facts.suspected):
        found.append(f'a passage is written to a machine: "{clean(" ".join(passage.split()))[:_QUOTED]}"')
    return " and ".join(found)


def short_type(name: str | None) -> str | None:
    """A schema.org type, cut to ``MAX_SCHEMA_TYPE``: pages can call anything a type (R-179).

    >>> short_type("NewsArticle")
    'NewsArticle'
    >>> short_type(" ") is None
    True
    """
    return " ".join(clean(name[: 4 * MAX_SCHEMA_TYPE]).split())[:MAX_SCHEMA_TYPE].rstrip() or None if name else None


def clean(text: str) -> str:
    r"""Text without NUL characters and lone surrogates, which no store accepts, and without characters of no width.

    >>> clean("a\x00b")
    'ab'
    """
    if text.isascii() and "\x00" not in text:
        return text
    return visible(whole(text).replace("\x00", ""))


def _one_line(text: str, most: int) -> str:
    """A text as one line of so many characters at most."""
    return " ".join(clean(text[: 2 * most]).split())[:most]


def _has_date(stated: bool | None, given: str | None, date: Moment | None) -> bool | None:
    """Whether the page has a date; not if the given date can't be read."""
    if given and given.strip() and date is None:
        return None if stated is None else False
    return _first_known(stated, True if date else None)


def _first_known(stated: Value | None, shown: Value) -> Value:
    return shown if stated is None else stated
