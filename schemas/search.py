"""Whether a search is done: ``search.evaluated.v1``, one verdict per batch, with its rubric."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from schemas.event import Event, Many, Part, Score
from schemas.llm import LlmCall


class Recommendation(StrEnum):
    """Whether to continue the search (R-099)."""

    CONTINUE = "continue"
    STOP = "stop"


class SearchScoreSource(StrEnum):
    """The origin of the quality score."""

    MODEL = "model"
    RUBRIC = "rubric"


class SearchOutcome(StrEnum):
    """How the judge's call ended; without a valid judgment the rubric's score is used."""

    JUDGED = "judged"
    NO_RESULTS = "no_results"
    FAILED = "failed"
    MALFORMED = "malformed"


class Rubric(Part):
    """The score that a program counts: four signed parts, and their sum limited to [0, 1].

    If too few results are about the goal, the total is at most a configured value in a band that continues.

    Attributes:
        count: Points for the number of results (R-084).
        coverage: Points for the required fields that were found (R-086).
        diversity: Points for domains and kinds of shops (R-087).
        relevance: Points for results about the goal and for offers, less those for irrelevant results (R-088).
    """

    count: float
    coverage: float
    diversity: float
    relevance: float
    total: Score


class SearchEvaluated(Event):
    """Whether a batch answers the research goal, or more queries are needed (R-083).

    ``satisfied`` and ``recommendation`` follow from score, gaps and missing fields by the configured bands, never from
    a judge's own values. A search can be done while its batch needs extraction (C-50).

    Attributes:
        gaps: What is missing, in words; "" if the search is done, or nothing is known to be missing (R-100).
        suggested_refinements: What to try next; empty if the search is done (R-101).
        rubric: Computed for every batch.
        missing_fields: Required fields that no result has.
        copies: Places of results with one text, from 0, in the order of the distinct results; it counts once.
        unchecked_fields: Required fields without a rule in the configuration: only a model can judge them, so they
            count as missing if the score is the rubric's.
        score_source: The origin of ``quality_score``.
        outcome: How the judge's call ended.
        llm: The call of the judge, if there was one.
    """

    batch_id: str
    query: str
    attempt: int = Field(ge=1)
    parent_batch_id: str | None = None
    request_id: str | None = None
    satisfied: bool
    quality_score: Score
    gaps: str
    recommendation: Recommendation
    suggested_refinements: tuple[str, ...]
    rubric: Rubric
    missing_fields: Many[str]
    unchecked_fields: Many[str]
    copies: Many[tuple[int, ...]] = ()
    score_source: SearchScoreSource
    outcome: SearchOutcome
    llm: LlmCall | None = None
    config_version: str
