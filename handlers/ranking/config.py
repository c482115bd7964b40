"""The section ``ranking`` of ``config/ranking.yaml``."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Self

from pydantic import Field, model_validator

from handlers.text.patterns import WordList
from schemas.queries import MAX_RESULTS
from schemas.ranking import TreesMode
from schemas.rules import Section

MOST_CANDIDATES = 200


class RetrievalSection(Section):
    """How candidates are retrieved."""

    points: int = Field(ge=1, le=2000, description="Points of the index that are asked for, several of a document.")
    documents: int = Field(ge=0, le=MOST_CANDIDATES, description="Documents below which more points are asked for.")
    most_points: int = Field(ge=1, le=10_000, description="Points that are asked for at most.")
    candidates: int = Field(ge=1, le=MOST_CANDIDATES, description="Documents of these points that are ranked.")
    passages: int = Field(ge=1, le=20, description="Best points of a document whose texts are ranked together.")
    max_characters: int = Field(ge=100, le=50_000, description="Of a candidate's text that is ranked.")


class Bm25Section(Section):
    """BM25 over the candidates, and how it is fused with the vectors' similarity."""

    enabled: bool = Field(description="Whether candidates are scored by BM25; off, vectors decide alone.")
    candidates: int = Field(ge=1, le=MOST_CANDIDATES, description="Best documents, which the later stages rank.")
    k1: float = Field(gt=0, le=5, description="How fast further occurrences of a word count less.")
    b: float = Field(ge=0, le=1, description="How much the length of a text lowers its score.")
    floor: float = Field(ge=0, le=1, description="What one occurrence of a word counts at least; 1 is the most.")
    usual_length: float = Field(gt=0, description="Words of a text of usual length.")
    title_weight: float = Field(ge=0, le=20, description="How often a word of the title counts.")
    weight: float = Field(ge=0, le=1, description="Of BM25 in the fused score; the retriever's scores have the rest.")
    early_boost: float = Field(ge=0, le=1, description="Added for all of the query's keywords in the title.")
    neighbour_boost: float = Field(ge=0, le=1, description="Added where words of a query without quotes are adjacent.")
    phrase_boost: float = Field(ge=0, le=1, description="Added where all quoted phrases occur word for word.")
    exact_title_boost: float = Field(ge=0, le=2, description="Added where the title is what was asked for.")
    temporal_boost: float = Field(ge=0, le=1, description="Added for a document of today where the query wants news.")
    half_life_days: float = Field(gt=0, description="After which half of it is left.")
    repetition_least: float = Field(ge=0, le=1, description="Share of query words from which a repetitive text loses.")
    unmet_condition: float = Field(ge=0, le=1, description="Share that a text of another day, year or price loses.")


class IntentSection(Section):
    """Word lists and lengths by which the intent of a query is detected, in all languages at once."""

    specific_words: WordList = Field(description="Words that ask for one thing.")
    exploratory_words: WordList = Field(description="Words that ask for an overview.")
    temporal_words: WordList = Field(description="Words that ask for news.")
    question_words: WordList = Field(description="Words that begin a question.")
    long_words: int = Field(ge=1, description="Words from which a query is long, and so specific.")
    short_words: int = Field(ge=1, description="Words up to which a query is short, and so exploratory.")
    outweighs: int = Field(ge=0, description="Signs of a specific query that one of exploratory_words outweighs.")


class ModelRankingSection(Section):
    """How a language model ranks candidates (R-232), or the offline judge in its place."""

    enabled: bool = Field(description="Whether a judge is asked at all.")
    candidates: int = Field(ge=1, le=100, description="Best candidates that it is shown; the rest keep their order.")
    max_characters: int = Field(ge=50, le=5000, description="Of a candidate's passage, as it is shown.")
    weight: float = Field(ge=0, le=1, description="Of the model's score in the combined score; the fused has the rest.")
    offline_weight: float = Field(ge=0, le=1, description="The same for the offline judge.")


class TrustSection(Section):
    """How much trust counts between results of like relevance (R-244)."""

    weight: float = Field(ge=0, le=1, description="Share of its relevance that a result with a CTS of 0 loses.")
    unknown: int = Field(ge=0, le=100, description="CTS that a candidate without one counts as.")


class TreesSection(Section):
    """The trees that re-rank (R-240 to R-245)."""

    mode: TreesMode = Field(description="off; shadow: they score and change nothing; on: their order counts.")
    model: str = Field(description="Name of a shipped model, or a path to a model's manifest.")
    confidence: float = Field(ge=0, le=1, description="From which confidence on their order counts.")
    cascade: bool = Field(description="Whether the model's ranking is skipped where trees are sure without it.")


class MmrSection(Section):
    """Maximal marginal relevance: how much likeness to results above costs (Carbonell and Goldstein 1998)."""

    enabled: bool = Field(description="Whether results are diversified.")
    specific: float = Field(ge=0, le=1, description="Weight of relevance for SPECIFIC queries; likeness has the rest.")
    exploratory: float = Field(ge=0, le=1, description="Weight of relevance for EXPLORATORY queries.")
    balanced: float = Field(ge=0, le=1, description="Weight of relevance for the others.")
    copy_likeness: float = Field(gt=0, le=1, description="From which a result is a copy, and follows the others.")


class RankingSection(Section):
    """The ``ranking`` section."""

    limit: int = Field(ge=1, le=MAX_RESULTS, description="Results where the request names no number.")
    retrieval: RetrievalSection = Field(description="How candidates are retrieved.")
    bm25: Bm25Section = Field(description="BM25 and fusion.")
    intent: IntentSection = Field(description="Signs of the intent of a query.")
    model_ranking: ModelRankingSection = Field(description="Ranking by a language model.")
    trees: TreesSection = Field(description="Re-ranking by trees.")
    trust: TrustSection = Field(description="Trust between results of like relevance.")
    mmr: MmrSection = Field(description="Diversity.")
    least_relevance: float = Field(ge=0, le=1, description="Relevance below which a result is not relevant.")

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if self.retrieval.points > self.retrieval.most_points:
            raise ValueError("retrieval.points has to be at most retrieval.most_points")
        if self.intent.short_words >= self.intent.long_words:
            raise ValueError("intent.short_words has to be less than intent.long_words")
        return self


def features_config(ranking: RankingSection) -> str:
    """Hash of the sections that features depend on: ``bm25``, ``intent`` and ``mmr``."""
    parts = ranking.model_dump(mode="json", include={"bm25", "intent", "mmr"})
    return sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:12]
