"""The sections of ``config/config_indexing.yaml`` on points, tiers and labels; those on sources are in ``sources``.

They are pydantic models and so live beside ``handlers.trust``, which needs the standard library only.
"""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from handlers.indexing.chunks import ChunkUnit
from handlers.trust.labels import LABELS, TIERS, Label, Thresholds, Tier
from schemas.rules import Section


class CitationPoints(Section):
    """Points for citations (R-172)."""

    doi_or_citation: int = Field(ge=0, description="A DOI or enough citations.")
    external_links: int = Field(ge=0, description="Enough links to other registrable domains.")
    references_section: int = Field(ge=0, description="A references section.")


class StructurePoints(Section):
    """Points for structure (R-173)."""

    headings: int = Field(ge=0, description="Enough h2 and h3 headings.")
    statistics: int = Field(ge=0, description="A data table or enough figures.")
    schema_: int = Field(ge=0, alias="schema", description="A schema.org type of the article family.")
    author: int = Field(ge=0, description="An author or a byline.")
    date: int = Field(ge=0, description="A publication date.")


class Minimum(Section):
    """How much of an observation its points take."""

    citations: int = Field(ge=1, description="Citations without a DOI.")
    external_links: int = Field(ge=1, description="Different links to other registrable domains.")
    headings: int = Field(ge=1, description="Headings h2 and h3.")


class TrustPointsSection(Section):
    """The ``trust_points`` section: the formula's points and minimums."""

    citation: CitationPoints = Field(description="Citation points.")
    structure: StructurePoints = Field(description="Structure points.")
    minimum: Minimum = Field(description="How much of an observation its points take.")

    @property
    def most(self) -> int:
        """The points of a page that has everything."""
        return sum((*self.citation.model_dump().values(), *self.structure.model_dump().values()))


class TierA(Section):
    """Full chunks."""

    min_cts: int = Field(ge=0, le=100, description="The tier begins at this score.")
    chunking: str = Field(pattern="^(full|rough|none)$", description="How the text is cut: full, rough or none.")
    max_chunk_size: int = Field(ge=1, description="Characters of a chunk.")


class TierB(Section):
    """The beginning and the summary."""

    min_cts: int = Field(ge=0, le=100, description="The tier begins at this score.")
    chunking: str = Field(pattern="^(full|rough|none)$", description="How the text is cut: full, rough or none.")
    max_chars: int = Field(ge=1, description="Characters from the beginning that are indexed.")


class TierC(Section):
    """An article embedding only."""

    min_cts: int = Field(ge=0, le=0, description="Always 0: every page has a tier.")
    chunking: str = Field(pattern="^(full|rough|none)$", description="How the text is cut: full, rough or none.")


class MaxTier(Section):
    """The deepest index tier by source tier."""

    tier_1: Tier = Field(description="Of government and academic sources.")
    tier_2: Tier = Field(description="Of mainstream media.")
    tier_3: Tier = Field(description="Of all other sources.")


class TieredIndexingSection(Section):
    """The ``tiered_indexing`` section (R-215)."""

    tier_a: TierA = Field(description="Deep reports, academic work, government documents.")
    tier_b: TierB = Field(description="Ordinary news.")
    tier_c: TierC = Field(description="The rest.")
    max_tier: MaxTier = Field(
        default=MaxTier(tier_1="A", tier_2="A", tier_3="A"),
        description="The deepest index tier that a source tier can reach; A for all is no limit.",
    )

    @property
    def thresholds(self) -> Thresholds:
        """The section as plain values."""
        most = self.max_tier
        best = (TIERS.index(most.tier_1), TIERS.index(most.tier_2), TIERS.index(most.tier_3))
        return Thresholds(self.tier_a.min_cts, self.tier_b.min_cts, best)

    @model_validator(mode="after")
    def _descend(self) -> Self:
        if not self.tier_a.min_cts > self.tier_b.min_cts > self.tier_c.min_cts:
            raise ValueError("min_cts has to fall from tier_a over tier_b to tier_c")
        return self


class IndexPointsSection(Section):
    """The ``index_points`` section: what the plan leaves open about points."""

    chunk_unit: ChunkUnit = Field(description="What max_chunk_size counts: characters, or words (and CJK characters).")
    article_characters: int = Field(ge=1, description="Of the main text that an article embedding is made of.")


class MaxLabel(Section):
    """The best trust label by source tier (C-36)."""

    tier_1: Label = Field(description="Of government and academic sources.")
    tier_2: Label = Field(description="Of mainstream media.")
    tier_3: Label = Field(description="Of all other sources, which only their own markup speaks for.")


class TrustLabelsSection(Section):
    """The ``trust_labels`` section (R-216): the score from which each label holds, and the best by source tier."""

    high: int = Field(ge=0, le=100, description="HIGH begins at this score.")
    medium: int = Field(ge=0, le=100, description="MEDIUM begins at this score.")
    low: int = Field(ge=0, le=0, description="Always 0: every page has a label.")
    max_label: MaxLabel = Field(
        default=MaxLabel(tier_1="HIGH", tier_2="HIGH", tier_3="MEDIUM"),
        description="The best label that a source tier can reach, whatever the score.",
    )

    @property
    def thresholds(self) -> Thresholds:
        """The section as plain values."""
        most = self.max_label
        best = (LABELS.index(most.tier_1), LABELS.index(most.tier_2), LABELS.index(most.tier_3))
        return Thresholds(self.high, self.medium, best)

    @model_validator(mode="after")
    def _descend(self) -> Self:
        if not self.high > self.medium > self.low:
            raise ValueError("labels have to fall from high over medium to low")
        return self
