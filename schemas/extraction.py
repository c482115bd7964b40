"""Listings to follow, and the results: ``extraction.needed.v1`` and ``extraction.completed.v1``."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from pydantic import ConfigDict, Field, model_validator

from schemas.event import Event, Part, Score, Text, Url
from schemas.field_rules import NULL, one_case
from schemas.instants import Instant
from schemas.relevance import MAX_SOURCES, Sources
from schemas.replies import FetchFailure


class ExtractionTrigger(StrEnum):
    """The reason for fetching pages."""

    AGGREGATOR_DETECTED = "aggregator_detected"
    SNIPPET_REQUESTED = "snippet_requested"


class ExtractionStatus(StrEnum):
    """How many of the requested pages were fetched."""

    OK = "ok"
    PARTIAL = "partial"
    FAILED = "failed"


class ExtractionNeeded(Event):
    """A page to fetch. The key is the target's registrable domain, so one worker at a time visits a domain.

    Attributes:
        extraction_id: Derived from the trigger and the target: a redelivery has the same id.
        batch_id: The batch with this listing; the fetched details come back as a new batch.
        extraction_reason: The verdict in words (R-057).
        follow: True if the target is a listing whose detail pages are requested; false if it is itself the answer.
        attempt: The attempt number of the triggering batch, which is limited (C-11); 1 for a snippet request.
        actionable_information: That batch's score, with which the next attempt is compared.
        max_details: Largest number of detail pages.
        sources: All sources of the snippet request that the target belongs to, with the outcome of the earlier ones.
        answer_by: The deadline of the snippet request; null without one.
    """

    extraction_id: Text = Field(min_length=1, max_length=512)
    batch_id: str | None = None
    request_id: str | None = None
    query: Text
    reason: ExtractionTrigger
    extraction_reason: str = ""
    target_url: Url
    page_id: str | None = None
    follow: bool = True
    attempt: int = Field(default=1, ge=1)
    actionable_information: Score | None = None
    max_details: int = Field(default=5, ge=1, le=100)
    sources: Sources = Field(default=(), max_length=MAX_SOURCES)
    answer_by: Instant | None = None


class FetchedSource(Part):
    """A page that was fetched."""

    url: Url
    page_id: str | None = None
    title: str


class SkippedSource(Part):
    """A page that was not fetched or had no content, and why."""

    url: Url
    page_id: str | None = None
    reason: FetchFailure


class ForwardedTarget(Part):
    """A detail page on another domain, and the id of its own extraction."""

    url: Url
    page_id: str | None = None
    extraction_id: str


class ExtractionCompleted(Event):
    """The result of an extraction: one for each ``ExtractionNeeded``.

    Attributes:
        next_batch_id: The batch with the fetched details, which has its own verdict; null if no detail was fetched.
        forwarded: Details on other domains, for each of which another worker sends an ``ExtractionCompleted``.
        failure: Why no page was fetched; given if ``status`` is failed, else null.
        fetched: Pages that were published as ``CrawledPage``.
        skipped: Requested pages that were not fetched.
    """

    model_config = ConfigDict(
        json_schema_extra=one_case(
            {"status": {"enum": [ExtractionStatus.OK.value, ExtractionStatus.PARTIAL.value]}, "failure": NULL},
            {"status": {"const": ExtractionStatus.FAILED.value}, "failure": {"type": "string"}},
        )
    )

    extraction_id: str
    batch_id: str | None = None
    request_id: str | None = None
    target_url: Url
    page_id: str | None = None
    next_batch_id: str | None = None
    forwarded: tuple[ForwardedTarget, ...]
    status: ExtractionStatus
    failure: FetchFailure | None = None
    fetched: tuple[FetchedSource, ...]
    skipped: tuple[SkippedSource, ...]
    config_version: str

    @model_validator(mode="after")
    def _fails_for_a_reason(self) -> Self:
        if (self.status is ExtractionStatus.FAILED) != (self.failure is not None):
            raise ValueError("a failed extraction has failure, and no other has")
        return self
