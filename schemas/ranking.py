"""Queries and what came of them: ``ranking.requested.v1``, ``ranking.completed.v1`` and ``ranking.feedback.v1``."""

from __future__ import annotations

import math
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AliasChoices,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
    model_validator,
)

from schemas.event import Event, Many, Text
from schemas.llm import LlmCall
from schemas.pages import ONE_OR_MANY, LabelSource, SourceTier, Tier, TrustLabel

MAX_QUERY_CHARACTERS = 4_000
MAX_ID_CHARACTERS = 512
MAX_CANDIDATES = 200
"""Of one request; each of them may be as long as ``MAX_CONTENT_CHARACTERS``, all of them fit into a record."""
MAX_CONTENT_CHARACTERS = 50_000
MAX_RESULTS = 100
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


def _one_or_many(value: Any) -> Any:
    return (value,) if isinstance(value, str) else () if value is None else value


def _many(singular: str) -> Any:
    return Field(default=(), max_length=100, validation_alias=AliasChoices(f"{singular}s", singular))


def cts_score_of(value: Any) -> int | None:
    """A content trust score as somebody wrote it: 0 to 100, whole points counting; None for what is none.

    A label begins at a whole score, which 69.9 has not reached.

    >>> [cts_score_of(value) for value in (70, 69.9, True, "70", 101, float("nan"))]
    [70, 69, None, None, None, None]
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        return None
    return math.floor(value)


def _if_readable(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """None for what can't be read: one odd candidate must not cost the answer to all the others."""
    try:
        return None if isinstance(value, bool) else validate(value)
    except ValidationError:
        return None


def _names(value: Any) -> tuple[str, ...]:
    return tuple(name for name in (value if isinstance(value, list | tuple) else (value,)) if isinstance(name, str))


CtsScore = Annotated[int | None, Field(ge=0, le=100), BeforeValidator(cts_score_of)]
"""A content trust score that somebody else wrote; None where it is none."""


class RankingFilters(Event):
    """What a result must be. Every list that is not empty must hold; within a list one of its values must.

    Fields that there are not are kept, unlike elsewhere (R-010): a filter that is ignored lets through what was to be
    kept out, so who reads them has to tell.

    Attributes:
        tiers: Of the index; on the wire also ``tier``, and one value as plain text.
        domains: Registrable domains or host names.
        tags: Of ``trust_features.domain_tags``: news, academic, government, blog.
        date_from: First day or instant of publication, ISO 8601; pages without a date don't fit.
        date_to: Last day (which counts whole) or instant.
    """

    model_config = ConfigDict(extra="allow")

    tiers: Annotated[tuple[Tier, ...], BeforeValidator(_one_or_many)] = _many("tier")
    domains: Annotated[tuple[Text, ...], BeforeValidator(_one_or_many)] = _many("domain")
    tags: Annotated[tuple[Text, ...], BeforeValidator(_one_or_many)] = _many("tag")
    date_from: Text | None = Field(default=None, max_length=40)
    date_to: Text | None = Field(default=None, max_length=40)


class CandidateTrust(Event):
    """What is known of a candidate's trustworthiness; a subset of ``TrustFeatures``, each of which may be missing."""

    source_tier: SourceTier | None = None
    base_score: int | None = None
    domain_tags: Many[str] = ()
    has_doi: bool | None = None
    citation_count: int | None = None
    external_links_count: int | None = None
    has_references_section: bool | None = None
    word_count: int | None = None
    has_headings: bool | None = None
    has_statistics: bool | None = None
    schema_type: str | None = None
    has_author: bool | None = None
    has_byline: bool | None = None
    has_date: bool | None = None
    is_wire_report: bool | None = None
    domain_is_academic: bool | None = None
    domain_is_government: bool | None = None
    cts_score: CtsScore = None


class RankingCandidate(Event):
    """A result that somebody else retrieved.

    Attributes:
        content: What is ranked: the text, a part of it, or a snippet.
        author: One or many.
        score: The retriever's own score, the higher the better; without scores the order of the candidates counts.
            What is no finite number is none.
        cts_score: Null or absent where none is known; that of ``trust_features`` stands in. What is no number from 0 to
            100 is none, as in a point of the index.
        trust_features: None where they can't be read.
    """

    url: Text = Field(min_length=1, max_length=8192)
    title: Text = Field(default="", max_length=10_000)
    content: Text = Field(default="", max_length=MAX_CONTENT_CHARACTERS)
    summary: Text = Field(default="", max_length=10_000)
    date: Text | None = Field(default=None, max_length=100)
    author: Annotated[Many[str], BeforeValidator(_names), WithJsonSchema(ONE_OR_MANY)] = ()
    site_name: Text | None = Field(default=None, max_length=1000)
    score: Annotated[float | None, WrapValidator(_if_readable)] = None
    cts_score: CtsScore = None
    trust_features: Annotated[CandidateTrust | None, WrapValidator(_if_readable)] = None

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {key: item for key, item in value.items() if item is not None}


class RankingRequested(Event):
    """A query, with or without candidates of its own; with them nothing is retrieved.

    Attributes:
        limit: Results wanted; null for the configuration's.
        requested_at: When it was asked, from which the age of a document is counted; the record's timestamp stands in.
    """

    request_id: Text = Field(min_length=1, max_length=MAX_ID_CHARACTERS)
    query: Text = Field(min_length=1, max_length=MAX_QUERY_CHARACTERS)
    limit: int | None = Field(default=None, ge=1, le=MAX_RESULTS)
    filters: RankingFilters = RankingFilters()
    candidates: Annotated[tuple[RankingCandidate, ...], Field(max_length=MAX_CANDIDATES, fail_fast=True)] | None = None
    requested_at: datetime | None = None

    @model_validator(mode="before")
    @classmethod
    def _null_filters_are_none(cls, value: Any) -> Any:
        if isinstance(value, dict) and value.get("filters", ...) is None:
            return {key: item for key, item in value.items() if key != "filters"}
        return value


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
        score: By which it is ordered, the higher the better; of the last stage that ran.
        stage_scores: The score of each stage that scored it, in the order of the stages; ``fused`` is what BM25 and
            the vectors come to together.
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
