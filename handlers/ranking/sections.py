"""The section ``ranking`` of ``config/ranking.yaml``: which stages a query goes through, and by which numbers."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Self

from pydantic import Field, model_validator

from schemas.queries import MAX_RESULTS
from schemas.ranking import TreesMode
from schemas.rules import Section

MOST_CANDIDATES = 200


class RetrievalSection(Section):
    """How candidates are brought home."""

    points: int = Field(ge=1, le=2000, description="Points of the index that are asked for, several of a document.")
    documents: int = Field(
        ge=0, le=MOST_CANDIDATES, description="Documents that they have to be of, or more points are asked for."
    )
    most_points: int = Field(
        ge=1, le=10_000, description="Points that are asked for at most, where they are of too few documents."
    )
    candidates: int = Field(
        ge=1, le=MOST_CANDIDATES, description="Documents that are left of them, whose words are counted."
    )
    passages: int = Field(ge=1, le=20, description="Best points of a document whose texts are ranked together.")
    max_characters: int = Field(ge=100, le=50_000, description="Of a candidate's text that is ranked.")


class Bm25Section(Section):
    """BM25 over the candidates, and how it is fused with the vectors' similarity."""

    enabled: bool = Field(description="Whether candidates are scored by BM25; off, vectors decide alone (R-257).")
    candidates: int = Field(
        ge=1, le=MOST_CANDIDATES, description="Documents that go on to the later stages, the best of both scores."
    )
    k1: float = Field(gt=0, le=5, description="How soon more of the same word stops counting.")
    b: float = Field(ge=0, le=1, description="How much long texts are held against themselves.")
    floor: float = Field(ge=0, le=1, description="What one occurrence of a word counts at least, of at most 1.")
    others: int = Field(
        ge=0, le=100_000, description="Documents without any of the words that are assumed beside the candidates."
    )
    title_weight: float = Field(ge=0, le=20, description="How often a word of the title counts.")
    weight: float = Field(ge=0, le=1, description="Of BM25 in the fused score; the retriever's scores have the rest.")
    keyword_boost: float = Field(ge=0, le=1, description="Added for all of the query's keywords in the title.")
    neighbour_boost: float = Field(
        ge=0, le=1, description="Added where all neighbouring words of a query without quotes stand together."
    )
    phrase_boost: float = Field(ge=0, le=1, description="Added where all quoted phrases stand word for word.")
    exact_title_boost: float = Field(ge=0, le=2, description="Added where the title is what was asked for.")
    temporal_boost: float = Field(ge=0, le=1, description="Added for a document of today where the query wants news.")
    half_life_days: float = Field(gt=0, description="After which half of it is left.")
    repetition_least: float = Field(
        ge=0, le=1, description="Share of a text that repeats words of the query, from which it costs."
    )
    repetition_full: float = Field(ge=0, le=1, description="Share from which it costs all of repetition_cost.")
    repetition_cost: float = Field(
        ge=0, le=1, description="Share of its score that a text loses at most that repeats the query."
    )


class IntentPoints(Section):
    """What each sign of an intent counts; the greater sum decides, and of equal ones neither."""

    quoted: int = Field(ge=0, le=10, description="For one thing: a phrase in quotation marks.")
    number: int = Field(ge=0, le=10, description="For one thing: a number.")
    name: int = Field(ge=0, le=10, description="For one thing: a name.")
    title: int = Field(ge=0, le=10, description="For one thing: written as a title.")
    specific_word: int = Field(ge=0, le=10, description="For one thing: one of specific_words.")
    long: int = Field(ge=0, le=10, description="For one thing: long_words words or more.")
    very_long: int = Field(ge=0, le=10, description="For one thing: very_long_words words or more, instead of long.")
    exploratory_word: int = Field(ge=0, le=10, description="For an overview: one of exploratory_words.")
    short: int = Field(ge=0, le=10, description="For an overview: short_words words or less, and no other sign.")


class IntentSection(Section):
    """What tells one intent from the other; words in all languages at once."""

    specific_words: tuple[str, ...] = Field(description="Words of who wants one thing.")
    exploratory_words: tuple[str, ...] = Field(description="Words of who wants an overview.")
    temporal_words: tuple[str, ...] = Field(description="Words of who wants what is new.")
    question_words: tuple[str, ...] = Field(description="Words that begin a question.")
    long_words: int = Field(ge=1, description="Words from which a query is long, and so specific.")
    very_long_words: int = Field(ge=1, description="Words from which a query is very long.")
    short_words: int = Field(ge=1, description="Words up to which a query is short, and so exploratory.")
    points: IntentPoints = Field(description="What each sign counts.")


class ModelRankingSection(Section):
    """How a language model ranks candidates (R-232), or the offline judge in its place."""

    enabled: bool = Field(description="Whether a judge is asked at all (R-257).")
    candidates: int = Field(ge=1, le=100, description="Best candidates that it is shown; the rest keep their order.")
    max_characters: int = Field(ge=50, le=5000, description="Of a candidate's passage, as it is shown.")
    weight: float = Field(ge=0, le=1, description="Of the model's score in the combined score; the fused has the rest.")
    offline_weight: float = Field(ge=0, le=1, description="The same for the offline judge.")


class TrustSection(Section):
    """How much trust counts between results of like relevance (R-244)."""

    weight: float = Field(
        ge=0, le=1, description="Share of its relevance that a result with a CTS of 0 loses in the order; 0: no part."
    )
    unknown: int = Field(ge=0, le=100, description="CTS that a candidate without one counts as.")


class TreesSection(Section):
    """The trees that re-rank (R-240 to R-245)."""

    mode: TreesMode = Field(description="off; shadow: they score and change nothing; on: their order counts.")
    model: str = Field(description="Name of a shipped model, or a path to a model's manifest.")
    confidence: float = Field(ge=0, le=1, description="From which confidence on their order counts.")
    cascade: bool = Field(description="Whether the model's ranking is skipped where trees are sure without it.")


class MmrSection(Section):
    """Maximal marginal relevance: how much likeness to what stands above costs (Carbonell and Goldstein 1998)."""

    enabled: bool = Field(description="Whether results are diversified (R-257).")
    specific: float = Field(ge=0, le=1, description="Weight of relevance for SPECIFIC queries; likeness has the rest.")
    exploratory: float = Field(ge=0, le=1, description="Weight of relevance for EXPLORATORY queries.")
    balanced: float = Field(ge=0, le=1, description="Weight of relevance for the others.")
    copy_likeness: float = Field(
        gt=0, le=1, description="Likeness from which a result is a copy, and follows the others that are relevant."
    )


class RankingSection(Section):
    """The whole of it."""

    limit: int = Field(ge=1, le=MAX_RESULTS, description="Results where the request names no number.")
    retrieval: RetrievalSection = Field(description="How candidates are brought home.")
    bm25: Bm25Section = Field(description="BM25 and fusion.")
    intent: IntentSection = Field(description="What tells intents apart.")
    model_ranking: ModelRankingSection = Field(description="Ranking by a language model.")
    trees: TreesSection = Field(description="Re-ranking by trees.")
    trust: TrustSection = Field(description="Trust between results of like relevance.")
    mmr: MmrSection = Field(description="Diversity.")
    least_relevance: float = Field(
        ge=0, le=1, description="Relevance below which a result does not count as relevant to the query."
    )

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if self.retrieval.points > self.retrieval.most_points:
            raise ValueError("retrieval.points has to be at most retrieval.most_points")
        if self.bm25.repetition_least >= self.bm25.repetition_full:
            raise ValueError("bm25.repetition_least has to be less than bm25.repetition_full")
        intent = self.intent
        if not intent.short_words < intent.long_words <= intent.very_long_words:
            raise ValueError(
                "intent.short_words has to be less than long_words, and that not more than very_long_words"
            )
        return self


def features_config(ranking: RankingSection) -> str:
    """Hash of what features are made by: a model that was trained under another one sees other numbers.

    Args:
        ranking: The configuration; of it ``bm25``, ``intent`` and ``mmr`` count.
    """
    parts = ranking.model_dump(mode="json", include={"bm25", "intent", "mmr"})
    return sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:12]
