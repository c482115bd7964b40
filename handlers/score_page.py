"""Scores a crawled page: 18 observations, a content trust score from 0 to 100, a tier and a label, with reasons.

A page whose text the crawler has extracted is scored by its quality metadata; without metadata, its source decides.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Self

from pydantic import model_validator

from handlers.html.content import PageFacts, clean, orders_of, passage_in
from handlers.html.links import NO_WEB_PAGE, page_id_of
from handlers.html.read_page import PageRules, why_too_large
from handlers.indexing.config import (
    SourcedRules,
    TieredIndexingSection,
    TrustLabelsSection,
    TrustPointsSection,
    source_at,
)
from handlers.trust.labels import LABELS, TIERS, Label, Tier, label_of, next_lower, tier_of, without_score
from handlers.trust.score import Component, Observations, score_trust
from handlers.trust.sources import Source
from schemas.addresses import web_address
from schemas.outcome import Dead, DeadReason, Emit, Outcome
from schemas.pages import (
    GONE_STATUS,
    MAX_EXCERPT,
    MAX_HIDDEN,
    MAX_PAGE_BYTES,
    CrawledPage,
    HiddenText,
    QualityMetadata,
    ScoreComponent,
    ScoredPage,
    Suspected,
    TrustFeatures,
)

_MAX_BYTES = 4
"""Bytes of a character in UTF-8."""
_SHOWN = 200
"""Characters of a wrong address that are shown."""
_OUTCOMES = ("quarantined", "left_out", "kept")
_Judged = tuple[int | None, Tier, Label, tuple[Component, ...]]
_OBSERVED = TrustFeatures.model_fields.keys() & {field.name for field in fields(PageFacts)}


class ScorePageRules(SourcedRules, PageRules):
    """Everything that ``score_page`` decides by."""

    trust_points: TrustPointsSection
    tiered_indexing: TieredIndexingSection
    trust_labels: TrustLabelsSection

    @model_validator(mode="after")
    def _at_most_100(self) -> Self:
        base = max(self.source_rules.base_scores.values)
        if base + self.trust_points.most > 100:
            raise ValueError("base scores and trust points sum to more than 100")
        return self


def score_page(page: CrawledPage, rules: ScorePageRules) -> Outcome:
    """Scores a page (R-170 to R-183). No claim of a page raises its source tier (C-42).

    Returns:
        ``Emit`` of one ``ScoredPage``, or ``Dead``: ``BAD_ADDRESS`` for an address that no browser opens as a web page,
        ``TOO_LARGE`` above 8 MB of UTF-8, ``UNREADABLE_PAGE`` for a body that is neither HTML nor text,
        ``TOO_COMPLEX`` for a page that the parser may take long for or that exceeds the configured limits. An extracted
        page without quality metadata has no score; its tier and label are its source's (C-33, C-41). A page without
        content scores 0 from any source.
    """
    if bad := next((url for url in (page.url, page.final_url) if url and not web_address(url)), None):
        return Dead(DeadReason.BAD_ADDRESS, f"{NO_WEB_PAGE}: {bad[:_SHOWN]!r}")
    facts = _read(page, rules)
    if isinstance(facts, Dead):
        return facts
    source = source_at(page.final_url or page.url, page.site_name, facts.site_name, rules.compiled_sources)
    score, tier, label, components = _judged(page, facts, source, rules)
    if because := orders_of(facts):
        label = next_lower(label)
        components = (*components, Component("injection", 0, f"{because}; the label is one step lower"))
    return Emit((_scored(page, facts, source, (score, tier, label, components), rules),))


def _read(page: CrawledPage, rules: ScorePageRules) -> PageFacts | Dead:
    reader = rules.pages
    if page.content is not None or (not page.body and page.status in GONE_STATUS):
        text = page.content or ""
        # Only a long text is encoded, for its size.
        size = len(text.encode("utf-8", "replace")) if len(text) * _MAX_BYTES > MAX_PAGE_BYTES else 0
        found = why_too_large(size) or reader.extracted(page)
    else:
        found = reader.read(page.body, page.content_type, page.url, page.final_url, page.status, page.fetched_at)
    if isinstance(found, Dead) and page.status in GONE_STATUS:
        found = reader.extracted(page)  # what an interface answers for a page that is gone may be JSON
    if isinstance(found, Dead):
        return found
    if found.state.is_content:
        return found
    # A wall has dates and names of its own.
    return replace(found, date=None, authors=(), agencies=(), has_date=None, has_author=None, has_byline=None)


def _judged(page: CrawledPage, facts: PageFacts, source: Source, rules: ScorePageRules) -> _Judged:
    """The score with its tier, label and components; no score if too little was observed for one."""
    if page.content is not None and page.quality_metadata is None and facts.state.is_content:
        because = f"{source.because}; without quality metadata there is no score, and source tier {source.tier} decides"
        return None, *without_score(source.tier), (Component("source_tier", 0, because),)
    if facts.state.is_content:
        points, most = rules.trust_points.points, max(rules.compiled_sources.base_scores)
        trust = score_trust(source.base_score, source.because, Observations.of(facts), points, most)
        score, components = trust.total, trust.components
    else:
        score, components = 0, (Component("refusal", 0, f"{facts.state}; nothing is counted"),)
    labels, tiers = rules.trust_labels.thresholds, rules.tiered_indexing.thresholds
    label = label_of(score, source.tier, labels, source.standing)
    tier = tier_of(score, source.tier, tiers, source.standing)
    bounds = []
    if label != LABELS[labels.by_score(score)]:
        bounds.append(f"the label at most {label}")
    if tier != TIERS[tiers.by_score(score)]:
        bounds.append(f"the index tier at most {tier}")
    if bounds:
        kind = f"tier {source.tier}" if source.standing == "listed" else source.standing
        components = (*components, Component("max_label", 0, f"{kind} source: {', '.join(bounds)}"))
    return score, tier, label, components


def _hidden_texts(facts: PageFacts) -> tuple[HiddenText, ...]:
    """Hidden texts, the quarantined ones first."""
    ordered = sorted(facts.hidden, key=lambda one: _OUTCOMES.index(one.outcome))[:MAX_HIDDEN]
    return tuple(
        HiddenText(
            kind=one.kind,
            place=clean(one.place),
            characters=len(one.text),
            excerpt=clean(" ".join(one.text[: 2 * MAX_EXCERPT].split()))[:MAX_EXCERPT],
            outcome=one.outcome,
            reason=one.reason or None,
        )
        for one in ordered
    )


def _scored(page: CrawledPage, facts: PageFacts, source: Source, judged: _Judged, rules: ScorePageRules) -> ScoredPage:
    score, tier, label, components = judged
    observed = {name: getattr(facts, name) for name in _OBSERVED}
    if facts.headings_count is not None:
        observed["has_headings"] = facts.headings_count >= rules.trust_points.minimum.headings
    publisher = _clean(page.site_name) or None
    return ScoredPage(
        url=page.url,
        page_id=page_id_of(page.url, facts.session),
        final_url=_clean(page.final_url) if page.final_url != page.url else None,
        state=facts.state.kind,
        title=facts.title,
        content=facts.text,
        blocks=facts.blocks,
        entries=facts.entries,
        summary=facts.summary,
        date=facts.date,
        authors=facts.authors,
        agencies=facts.agencies,
        site_name=publisher or facts.site_name or None,
        publisher=publisher,
        language=facts.language,
        quality_metadata=QualityMetadata.model_validate(
            {name: observed[name] for name in QualityMetadata.model_fields}
        ),
        trust_features=TrustFeatures.model_validate(
            observed
            | {
                "source_tier": source.tier,
                "base_score": source.base_score,
                "domain_tags": source.tags,
                "domain_is_academic": "academic" in source.tags,
                "domain_is_government": "government" in source.tags,
                "cts_score": score,
            }
        ),
        cts_score=score,
        cts_breakdown=tuple(
            ScoreComponent(component=line.name, points=line.points, reason=clean(line.because), most=line.most)
            for line in components
        ),
        tier=tier,
        trust_label=label,
        source=source.standing,
        label_source="fallback" if score is None else "score",
        hidden_text=_hidden_texts(facts),
        injection_suspected=passage_in(facts.text, facts.suspected) or None,
        suspected=tuple(Suspected(start=one.start, end=one.end, score=round(one.score, 2)) for one in facts.suspected),
        config_version=rules.config_version,
        fetched_at=page.fetched_at,
        context=_clean(page.context),
    )


def _clean(text: str | None) -> str | None:
    return None if text is None else clean(text)
