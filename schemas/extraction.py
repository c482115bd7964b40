"""Listings to follow, and what came of it: ``extraction.needed.v1`` and ``extraction.completed.v1``."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from schemas.event import Event, Score, Text
from schemas.relevance import MAX_SOURCES, Sources
from schemas.replies import FetchFailure


class ExtractionTrigger(StrEnum):
    """What asked for pages."""

    AGGREGATOR_DETECTED = "aggregator_detected"
    SNIPPET_REQUESTED = "snippet_requested"


class ExtractionStatus(StrEnum):
    """How much of what was wanted came."""

    OK = "ok"
    PARTIAL = "partial"
    FAILED = "failed"


class ExtractionNeeded(Event):
    """A page to fetch. The key is the target's registrable domain, so one worker at a time visits a domain.

    Attributes:
        extraction_id: Derived from what triggered it and the target: a redelivery has the same id.
        batch_id: The batch whose listing this is; its answer comes back as a batch of its own.
        extraction_reason: The verdict in words (R-057).
        follow: True where the target is a listing whose details are wanted; false where it is itself the answer.
        attempt: The attempt of the batch that triggered.
        actionable_information: That batch's score, against which the next attempt is measured.
        hop: How many extractions led here; classification stops triggering at its limit (C-11).
        max_details: How many detail pages at most.
        over_budget: True in events of earlier versions only: the batch's budget had no page left for this one, so it
            is answered and not fetched. Today such a target is listed in the verdict, and no event is sent.
        sources: Of the snippet request that the target belongs to: all, with what became of those before it.
    """

    extraction_id: Text = Field(min_length=1, max_length=512)
    batch_id: str | None = None
    request_id: str | None = None
    query: Text
    reason: ExtractionTrigger
    extraction_reason: str = ""
    target_url: Text = Field(min_length=1, max_length=8192)
    follow: bool = True
    attempt: int = Field(default=1, ge=1)
    actionable_information: Score | None = None
    hop: int = Field(default=1, ge=0)
    max_details: int = Field(default=5, ge=1, le=100)
    over_budget: bool = False
    sources: Sources = Field(default=(), max_length=MAX_SOURCES)


class FetchedSource(Event):
    """A page that came."""

    url: str
    title: str = ""


class SkippedSource(Event):
    """A page that did not come or held nothing, and why."""

    url: str
    reason: FetchFailure


class ExtractionCompleted(Event):
    """What became of an extraction: one of these for each ``ExtractionNeeded``.

    Attributes:
        failure: Why nothing came; null unless ``status`` is failed.
        fetched: Pages that went out as ``CrawledPage``.
        skipped: Pages that were wanted and did not come.
    """

    extraction_id: str
    batch_id: str | None = None
    request_id: str | None = None
    target_url: str
    status: ExtractionStatus
    failure: FetchFailure | None = None
    fetched: tuple[FetchedSource, ...] = ()
    skipped: tuple[SkippedSource, ...] = ()
    config_version: str = ""
