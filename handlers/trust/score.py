"""The content trust score: 0 to 100 points for what was observed on a page, with the reason of each component.

CTS = base + citation + structure (R-170). Standard library only (R-178).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Self

_NOT_OBSERVED = "not observed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """What was observed on a page. None means that it was not looked for; it gives no points (C-31).

    ``has_headings`` decides if headings were not counted. ``not_counted`` says of a component what gives no points and
    why.
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

    @classmethod
    def of(cls, facts: object) -> Self:
        """The observations among the attributes of a page's facts."""
        return cls(**{seen.name: getattr(facts, seen.name) for seen in fields(cls)})


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorePoints:
    """Points of each component (R-172, R-173), and the least counts that give them."""

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
    """One line of the breakdown, with the reason of its points, and the most that it can give."""

    name: str
    points: int
    because: str
    most: int | None = None


@dataclass(frozen=True, slots=True)
class TrustScore:
    """A score with all of its components, also those without points."""

    total: int
    components: tuple[Component, ...]


def score_trust(
    base_score: int, base_because: str, seen: Observations, points: ScorePoints, most_base: int | None = None
) -> TrustScore:
    """Adds up the content trust score (R-170 to R-173); the base is that of the source, ``most_base`` at most."""
    cites = seen.has_doi or seen.citation_count >= points.min_citations
    citations = f"{'cites a DOI, ' if seen.has_doi else ''}{_count(seen.citation_count, 'citation')}"
    links = seen.external_links_count
    has_links = None if links is None else links >= points.min_external_links
    references = "has a references section" if seen.has_references_section else "no references section"
    has_headings, headings = seen.has_headings, "has headings" if seen.has_headings else "no headings"
    if seen.headings_count is not None:
        has_headings = seen.headings_count >= points.min_headings
        headings = _count(seen.headings_count, "heading")
    statistics = "has a data table or figures" if seen.has_statistics else "neither a data table nor enough figures"
    schema = f"schema.org type {seen.schema_type}" if seen.schema_type else "no schema.org type"
    has_author, author = _author(seen)
    judged: tuple[tuple[str, int, bool | None, str], ...] = (
        ("doi_or_citation", points.doi_or_citation, cites, citations),
        ("external_links", points.external_links, has_links, _count(links or 0, "external link")),
        ("references_section", points.references_section, seen.has_references_section, references),
        ("headings", points.headings, has_headings, headings),
        ("statistics", points.statistics, seen.has_statistics, statistics),
        ("schema", points.schema, seen.schema_is_article, schema),
        ("author", points.author, has_author, author),
        ("date", points.date, seen.has_date, "has a publication date" if seen.has_date else "no date found"),
    )
    components = [Component("base", base_score, base_because, most_base)]
    for name, worth, holds, because in judged:
        remark = f"; not counted: {seen.not_counted[name]}" if name in seen.not_counted else ""
        shown = _NOT_OBSERVED if holds is None else because
        components.append(Component(name, worth if holds else 0, shown + remark, worth))
    return TrustScore(sum(component.points for component in components), tuple(components))


def _author(seen: Observations) -> tuple[bool | None, str]:
    """An author or a byline is enough; that there is neither takes two observations (C-43)."""
    answers = (("an author", seen.has_author), ("a byline", seen.has_byline))
    if named := " and ".join(name for name, holds in answers if holds):
        return True, f"names {named}"
    unknown = [name for name, holds in answers if holds is None]
    if len(unknown) == len(answers):
        return None, _NOT_OBSERVED
    return False, f"names no author; {unknown[0]} was not observed" if unknown else "names no author"


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
