"""Whether a search is done: ``search.evaluated.v1``, one verdict a batch, with the rubric behind it."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from schemas.event import MAX_ITEMS, Event, Score
from schemas.llm import LlmCall


class Recommendation(StrEnum):
    """Whether to search on (R-099)."""

    CONTINUE = "continue"
    STOP = "stop"


class SearchScoreSource(StrEnum):
    """Who gave the quality score."""

    MODEL = "model"
    RUBRIC = "rubric"


class SearchOutcome(StrEnum):
    """What became of the judge; where it was not listened to, the rubric's own score stands."""

    JUDGED = "judged"
    NO_RESULTS = "no_results"
    FAILED = "failed"
    MALFORMED = "malformed"


class Rubric(Event):
    """What can be counted, without anybody's opinion: four signed parts, and their sum kept within [0, 1].

    Where too few results are about the goal, the total is at most a configured value in a band that continues.

    Attributes:
        count: For the number of results (R-084).
        coverage: For the required fields that were found (R-086).
        diversity: For domains and kinds of shops (R-087).
        relevance: For results that are about the goal, that sell, and that are beside the point (R-088).
    """

    count: float
    coverage: float
    diversity: float
    relevance: float
    total: Score


class SearchEvaluated(Event):
    """Whether a batch answers the research goal, or more queries are needed (R-083).

    ``satisfied`` and ``recommendation`` follow from score, gaps and missing fields by the configured bands, never from
    what a judge says of them. A batch can be both done searching and in need of extraction (C-50).

    Attributes:
        gaps: What is missing, in words; "" where the search is done, or nothing is known to be missing (R-100).
        suggested_refinements: What to try next; empty where the search is done (R-101).
        rubric: Computed for every batch, whoever gave the score.
        missing_fields: Required fields that no result has.
        unchecked_fields: Required fields that the configuration has no rule for: only a model can judge them, so they
            count as missing where the score is the rubric's.
        score_source: Who gave ``quality_score``.
        outcome: What became of the judge.
        llm: The call, where there was one.
    """

    batch_id: str
    query: str = ""
    attempt: int = Field(default=1, ge=1)
    parent_batch_id: str | None = None
    request_id: str | None = None
    satisfied: bool
    quality_score: Score
    gaps: str
    recommendation: Recommendation
    suggested_refinements: tuple[str, ...] = ()
    rubric: Rubric
    missing_fields: tuple[str, ...] = Field(default=(), max_length=MAX_ITEMS)
    unchecked_fields: tuple[str, ...] = Field(default=(), max_length=MAX_ITEMS)
    score_source: SearchScoreSource
    outcome: SearchOutcome
    llm: LlmCall | None = None
    config_version: str = ""
