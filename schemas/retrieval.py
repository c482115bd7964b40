"""Retrieval batches, how their results were classified, and how the batch was evaluated.

Wire names are camelCase, as the source document gives them: ``retrieval.batches.v1``, ``results.classified.v1``,
``retrieval.evaluated.v1``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Literal

from pydantic import Field

from schemas.event import MAX_ITEMS, AnyUrl, CamelEvent, CamelPart, LenientUrl, Many, Score, Text, TextOrUrl
from schemas.evidence import Evidence
from schemas.instants import Instant
from schemas.llm import CamelLlmCall
from schemas.pages import SourceStanding
from schemas.replies import FetchFailure
from schemas.states import State

ContentKind = Literal["snippet", "full"]


class ResultType(StrEnum):
    """What a retrieved result is (R-020)."""

    SPECIFIC_CONTENT = "SPECIFIC_CONTENT"
    AGGREGATOR = "AGGREGATOR"
    NAVIGATION = "NAVIGATION"


class RetrievedContent(CamelPart):
    """One result of a search step.

    Attributes:
        url: Its address; a missing or malformed one does not prevent the classification (R-042).
        content: The text that the search step returned.
        html: The page, if the orchestrator has it.
        content_kind: Whether ``content`` is a search snippet or the full text (C-55).
        cts_score: The page's content trust score, 0 to 100, if known. ``classify_results`` adds that of the page in
            ``html``, else that of a listed or contested source.
    """

    url: LenientUrl = ""
    title: str | None = None
    content: str = ""
    html: str | None = None
    content_kind: ContentKind = "snippet"
    cts_score: float | None = Field(default=None, ge=0, le=100)


class SourceScores(CamelPart):
    """A judge's scores of one source. A missing score is derived from the batch's dimensions (R-061, C-08).

    Attributes:
        url: The source's address, as in the batch; a source that is not in the batch is ignored.
        relevance_score: How relevant it is.
        quality_score: How good it is.
    """

    url: TextOrUrl
    relevance_score: Score | None = None
    quality_score: Score | None = None


class JudgeScores(CamelPart):
    """The three dimensions that a judge gives; each in [0, 1].

    Attributes:
        sources: Scores of single sources, from a judge that gives them.
        gaps: What the query states or asks for and no result has.
    """

    context_recall: Score
    context_precision: Score
    source_quality: Score
    sources: Many[SourceScores] | None = None
    gaps: Many[str] = ()


class RetrievalBatch(CamelEvent):
    """The results of a search step for one query.

    Attributes:
        attempt: 1 for the first search; the batch of an extraction has its parent's number plus one.
        parent_batch_id: The batch whose listing was extracted.
        previous_actionable_information: The parent's score, with which the improvement is computed.
        judge_scores: Scores of the orchestrator's own judge, if it has one.
        requested_at: When the query was asked: "today" is that day. The record's timestamp is used without it.
    """

    time_field: ClassVar[str] = "requested_at"

    batch_id: Text = Field(min_length=1, max_length=512)
    query: Text
    goal: str | None = None
    required_fields: tuple[str, ...] | None = Field(default=None, max_length=MAX_ITEMS, fail_fast=True)
    attempt: int = Field(default=1, ge=1, le=100)
    parent_batch_id: str | None = None
    previous_actionable_information: Score | None = None
    retrieved_content: Many[RetrievedContent]
    judge_scores: JudgeScores | None = None
    request_id: str | None = None
    requested_at: Instant | None = None


class ClassifiedResult(CamelPart):
    """One result with its type, its actionable score inside the type's band (R-030), and why.

    Attributes:
        source: Whether a list has its source, none has, or a public list contests it; null without a web address.
        state: Content, or why the result has none; then it is NAVIGATION, and only a log-in page has a score.
        evidence: The details of its text in their order. Offsets are into the text that was classified, of which
            ``retrieved_content`` has the beginning.
    """

    url: AnyUrl
    page_id: str | None = None
    state: State = State.CONTENT
    result_type: ResultType
    actionable_score: Score
    confidence: Score
    content_kind: ContentKind
    source: SourceStanding | None = None
    reasons: Many[str]
    evidence: Many[Evidence]


class ResultCounts(CamelPart):
    """How many results of the batch are of each type (R-039)."""

    specific_content: int = 0
    aggregator: int = 0
    navigation: int = 0


class ExtractionTarget(CamelPart):
    """A listing whose detail pages are requested (R-067).

    Attributes:
        url: The listing's address, as the result has it.
        extraction_id: Id of its ``ExtractionNeeded`` and of the ``ExtractionCompleted`` that answers it.
        skipped: Why no ``ExtractionNeeded`` was sent for it: ``over_budget``; null if one was sent.
    """

    url: AnyUrl
    page_id: str | None = None
    extraction_id: str
    skipped: FetchFailure | None = None


class ResultsClassified(CamelEvent):
    """A batch with every distinct result classified, and whether its listings should be fetched.

    Attributes:
        results: One for each distinct result: results with the same canonical address are merged into the first.
        duplicates: Results of the batch that were merged into an earlier one.
        actionable_information: Mean actionable score, 0 for an empty batch (R-042, R-054).
        confidence: Mean confidence of the results, 0 for an empty batch.
        needs_extraction: Below the threshold, strictly more than half are listings (R-055, C-07), and at least one of
            them is fetched: its address can be visited, and attempt and budget allow it.
        needs_render: Pages without text that scripts make in a browser.
        extraction_reason: The verdict in words (R-057); null where no extraction is needed.
        extraction_targets: The listings, in the order of the results; empty where no extraction is needed. An
            orchestrator waits for one ``ExtractionCompleted`` for each that is not skipped.
        improvement: Change against the parent's score; null on a first attempt.
        retrieved_content: The distinct results, in the order of ``results``, with what a judge of the batch is shown:
            no HTML, and of each text the beginning. A result that a judge is not shown has an empty text. The text of
            the HTML is in ``content`` if ``content`` was empty or the page says more.
        fallback_scores: The three dimensions by the words of the query and the whole texts, for a batch whose judge
            fails. Null if ``judge_scores`` is given.
    """

    batch_id: str
    query: str
    attempt: int = Field(ge=1)
    parent_batch_id: str | None = None
    request_id: str | None = None
    requested_at: Instant | None = None
    results: Many[ClassifiedResult]
    duplicates: int = Field(ge=0)
    counts: ResultCounts
    actionable_information: Score
    confidence: Score
    needs_extraction: bool
    needs_render: Many[AnyUrl] = ()
    extraction_reason: str | None = None
    extraction_targets: Many[ExtractionTarget]
    improvement: float | None = None
    retrieved_content: Many[RetrievedContent]
    judge_scores: JudgeScores | None = None
    fallback_scores: JudgeScores | None = None
    config_version: str


class RetrievalScores(CamelPart):
    """The four dimensions of a batch, each in [0, 1] (R-050)."""

    context_recall: Score
    context_precision: Score
    source_quality: Score
    actionable_information: Score


class ScoreSource(StrEnum):
    """The origin of recall, precision and quality."""

    GIVEN = "given"
    MODEL = "model"
    FALLBACK = "fallback"


class SourceDetail(CamelPart):
    """The evaluation of one source (R-061).

    Attributes:
        score_source: The origin of this source's own scores; null if they come from the batch's dimensions (C-08).
        quality_source: ``cts`` if the quality is the page's content trust score over 100 (C-54); else null.
    """

    url: AnyUrl
    page_id: str | None = None
    relevance_score: Score
    quality_score: Score
    result_type: ResultType
    actionable_score: Score
    score_source: ScoreSource | None = None
    quality_source: Literal["cts"] | None = None


class NextStep(StrEnum):
    """What the verdict asks an orchestrator to do."""

    ANSWER = "answer"
    ANSWER_FROM_ITEMS = "answer_from_items"
    AWAIT_EXTRACTION = "await_extraction"
    RENDER = "render"
    SIGN_IN = "sign_in"
    SEARCH_AGAIN = "search_again"


class RetrievalEvaluated(CamelEvent):
    """The verdict on a batch (R-058): passed when every dimension reaches its threshold (C-09).

    Attributes:
        next_step: ``answer`` if the batch passed; ``await_extraction`` while listings are being fetched, until each
            target that is not skipped has its ``ExtractionCompleted``; ``answer_from_items`` if the batch would pass
            without its listings and navigation, so its ``SPECIFIC_CONTENT`` is enough; ``render`` if the pages of
            ``needs_render`` may answer in a browser; ``sign_in`` if each result is behind a login or a paywall;
            otherwise ``search_again`` with another query.
        gaps: What the query states or asks for and no result has; of a batch that did not pass.
        needs_render: Pages without text that scripts make in a browser.
        extraction_targets: As in ``ResultsClassified``.
        reasons: The contested sources among the results, each with the list that contests it.
        score_source: The origin of recall, precision and quality; the fallback if a judge failed or is missing.
        llm: The call of a judge, the offline one included; null if no judge was asked.
    """

    batch_id: str
    query: str
    attempt: int = Field(ge=1)
    parent_batch_id: str | None = None
    request_id: str | None = None
    passed: bool
    scores: RetrievalScores
    overall_score: Score
    severe_failure: bool
    score_source: ScoreSource
    source_details: tuple[SourceDetail, ...]
    next_step: NextStep
    needs_render: Many[AnyUrl] = ()
    needs_extraction: bool
    extraction_reason: str | None = None
    extraction_targets: Many[ExtractionTarget]
    improvement: float | None = None
    gaps: Many[str] = ()
    reasons: Many[str] = ()
    llm: CamelLlmCall | None = None
    config_version: str
