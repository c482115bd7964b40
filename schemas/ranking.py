"""What came of queries (``schemas.queries``): ``ranking.completed.v1``, and ``ranking.feedback.v1`` on it."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal, Self

from pydantic import Field, model_validator

from schemas.event import Event, Many, Text
from schemas.llm import LlmCall
from schemas.pages import LabelSource, TrustLabel
from schemas.queries import MAX_ID_CHARACTERS, CandidateTrust

MAX_GRADE = 4


class Intent(StrEnum):
    """What a query is after: one thing, an overview, or something between."""

    SPECIFIC = "SPECIFIC"
    EXPLORATORY = "EXPLORATORY"
    BALANCED = "BALANCED"


class StageName(StrEnum):
    """The stages of a query, in the plan's order (R-232). ``bm25`` is also where the intent is told."""

    RETRIEVAL = "retrieval"
    BM25 = "bm25"
    RANKING = "ranking"
    TREES = "trees"
    MMR = "mmr"
    REASONING = "reasoning"


class StageOutcome(StrEnum):
    """What a stage did. ``shadow``: it scored and changed no order; ``failed``: those before it stand."""

    RAN = "ran"
    OFF = "off"
    SKIPPED = "skipped"
    SHADOW = "shadow"
    FAILED = "failed"


class StageNote(Event):
    """What one stage did, and why."""

    stage: StageName
    outcome: StageOutcome
    because: str = ""


class IntentNote(Event):
    """What the query was taken to be after, and for which signs."""

    intent: Intent
    because: str


class TreesNote(Event):
    """Which model re-ranked, or would have.

    Attributes:
        model: Its name and version, as its manifest has them.
        features: How many it takes: 29, or 41 with the trust block.
        confidence: How sure it was of its first result, 0 to 1.
        agreement: In shadow: share of the results shown that it would have shown as well.
    """

    model: str
    features: int
    confidence: float | None = None
    agreement: float | None = None


class ReasoningMetadata(Event):
    """What the reasoning layer may know of a result's trustworthiness (R-251): a label, never a number."""

    trust_label: TrustLabel
    label_source: LabelSource


class RankedResult(Event):
    """One result and why it is where it is.

    Attributes:
        rank: From 1.
        score: Relevance to the query, 0 to 1, as words, the retriever's scores and a judge see it together. It means
            the same for every query. Trust, trees and diversity change the order and not this score.
        stage_scores: The score of each stage that scored it, in the order of the stages; ``fused`` is what BM25 and
            the retriever's scores come to together, ``trust`` the relevance with the share that missing trust costs.
        because: Why it is where it is, for people.
        passage: Its best passage for the query.
        features: What the trees were shown, or would have been, in the manifest's order; null is a missing value. So
            training sees what serving saw (point in time).
    """

    rank: int = Field(ge=1)
    url: str
    title: str
    score: float
    stage_scores: dict[str, float | None] = Field(default_factory=dict)
    because: Many[str] = ()
    passage: str = ""
    date: str | None = None
    site_name: str | None = None
    cts_score: int | None = Field(default=None, ge=0, le=100)
    trust_features: CandidateTrust | None = None
    trust_label: TrustLabel
    features: Many[float | None] | None = None
    reasoning_metadata: ReasoningMetadata = Field(alias="_reasoning_metadata")


class RankingCompleted(Event):
    """The results of a query, how they came about, and what a model may read of them.

    Attributes:
        stages: Those that ran, in the plan's order (R-232).
        notes: What each stage did, also those that did not run.
        nothing_relevant: Whether no result is relevant: each has a score below ``ranking.least_relevance``, or there
            are none. False where neither words nor a judge have scored, for then it is not known.
        context: The sources with their trust labels, ready for a prompt: no number of trust in it (R-253).
        features_version: Of the manifest that ``features`` follow.
        llm: The call that ranked; null where no judge was asked.
    """

    request_id: str
    query: str
    requested_at: datetime | None = None
    intent: IntentNote
    stages: tuple[StageName, ...]
    notes: tuple[StageNote, ...]
    results: tuple[RankedResult, ...]
    nothing_relevant: bool = False
    context: str
    trees: TreesNote | None = None
    features_version: str | None = None
    llm: LlmCall | None = None
    config_version: str


class RankingFeedback(Event):
    """What somebody did with a result: clicked it, stayed on it, graded it. At least one of these.

    Attributes:
        clicked: Whether it was opened.
        dwell_ms: How long it was looked at.
        grade: 0 (useless) to 4 (exactly this), given by a person or a judge.
    """

    request_id: Text = Field(min_length=1, max_length=MAX_ID_CHARACTERS)
    url: Text = Field(min_length=1, max_length=8192)
    clicked: bool | None = None
    dwell_ms: int | None = Field(default=None, ge=0, le=86_400_000)
    grade: int | None = Field(default=None, ge=0, le=MAX_GRADE)
    given_at: datetime | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.clicked is None and self.dwell_ms is None and self.grade is None:
            raise ValueError("feedback needs clicked, dwell_ms or grade")
        return self


TreesMode = Literal["off", "shadow", "on"]
"""Whether the trees are asked, and whether their order counts."""
