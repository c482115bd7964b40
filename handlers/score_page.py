"""Scores a crawled page: 18 observations, a content trust score from 0 to 100, a tier and a label, with reasons.

A ``CrawledPage`` goes in, a ``ScoredPage`` comes out. The page is parsed once and walked once; the score is the pure
formula of ``handlers.trust`` over what was seen. A page that can't be read as one ends as a dead letter that says why.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

from pydantic import model_validator

from handlers.indexing.rules import (
    SourceRulesSection,
    SourceTiersSection,
    TieredIndexingSection,
    TrustLabelsSection,
    TrustPointsSection,
)
from handlers.page.content import PageContent, PageReader
from handlers.page.html import page_bytes, parse_bytes
from handlers.page.limits import refusal
from handlers.page.links import host_of
from handlers.page.reading import PageReadingSection
from handlers.page.sniff import not_a_page
from handlers.trust.labels import Thresholds, label_of, tier_of
from handlers.trust.score import Observations, ScorePoints, TrustScore, score_trust
from handlers.trust.tiers import Source, SourceRules, source_of
from schemas.outcome import Dead, DeadReason, Emit, Outcome
from schemas.pages import MAX_PAGE_BYTES, CrawledPage, QualityMetadata, ScoreComponent, ScoredPage, TrustFeatures
from schemas.rules import Rules


class ScorePageRules(Rules):
    """Everything that ``score_page`` decides by."""

    source_tiers: SourceTiersSection
    source_rules: SourceRulesSection
    trust_points: TrustPointsSection
    tiered_indexing: TieredIndexingSection
    trust_labels: TrustLabelsSection
    page_reading: PageReadingSection

    @model_validator(mode="after")
    def _at_most_100(self) -> Self:
        base = max(self.source_rules.base_scores.model_dump().values())
        if base + self.trust_points.most > 100:
            raise ValueError("base scores and trust points sum to more than 100")
        return self

    @cached_property
    def compiled(self) -> CompiledRules:
        """The rules in the form that the scorer reads, made once."""
        return CompiledRules.of(self)


@dataclass(frozen=True, slots=True)
class CompiledRules:
    """Sections as plain values and word lists as patterns."""

    sources: SourceRules
    points: ScorePoints
    tiers: Thresholds
    labels: Thresholds
    reader: PageReader

    @classmethod
    def of(cls, rules: ScorePageRules) -> Self:
        """Compiles the sections."""
        tiers, sources, points = rules.source_tiers, rules.source_rules, rules.trust_points
        base = sources.base_scores
        return cls(
            sources=SourceRules(
                entries=(tiers.tier_1, tiers.tier_2, tiers.tier_3),
                base_scores=(base.tier_1, base.tier_2, base.tier_3),
                government_suffixes=sources.government_suffixes,
                academic_suffixes=sources.academic_suffixes,
                academic_domains=sources.academic_domains,
            ),
            points=ScorePoints(
                doi_or_citation=points.citation.doi_or_citation,
                external_links=points.citation.external_links,
                references_section=points.citation.references_section,
                headings=points.structure.headings,
                statistics=points.structure.statistics,
                schema=points.structure.schema_,
                author=points.structure.author,
                date=points.structure.date,
                min_citations=points.minimum.citations,
                min_external_links=points.minimum.external_links,
                min_headings=points.minimum.headings,
            ),
            tiers=Thresholds(rules.tiered_indexing.tier_a.min_cts, rules.tiered_indexing.tier_b.min_cts),
            labels=Thresholds(rules.trust_labels.high, rules.trust_labels.medium),
            reader=PageReader(rules.page_reading),
        )


def score_page(page: CrawledPage, rules: ScorePageRules) -> Outcome:
    """Scores a page (R-170 to R-183).

    Args:
        page: As the crawler brought it; nothing in its HTML raises its source tier (C-42).
        rules: Source tiers, points, thresholds and how pages are read.

    Returns:
        ``Emit`` of one ``ScoredPage``, or ``Dead``: ``TOO_LARGE`` above 8 MB of UTF-8, ``UNREADABLE_PAGE`` for what is
        no HTML or text, or exceeds the configured depth or attributes.
    """
    if len(page.body) > MAX_PAGE_BYTES:
        return Dead(DeadReason.TOO_LARGE, f"the page has {len(page.body)} bytes, more than {MAX_PAGE_BYTES}")
    if looks_like := not_a_page(page.body, page.content_type):
        return Dead(DeadReason.UNREADABLE_PAGE, looks_like)
    body = page_bytes(page.body, page.content_type)
    if isinstance(page.body, str) and len(body.utf8) > MAX_PAGE_BYTES:
        return Dead(DeadReason.TOO_LARGE, f"the page has {len(body.utf8)} bytes, more than {MAX_PAGE_BYTES}")
    if exceeded := refusal(body.utf8, rules.page_reading):
        return Dead(DeadReason.UNREADABLE_PAGE, exceeded)
    compiled = rules.compiled
    url = page.final_url or page.url
    content = compiled.reader.read(parse_bytes(body).tree, url, page.fetched_at)
    source = source_of(host_of(url), page.site_name, content.site_name, compiled.sources)
    trust = score_trust(source.base_score, source.because, _observations(content), compiled.points)
    return Emit((_scored(page, content, source, trust, rules),))


def _observations(content: PageContent) -> Observations:
    return Observations(
        has_doi=content.citations.has_doi,
        citation_count=content.citations.count,
        external_links_count=content.external_links_count,
        has_references_section=content.citations.has_references_section,
        headings_count=content.headings_count,
        has_statistics=content.has_statistics,
        schema_type=content.schema_type,
        schema_is_article=content.schema_is_article,
        has_author=content.credit.has_author,
        has_byline=content.credit.has_byline,
        has_date=content.date is not None,
    )


def _scored(
    page: CrawledPage, content: PageContent, source: Source, trust: TrustScore, rules: ScorePageRules
) -> ScoredPage:
    compiled = rules.compiled
    has_headings = content.headings_count >= compiled.points.min_headings
    seen = {
        "has_byline": content.credit.has_byline,
        "has_author": content.credit.has_author,
        "has_date": content.date is not None,
        "schema_type": content.schema_type,
        "has_headings": has_headings,
        "external_links_count": content.external_links_count,
        "is_wire_report": content.is_wire_report,
    }
    return ScoredPage(
        url=page.url,
        title=content.title,
        content=content.text,
        summary=content.summary,
        date=content.date.iso if content.date else None,
        author=content.credit.names,
        site_name=_clean(page.site_name) or content.site_name or None,
        language=content.language,
        quality_metadata=QualityMetadata.model_validate(seen),
        trust_features=TrustFeatures.model_validate(
            seen
            | {
                "source_tier": source.tier,
                "base_score": source.base_score,
                "domain_tags": source.tags,
                "has_doi": content.citations.has_doi,
                "citation_count": content.citations.count,
                "has_references_section": content.citations.has_references_section,
                "word_count": content.word_count,
                "has_statistics": content.has_statistics,
                "domain_is_academic": source.is_academic,
                "domain_is_government": source.is_government,
                "cts_score": trust.total,
            }
        ),
        cts_score=trust.total,
        cts_breakdown=tuple(
            ScoreComponent(component=line.name, points=line.points, because=_clean(line.because) or "")
            for line in trust.components
        ),
        tier=tier_of(trust.total, compiled.tiers),
        trust_label=label_of(trust.total, compiled.labels),
        config_version=rules.config_version,
        fetched_at=page.fetched_at,
        context=_clean(page.context),
    )


def _clean(text: str | None) -> str | None:
    """Text that can travel: lone surrogates and NUL characters are no text."""
    if text is None or (text.isascii() and "\x00" not in text):
        return text
    return text.encode("utf-8", "replace").decode().replace("\x00", "")
