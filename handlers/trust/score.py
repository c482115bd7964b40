"""The content trust score: observations of a page go in, 0 to 100 points and the reason of each come out.

CTS = base + citation + structure (R-170). The formula knows no page, no clock and no network: the same observations
under the same points give the same score. Standard library only (R-178).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

_NOT_OBSERVED = "not observed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """What was seen on a page. None is what nobody looked for: it gives no points, and the breakdown says so (C-31).

    Attributes:
        headings_count: Headings; None where ``has_headings`` is all there is.
        has_headings: Whether there are enough headings, where nobody counted them.
        schema_is_article: Whether ``schema_type`` is of the article family (C-43).
        not_counted: By component: what was seen and gives no points, and why.
    """

    has_doi: bool = False
    citation_count: int = 0
    external_links_count: int | None = 0
    has_references_section: bool = False
    headings_count: int | None = 0
    has_headings: bool | None = None
    has_statistics: bool = False
    schema_type: str | None = None
    schema_is_article: bool | None = False
    has_author: bool | None = False
    has_byline: bool | None = False
    has_date: bool | None = False
    not_counted: Mapping[str, str] = field(default_factory=dict)


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
    cites = seen.has_doi or seen.citation_count >= points.min_citations
    components = (
        Component("base", base_score, base_because),
        _component("doi_or_citation", points.doi_or_citation, cites, _citation_because(seen)),
        _counted(
            "external_links",
            points.external_links,
            seen.external_links_count,
            points.min_external_links,
            "external link",
        ),
        _component(
            "references_section",
            points.references_section,
            seen.has_references_section,
            "has a references section" if seen.has_references_section else "no references section",
        ),
        _headings(seen, points),
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
        _author(seen, points),
        _component("date", points.date, seen.has_date, "has a publication date" if seen.has_date else "no date found"),
    )
    lines = tuple(_with_remark(component, seen.not_counted.get(component.name)) for component in components)
    return TrustScore(sum(component.points for component in lines), lines)


def _with_remark(component: Component, not_counted: str | None) -> Component:
    if not_counted is None:
        return component
    return replace(component, because=f"{component.because}; not counted: {not_counted}")


def _component(name: str, points: int, holds: bool | None, because: str) -> Component:
    if holds is None:
        return Component(name, 0, _NOT_OBSERVED)
    return Component(name, points if holds else 0, because)


def _counted(name: str, points: int, number: int | None, enough: int, noun: str) -> Component:
    if number is None:
        return Component(name, 0, _NOT_OBSERVED)
    return _component(name, points, number >= enough, _count(number, noun))


def _headings(seen: Observations, points: ScorePoints) -> Component:
    if seen.headings_count is not None:
        return _counted("headings", points.headings, seen.headings_count, points.min_headings, "heading")
    return _component(
        "headings", points.headings, seen.has_headings, "has headings" if seen.has_headings else "no headings"
    )


def _author(seen: Observations, points: ScorePoints) -> Component:
    """An author or a byline is credit enough; that there is neither takes two observations (C-43)."""
    answers = (("an author", seen.has_author), ("a byline", seen.has_byline))
    if named := " and ".join(name for name, holds in answers if holds):
        return Component("author", points.author, f"names {named}")
    unknown = [name for name, holds in answers if holds is None]
    if len(unknown) == len(answers):
        return Component("author", 0, _NOT_OBSERVED)
    return Component("author", 0, f"names no author; {unknown[0]} was not observed" if unknown else "names no author")


def _citation_because(seen: Observations) -> str:
    if seen.has_doi:
        return f"cites a DOI, {_count(seen.citation_count, 'citation')}"
    return _count(seen.citation_count, "citation")


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
