"""Claims and the utterances beside them: ``claims.extracted.v1``, ``claims.evaluated.v1``, ``utterances.*.v1``."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from schemas.documents import IndexChange
from schemas.event import Event, Many, Part, Score, Text
from schemas.llm import LlmCall

Id = Annotated[Text, Field(min_length=1, max_length=1000)]


class ExtractedClaim(Event):
    """A factual statement that an extractor took from a source (R-141).

    Attributes:
        claim_text: The statement.
        source_text: The text around the statement in its source; may be empty.
        source_id: Identifies the source, if the extractor names it (R-155).
        entailed_score: How far the source entails the claim; given by others.
        coverage_score: How much of what matters in the source the claim covers; given by others.
    """

    claim_id: Id
    claim_text: Text
    source_text: Text = ""
    source_id: Text | None = None
    entailed_score: Score | None = None
    coverage_score: Score | None = None


class ClaimStatus(StrEnum):
    """How the evaluation ended; a metric label. All but ``success`` leave no score.

    ``no_claim``: the text states nothing (no verb, no subject, a question, an order), so no judge was asked.
    ``unknown_language``: the offline judge has no word lists for the claim's language. ``undecided``: the wording does
    not show whether an entity, a time or a place is missing.
    """

    SUCCESS = "success"
    MALFORMED = "malformed"
    MODEL_FAILED = "model_failed"
    NO_CLAIM = "no_claim"
    UNKNOWN_LANGUAGE = "unknown_language"
    UNDECIDED = "undecided"


class ClaimBand(StrEnum):
    """A score in words, by half-open bands (R-151, C-26)."""

    PERFECT = "perfect"
    GOOD = "good"
    MODERATE = "moderate"
    POOR = "poor"
    FAILED = "failed"


class ClaimExclusion(StrEnum):
    """Why a claim is not to be promoted (R-152, C-27); a poor one is of low quality, whatever its other scores."""

    NO_SCORE = "no_score"
    INCOMPLETE_SCORES = "incomplete_scores"
    LOW_QUALITY = "low_quality"


class ToolOutcome(StrEnum):
    """How a tool call of a judge ended (R-156)."""

    FOUND = "found"
    NOTHING_FOUND = "nothing_found"
    UNAVAILABLE = "unavailable"
    UNKNOWN_TOOL = "unknown_tool"
    INVALID_ARGUMENTS = "invalid_arguments"
    OVER_LIMIT = "over_limit"


class ToolUse(Part):
    """One call of a tool; ``name`` is as the judge wrote it, cut to 100 characters."""

    name: str
    outcome: ToolOutcome
    hits: int = Field(ge=0)


class ClaimEvaluated(Event):
    """Whether a claim can be understood without its source, and its quality (R-142, R-153).

    Attributes:
        decontextualization_score: From 0, fully dependent on its source, to 1; null where there is no valid score.
        status: ``success``, or why there is no score.
        detail: For people: what the wording leaves open, with its words, or what went wrong last.
        band: Derived from the score.
        quality: Geometric mean of the three scores; null unless all are there (C-28).
        promotable: Whether the claim may go on to promotion and concept linking.
        exclusion: Why not; null where it may.
        tries: How often the judge was asked for a score.
        tool_calls: Tools that it called, in order.
        llm: The last call, with the cost of all; null where none was made.
    """

    claim_id: Id
    source_id: Text | None = None
    decontextualization_score: Score | None = None
    status: ClaimStatus
    detail: str
    band: ClaimBand
    quality: Score | None = None
    promotable: bool
    exclusion: ClaimExclusion | None = None
    tries: int = Field(ge=0)
    tool_calls: Many[ToolUse]
    llm: LlmCall | None = None
    config_version: str


class UtteranceRecorded(Event):
    """A sentence from any source, to compare claims with.

    Attributes:
        source_id: Identifies its source.
        context: The text around it; stored with it, not searched.
    """

    utterance_id: Id
    text: Text
    source_id: Text
    context: Text | None = None


class UtteranceIndexed(Event):
    """An utterance is in the collection that claims are compared with.

    Attributes:
        change: ``written``; ``unchanged`` if the index had the same; ``outdated`` if the index had a newer version.
        embedder: The embedder that made the vector.
    """

    utterance_id: Id
    source_id: Text
    change: IndexChange
    embedder: str
    config_version: str
