"""The content trust score: observations of a page go in, 0 to 100 points and the reason of each come out.

CTS = base + citation + structure (R-170). The formula knows no page, no clock and no network: the same observations
under the same points give the same score. Standard library only (R-178).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """What was seen on a page. ``schema_is_article`` says whether ``schema_type`` is of the article family (C-43)."""

    has_doi: bool = False
    citation_count: int = 0
    external_links_count: int = 0
    has_references_section: bool = False
    headings_count: int = 0
    has_statistics: bool = False
    schema_type: str | None = None
    schema_is_article: bool = False
    has_author: bool = False
    has_byline: bool = False
    has_date: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorePoints:
    """Points for each observation (R-172, R-173) and how much of it is needed."""

    doi_or_citation: int
    external_links: int
    references_section: int
    headings: int
    statistics: int
    schema: int
    author: int
    date: int
    min_citations: int
    min_external_links: int
    min_headings: int


@dataclass(frozen=True, slots=True)
class Component:
    """One line of the breakdown: what was looked at, the points it gave, and what was seen."""

    name: str
    points: int
    because: str


@dataclass(frozen=True, slots=True)
class TrustScore:
    """A score with every component that went in, those that gave nothing included."""

    total: int
    components: tuple[Component, ...]


def score_trust(base_score: int, base_because: str, seen: Observations, points: ScorePoints) -> TrustScore:
    """Adds up the content trust score (R-170 to R-173).

    Args:
        base_score: Points of the source's tier.
        base_because: Why the source is in that tier.
        seen: What was observed on the page.
        points: What each observation is worth.

    Returns:
        The total, 0 to 100 as long as the points are configured to sum to at most 100, with its components.
    """
    credit = " and ".join(
        name for name, holds in (("an author", seen.has_author), ("a byline", seen.has_byline)) if holds
    )
    cites = seen.has_doi or seen.citation_count >= points.min_citations
    links = seen.external_links_count >= points.min_external_links
    headings = seen.headings_count >= points.min_headings
    components = (
        Component("base", base_score, base_because),
        _component("doi_or_citation", points.doi_or_citation, cites, _citation_because(seen)),
        _component("external_links", points.external_links, links, _count(seen.external_links_count, "external link")),
        _component(
            "references_section",
            points.references_section,
            seen.has_references_section,
            "has a references section" if seen.has_references_section else "no references section",
        ),
        _component("headings", points.headings, headings, _count(seen.headings_count, "heading")),
        _component(
            "statistics",
            points.statistics,
            seen.has_statistics,
            "has a data table or figures" if seen.has_statistics else "neither a data table nor enough figures",
        ),
        _component(
            "schema",
            points.schema,
            seen.schema_is_article,
            f"schema.org type {seen.schema_type}" if seen.schema_type else "no schema.org type",
        ),
        _component("author", points.author, bool(credit), f"names {credit}" if credit else "names no author"),
        _component("date", points.date, seen.has_date, "has a publication date" if seen.has_date else "no date found"),
    )
    return TrustScore(sum(component.points for component in components), components)


def _component(name: str, points: int, holds: bool, because: str) -> Component:
    return Component(name, points if holds else 0, because)


def _citation_because(seen: Observations) -> str:
    if seen.has_doi:
        return f"cites a DOI, {_count(seen.citation_count, 'citation')}"
    return _count(seen.citation_count, "citation")


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
