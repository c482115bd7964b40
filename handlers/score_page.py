"""Scores a crawled page: 18 observations, a content trust score from 0 to 100, a tier and a label, with reasons.

A page whose text the crawler has extracted is scored by its quality metadata; without metadata, its source decides.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Self

from pydantic import model_validator

from handlers.html.content import ExtractedReader, PageFacts, PageReader, clean
from handlers.html.encoding import not_a_page, page_bytes, parse_bytes
from handlers.html.limits import admitted
from handlers.html.reading import PageReadingSection
from handlers.html.refusals import PageRefusalsSection, Refusal, Refusals
from handlers.indexing.config import (
    SourceRulesSection,
    SourcesSection,
    SourceTiersSection,
    TieredIndexingSection,
    TrustLabelsSection,
    TrustPointsSection,
    source_at,
    source_rules_of,
)
from handlers.text.patterns import Patterns, compile_details
from handlers.trust.labels import Thresholds, label_of, tier_of, without_score
from handlers.trust.score import Component, Observations, ScorePoints, score_trust
from handlers.trust.sources import Source, SourceRules
from schemas.outcome import Dead, DeadReason, Emit, Outcome
from schemas.pages import (
    MAX_PAGE_BYTES,
    CrawledPage,
    QualityMetadata,
    ScoreComponent,
    ScoredPage,
    Tier,
    TrustFeatures,
    TrustLabel,
)
from schemas.rules import Rules


class ScorePageRules(Rules):
    """Everything that ``score_page`` decides by."""

    sources: SourcesSection
    source_tiers: SourceTiersSection
    source_rules: SourceRulesSection
    trust_points: TrustPointsSection
    tiered_indexing: TieredIndexingSection
    trust_labels: TrustLabelsSection
    page_reading: PageReadingSection
    page_refusals: PageRefusalsSection
    patterns: Patterns

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
    extracted: ExtractedReader
    refusals: Refusals

    @classmethod
    def of(cls, rules: ScorePageRules) -> Self:
        """Compiles the sections."""
        points, details = rules.trust_points, compile_details(tuple(rules.patterns.values()))
        return cls(
            sources=source_rules_of(rules.sources, rules.source_tiers, rules.source_rules),
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
            tiers=rules.tiered_indexing.thresholds,
            labels=rules.trust_labels.thresholds,
            reader=PageReader(rules.page_reading, details),
            extracted=ExtractedReader(rules.page_reading, details),
            refusals=Refusals(rules.page_refusals, details),
        )


def score_page(page: CrawledPage, rules: ScorePageRules) -> Outcome:
    """Scores a page (R-170 to R-183). Nothing that a page says of itself raises its source tier (C-42).

    Returns:
        ``Emit`` of one ``ScoredPage``, or ``Dead``: ``TOO_LARGE`` above 8 MB of UTF-8, ``UNREADABLE_PAGE`` for what is
        no HTML or text, or exceeds the configured limits. An extracted page without quality metadata has no score; its
        tier and label are its source's (C-33, C-41). A page that is no content scores 0, whatever its source is.
    """
    if len(page.body) > MAX_PAGE_BYTES:
        return Dead(DeadReason.TOO_LARGE, f"the page has {len(page.body)} bytes, more than {MAX_PAGE_BYTES}")
    facts = _read(page, rules)
    if isinstance(facts, Dead):
        return facts
    source = source_at(page.final_url or page.url, page.site_name, facts.site_name, rules.compiled.sources)
    refusal = rules.compiled.refusals.why_no_content(facts.titles, facts.text)
    if refusal is not None:
        return Emit((_scored(page, facts, source, _refused(refusal, source, rules.compiled), rules),))
    judge = _by_source if page.content is not None and page.quality_metadata is None else _by_score
    return Emit((_scored(page, facts, source, judge(facts, source, rules.compiled), rules),))


def _read(page: CrawledPage, rules: ScorePageRules) -> PageFacts | Dead:
    if page.content is not None:
        if (size := len(page.content.encode("utf-8", "replace"))) > MAX_PAGE_BYTES:
            return Dead(DeadReason.TOO_LARGE, f"the text has {size} bytes, more than {MAX_PAGE_BYTES}")
        return rules.compiled.extracted.read(page)
    if looks_like := not_a_page(page.body, page.content_type):
        return Dead(DeadReason.UNREADABLE_PAGE, looks_like)
    body = page_bytes(page.body, page.content_type)
    if isinstance(page.body, str) and len(body.utf8) > MAX_PAGE_BYTES:
        return Dead(DeadReason.TOO_LARGE, f"the page has {len(body.utf8)} bytes, more than {MAX_PAGE_BYTES}")
    utf8 = admitted(body.utf8, rules.page_reading)
    if isinstance(utf8, str):
        return Dead(DeadReason.UNREADABLE_PAGE, utf8)
    compiled = rules.compiled
    tree = parse_bytes(replace(body, utf8=utf8)).tree
    facts = compiled.reader.read(tree, page.final_url or page.url, page.fetched_at)
    return replace(facts, has_headings=(facts.headings_count or 0) >= compiled.points.min_headings)


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What a page is worth, and why; its score is None where too little was observed for one."""

    score: int | None
    components: tuple[Component, ...]
    tier: Tier
    label: TrustLabel


def _by_score(facts: PageFacts, source: Source, rules: CompiledRules) -> _Verdict:
    observations = Observations(**{field.name: getattr(facts, field.name) for field in fields(Observations)})
    trust = score_trust(source.base_score, source.because, observations, rules.points)
    tier, label = tier_of(trust.total, source.tier, rules.tiers), label_of(trust.total, source.tier, rules.labels)
    components = trust.components
    if label != label_of(trust.total, None, replace(rules.labels, best=(0, 0, 0))):
        components += (Component("max_label", 0, f"the label of a tier {source.tier} source is at most {label}"),)
    return _Verdict(trust.total, components, tier, label)


def _by_source(_facts: PageFacts, source: Source, _rules: CompiledRules) -> _Verdict:
    because = f"{source.because}; without quality metadata there is no score, and source tier {source.tier} decides"
    return _Verdict(None, (Component("source_tier", 0, because),), *without_score(source.tier))


def _refused(refusal: Refusal, source: Source, rules: CompiledRules) -> _Verdict:
    because = f"no content, {refusal.reason}: {refusal.words!r}; nothing is counted"
    tier, label = tier_of(0, source.tier, rules.tiers), label_of(0, source.tier, rules.labels)
    return _Verdict(0, (Component("refusal", 0, because),), tier, label)


def _scored(
    page: CrawledPage, facts: PageFacts, source: Source, verdict: _Verdict, rules: ScorePageRules
) -> ScoredPage:
    seen = {name: getattr(facts, name) for name in QualityMetadata.model_fields}
    publisher = _clean(page.site_name) or None
    return ScoredPage(
        url=page.url,
        final_url=_clean(page.final_url) if page.final_url != page.url else None,
        title=facts.title,
        content=facts.text,
        summary=facts.summary,
        date=facts.date,
        author=facts.authors,
        agency=facts.agencies,
        site_name=publisher or facts.site_name or None,
        publisher=publisher,
        language=facts.language,
        quality_metadata=QualityMetadata.model_validate(seen),
        trust_features=TrustFeatures.model_validate(
            seen
            | {
                "source_tier": source.tier,
                "base_score": source.base_score,
                "domain_tags": source.tags,
                "has_doi": facts.has_doi,
                "citation_count": facts.citation_count,
                "has_references_section": facts.has_references_section,
                "word_count": facts.word_count,
                "has_statistics": facts.has_statistics,
                "domain_is_academic": source.is_academic,
                "domain_is_government": source.is_government,
                "cts_score": verdict.score,
            }
        ),
        cts_score=verdict.score,
        cts_breakdown=tuple(
            ScoreComponent(component=line.name, points=line.points, because=clean(line.because))
            for line in verdict.components
        ),
        tier=verdict.tier,
        trust_label=verdict.label,
        label_source="fallback" if verdict.score is None else "score",
        config_version=rules.config_version,
        fetched_at=page.fetched_at,
        context=_clean(page.context),
    )


def _clean(text: str | None) -> str | None:
    return None if text is None else clean(text)
