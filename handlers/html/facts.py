"""What is known of a page, however it came: read off its HTML, or told by a crawler beside the text.

A ``PageContent`` goes in where the HTML was at hand, ``handlers.html.extracted`` fills the same form where it was not.
It exists so that one formula scores both, and so that nobody takes "not observed" for "no": what could not be seen is
None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from handlers.html.content import PageContent
from handlers.text.dates import Moment

MAX_SCHEMA_TYPE = 64
"""Characters of a schema.org type that are kept; the longest real ones have half of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """Facts of one page. Texts hold neither NUL characters nor lone surrogates.

    Attributes:
        date: Publication date: a day or an instant.
        site_name: The page's own claim, "" where it makes none or none was observed.
        headings_count: Headings h2 and h3 of the main text; None where only ``has_headings`` is known.
        not_counted: By component of the trust score: what the page has and why it gives no points.
        schema_is_article: Whether ``schema_type`` is of the article family; None where no type was observed.
    """

    title: str
    text: str
    summary: str
    date: Moment | None
    authors: tuple[str, ...]
    agencies: tuple[str, ...]
    site_name: str
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
    has_headings: bool | None
    headings_count: int | None
    external_links_count: int | None
    is_wire_report: bool | None
    not_counted: Mapping[str, str]


def facts_of(content: PageContent, min_headings: int) -> PageFacts:
    """The facts of a page whose HTML was read: everything was looked for, so nothing is None for want of looking.

    Args:
        content: What was read off it.
        min_headings: Headings that make a page one with headings.
    """
    return PageFacts(
        title=content.title,
        text=content.text,
        summary=content.summary,
        date=content.date.value if content.date else None,
        authors=content.credit.names,
        agencies=content.credit.agencies,
        site_name=content.site_name,
        language=content.language,
        word_count=content.word_count,
        has_doi=content.citations.has_doi,
        citation_count=content.citations.count,
        has_references_section=content.citations.has_references_section,
        has_statistics=content.has_statistics,
        has_byline=content.credit.has_byline,
        has_author=content.credit.has_author,
        has_date=content.date is not None,
        schema_type=short_type(content.schema_type),
        schema_is_article=content.schema_is_article,
        has_headings=content.headings_count >= min_headings,
        headings_count=content.headings_count,
        external_links_count=content.external_links_count,
        is_wire_report=content.is_wire_report,
        not_counted=content.not_counted,
    )


def short_type(name: str | None) -> str | None:
    """A schema.org type as it may travel: no longer than a name is, for pages can call anything a type (R-179).

    >>> short_type("NewsArticle")
    'NewsArticle'
    >>> short_type(" ") is None
    True
    """
    return clean(" ".join(name[: 4 * MAX_SCHEMA_TYPE].split()))[:MAX_SCHEMA_TYPE].rstrip() or None if name else None


def clean(text: str) -> str:
    r"""Text that can travel: lone surrogates and NUL characters are no text.

    >>> clean("a\x00b")
    'ab'
    """
    if text.isascii() and "\x00" not in text:
        return text
    return text.encode("utf-8", "replace").decode().replace("\x00", "")
