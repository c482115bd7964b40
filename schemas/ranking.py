"""Results of queries (``schemas.queries``), ``ranking.completed.v1``, and feedback on them, ``ranking.feedback.v1``."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, Self

from pydantic import AliasChoices, ConfigDict, Field, model_validator

from schemas.event import AnyUrl, Event, Many, Part, Text, Url
from schemas.field_rules import at_least_one
from schemas.instants import Instant
from schemas.llm import LlmCall
from schemas.pages import LabelSource, TrustLabel
from schemas.queries import MAX_ID_CHARACTERS, CandidateTrust

MAX_GRADE = 4


class Intent(StrEnum):
    """What a query looks for: one thing, an overview, or something between."""

    SPECIFIC = "SPECIFIC"
    EXPLORATORY = "EXPLORATORY"
    BALANCED = "BALANCED"


class StageName(StrEnum):
    """The stages of a query, in order (R-232). The ``bm25`` stage also detects the intent."""

    RETRIEVAL = "retrieval"
    BM25 = "bm25"
    RANKING = "ranking"
    TREES = "trees"
    MMR = "mmr"
    REASONING = "reasoning"


class StageOutcome(StrEnum):
    """What a stage did. ``shadow``: it scored and changed no order; ``failed``: the previous order is kept."""

    RAN = "ran"
    OFF = "off"
    SKIPPED = "skipped"
    SHADOW = "shadow"
    FAILED = "failed"


class StageNote(Part):
    """What one stage did, and why."""

    stage: StageName
    outcome: StageOutcome
    reason: str = ""


class IntentNote(Part):
    """The detected intent of the query, and the words that show it."""

    intent: Intent
    reason: str


class TreesNote(Part):
    """The model that re-ranked, or in shadow would have.

    Attributes:
        model: Name and version from its manifest.
        features: Number of its features: 29, or 41 with the trust block.
        confidence: Its confidence in its first result, 0 to 1.
        agreement: In shadow: share of the results shown that it would also have shown.
    """

    model: str
    features: int
    confidence: float | None = None
    agreement: float | None = None


class ReasoningMetadata(Part):
    """What the reasoning layer may know about a result's trust (R-251): a label, never a number."""

    trust_label: TrustLabel
    label_source: LabelSource


class RankedResult(Part):
    """One result, and the reasons for its rank.

    Attributes:
        rank: From 1.
        score: Relevance to the query, 0 to 1, from words, the retriever's scores and a judge. It is comparable between
            queries. Trust, trees and diversity change the order and not this score.
        relevant: Whether ``score`` reaches ``ranking.least_relevance``. True if neither words nor a judge have scored.
            Other results are in no context for a model.
        copy_of: Address of the first result above with the same or nearly the same text.
        stage_scores: The score of each stage that scored it, in the order of the stages; ``fused`` combines BM25 and
            the retriever's scores, ``trust`` is the relevance less the share that missing trust costs.
        reasons: The reasons for its rank, for people.
        passage: Its best passage for the query.
        publisher: As the crawler or the source list names it; null for the name of the host.
        features: The features for the trees in the manifest's order; null is a missing value. They are stored, so that
            training uses the values of the time of serving.
    """

    rank: int = Field(ge=1)
    url: AnyUrl
    page_id: str | None = None
    title: str
    score: float
    relevant: bool = True
    copy_of: AnyUrl | None = None
    stage_scores: dict[str, float | None]
    reasons: Many[str]
    passage: str
    date: str | None = None
    site_name: str | None = None
    publisher: str | None = None
    cts_score: int | None = Field(default=None, ge=0, le=100)
    trust_features: CandidateTrust | None = None
    trust_label: TrustLabel
    features: Many[float | None] | None = None
    reasoning_metadata: ReasoningMetadata = Field(
        validation_alias=AliasChoices("_reasoning_metadata", "reasoning_metadata", "reasoningMetadata"),
        serialization_alias="_reasoning_metadata",
    )


class RankingCompleted(Event):
    """The results of a query, the stages that made them, and the context for a model.

    Attributes:
        stages: The stages that ran, in order (R-232).
        notes: What each stage did, also the stages that did not run.
        nothing_relevant: True if no result is relevant, or the list is empty.
        context: The relevant sources, each text once, with trust labels, for a prompt, without trust numbers (R-253).
        features_version: Version of the manifest that ``features`` follow.
        llm: The call that ranked; null if no judge was asked.
    """

    request_id: str
    query: str
    requested_at: Instant | None = None
    intent: IntentNote
    stages: tuple[StageName, ...]
    notes: tuple[StageNote, ...]
    results: tuple[RankedResult, ...]
    nothing_relevant: bool
    context: str
    trees: TreesNote | None = None
    features_version: str | None = None
    llm: LlmCall | None = None
    config_version: str


class RankingFeedback(Event):
    """A user's feedback on a result. At least one of ``clicked``, ``dwell_ms`` and ``grade`` is given.

    Attributes:
        clicked: Whether the user opened it.
        dwell_ms: How long the user stayed on it.
        grade: 0 (useless) to 4 (exactly this), given by a person or a judge.
    """

    model_config = ConfigDict(
        json_schema_extra=at_least_one(
            clicked={"type": "boolean"}, dwell_ms={"type": "integer"}, grade={"type": "integer"}
        )
    )

    request_id: Text = Field(min_length=1, max_length=MAX_ID_CHARACTERS)
    url: Url
    clicked: bool | None = None
    dwell_ms: int | None = Field(default=None, ge=0, le=86_400_000)
    grade: int | None = Field(default=None, ge=0, le=MAX_GRADE)
    given_at: Instant | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.clicked is None and self.dwell_ms is None and self.grade is None:
            raise ValueError("feedback needs clicked, dwell_ms or grade")
        return self


TreesMode = Literal["off", "shadow", "on"]
"""Whether the trees score results, and whether their order counts."""
