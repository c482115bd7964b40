"""Reads a page whose text a crawler has already extracted.

The text shows citations, references, figures and an agency's credit. What only HTML shows comes from the crawler's
metadata; if that is silent, it was not observed (C-31).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from handlers.html.citations import CitationWords, find_citations, find_references, has_figures, is_wire_report
from handlers.html.content import PageFacts, clean, short_type
from handlers.html.main_text import count_words, leading_sentences
from handlers.html.outline import Block
from handlers.html.reading import PageReadingSection
from handlers.html.structured_data import SchemaTypes
from handlers.text.dates import Moment, MomentReader, is_plausible, origin_of
from handlers.text.language import find_language
from handlers.text.patterns import DetailPatterns
from schemas.pages import CrawledPage, CrawlerMetadata

_MAX_TITLE_CHARACTERS = 500
_MAX_NAME_CHARACTERS = 200
_MAX_LINES = 5_000
"""Lines at the end of a text in which references are looked for."""
T = TypeVar("T")


class ExtractedReader:
    """Reads extracted pages under one configuration; its word lists are compiled once."""

    def __init__(self, reading: PageReadingSection, patterns: DetailPatterns) -> None:
        self._reading = reading
        self._moments = MomentReader(patterns)
        self._agencies = frozenset(name.casefold() for name in reading.wire_services)
        self._types = SchemaTypes(reading)
        self._citations = CitationWords(reading)

    def read(self, page: CrawledPage) -> PageFacts:
        """The facts of an extracted page. Never raises, whatever its text holds.

        Args:
            page: With ``content``; its quality metadata takes precedence over what the text shows.
        """
        text = clean((page.content or "")[: self._reading.max_content_characters])
        told = page.quality_metadata or CrawlerMetadata()
        shown = self._shown(text)
        language = find_language("", text, self._moments.patterns.small_words)
        date = self._date(page, language)
        credited = [name for author in page.author if (name := _line(author, _MAX_NAME_CHARACTERS))]
        agencies = tuple(name for name in credited if name.casefold() in self._agencies)
        authors = tuple(name for name in credited if name not in agencies)
        described = clean((page.summary or "")[: 2 * self._reading.max_summary_characters])
        schema_type = short_type(told.schema_type)
        return PageFacts(
            title=_line(page.title or "", _MAX_TITLE_CHARACTERS),
            text=text,
            summary=leading_sentences(described or text, self._reading.max_summary_characters),
            date=date,
            authors=authors,
            agencies=agencies,
            language=language,
            word_count=count_words(text),
            has_doi=_known(told.has_doi, shown.has_doi),
            citation_count=_known(told.citation_count, shown.citation_count),
            has_references_section=_known(told.has_references_section, shown.has_references_section),
            has_statistics=_known(told.has_statistics, shown.has_statistics),
            has_byline=told.has_byline,
            has_author=_known(told.has_author, True if credited else None),
            has_date=_has_date(told.has_date, page.date, date),
            schema_type=schema_type,
            schema_is_article=None if schema_type is None else self._types.is_article(schema_type),
            has_headings=told.has_headings,
            external_links_count=told.external_links_count,
            is_wire_report=_known(told.is_wire_report, bool(agencies) or shown.is_wire_report),
        )

    def _date(self, page: CrawledPage, language: str | None) -> Moment | None:
        """The date beside the text, by the rule that holds for dates of HTML."""
        if not page.date:
            return None
        origin = origin_of(page.final_url or page.url, (), language, self._moments.patterns)
        found = self._moments.read(page.date, origin)
        is_date = found is not None and is_plausible(found, self._reading.earliest_year, page.fetched_at)
        return found if is_date else None

    def _shown(self, text: str) -> _Shown:
        lines = text.split("\n")
        first = max(0, len(lines) - _MAX_LINES)
        blocks = [Block(line, "p", 0, -1, first + n, first + n + 1) for n, line in enumerate(lines[first:]) if line]
        references = find_references(blocks, lines, [False] * len(lines), self._citations)
        entries = references.texts if references is not None and references.has_entries else range(0)
        listed = " ".join(lines[entries.start : entries.stop]) if entries else None
        citations = find_citations(text, listed, (), ())
        return _Shown(
            has_doi=citations.has_doi,
            citation_count=citations.count,
            has_references_section=citations.has_references_section,
            has_statistics=has_figures(text, self._reading.min_figures),
            is_wire_report=is_wire_report(text[: self._reading.head_characters], self._citations),
        )


def _line(text: str, most: int) -> str:
    """A text as one line of so many characters at most."""
    return " ".join(clean(text[: 2 * most]).split())[:most]


@dataclass(frozen=True, slots=True)
class _Shown:
    """What a text shows by itself."""

    has_doi: bool
    citation_count: int
    has_references_section: bool
    has_statistics: bool
    is_wire_report: bool


def _has_date(told: bool | None, given: str | None, date: Moment | None) -> bool | None:
    """Whether the page has a date; one that is given and is none can't have been seen."""
    if given and given.strip() and date is None:
        return None if told is None else False
    return _known(told, True if date else None)


def _known(told: T | None, shown: T) -> T:
    return shown if told is None else told
