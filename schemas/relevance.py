"""Whether a source is worth reading for a query, and what it says: ``snippets.*.v1`` and ``relevance.*.v1``."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from schemas.event import Event, Many, Part, Text, TextOrUrl, Url
from schemas.field_rules import NULL, one_case
from schemas.instants import Instant
from schemas.llm import LlmCall
from schemas.pages import MAX_PAGE_BYTES
from schemas.replies import FetchFailure

MAX_QUERY_CHARACTERS = 20_000
MAX_ID_CHARACTERS = 512
MAX_SOURCES = 100
"""Per request; the configuration limits how many of them are tried."""
MAX_REQUEST_CHARACTERS = 1_000_000
"""Limit of a request's texts. A text above ``MAX_QUERY_CHARACTERS`` is refused in an answer, not as a dead letter."""
MAX_SNIPPET_CHARACTERS = 20_000


class RelevanceOutcome(StrEnum):
    """How a judgment ended. Everything but ``relevant`` keeps the source out; only the first two are opinions.

    ``undecided``: the offline judge compares words, and these do not show whether the source is relevant.
    """

    RELEVANT = "relevant"
    IRRELEVANT = "irrelevant"
    UNDECIDED = "undecided"
    ERROR = "error"
    TIMEOUT = "timeout"
    NO_EVIDENCE = "no_evidence"
    UNPARSED = "unparsed"


class SourceOutcome(StrEnum):
    """The state of a source of a request: its judgment, or why it has no judgment."""

    PENDING = "pending"
    NOT_FETCHED = "not_fetched"
    NOT_JUDGED = "not_judged"
    RELEVANT = "relevant"
    IRRELEVANT = "irrelevant"
    UNDECIDED = "undecided"
    ERROR = "error"
    TIMEOUT = "timeout"
    NO_EVIDENCE = "no_evidence"
    UNPARSED = "unparsed"


class SnippetFailure(StrEnum):
    """Why a relevant source has no snippet."""

    NO_MEANINGFUL_CONTENT = "no_meaningful_content"


class RequestFailure(StrEnum):
    """Why no source of a request was tried; ``too_large``: its query is too long, or its sources are too many."""

    NO_QUERY = "no_query"
    UNKNOWN_DOMAIN = "unknown_domain"
    NO_SOURCES = "no_sources"
    TOO_LARGE = "too_large"


class SnippetSource(Part):
    """A source of a request, and its state.

    Attributes:
        outcome: ``pending`` until its turn; never ``pending`` in ``SnippetsCompleted``.
        title: The page's title; "" if the page was not read.
        snippet: The extracted text; only a relevant source has one.
        failure: Why it was not fetched, or why a relevant source has no snippet.
    """

    url: Url
    page_id: str | None = None
    outcome: SourceOutcome = SourceOutcome.PENDING
    title: Text = Field(default="", max_length=MAX_QUERY_CHARACTERS)
    snippet: Text | None = Field(default=None, max_length=MAX_SNIPPET_CHARACTERS)
    failure: FetchFailure | SnippetFailure | None = None


Sources = tuple[SnippetSource, ...]


class SnippetsRequested(Event):
    """Requests what approved sources say about a query (R-112, R-135).

    Attributes:
        query: The search query.
        context: The user's own words; if given, sources are judged by these and not by ``query``.
        domain: The name of a list of approved sources. With neither ``domain`` nor ``urls``, each list counts whose
            name or title shares a word with the query.
        urls: The sources themselves, instead of a list; an empty list means no sources.
        deadline_seconds: While no model can be asked, a request waits. So long after ``requested_at`` it is completed
            instead, and its pending sources are ``not_judged``. Without it, a request waits until a model answers.
        requested_at: The record's timestamp is used without it.

    A request with a query of more than ``MAX_QUERY_CHARACTERS`` or with more than ``MAX_SOURCES`` addresses is
    completed as too large.
    """

    time_field: ClassVar[str] = "requested_at"

    request_id: Text = Field(min_length=1, max_length=MAX_ID_CHARACTERS)
    query: Text | None = Field(default=None, max_length=MAX_REQUEST_CHARACTERS)
    context: Text | None = Field(default=None, max_length=MAX_REQUEST_CHARACTERS)
    domain: Text | None = Field(default=None, max_length=MAX_REQUEST_CHARACTERS)
    urls: Many[TextOrUrl] | None = None
    deadline_seconds: float | None = Field(default=None, gt=0, le=31_536_000)
    requested_at: Instant | None = None


class Paragraph(Part):
    """A paragraph of a page's main text, an item of a list, or a row of a table with ``|`` between its cells."""

    kind: Literal["text", "item", "row"] = "text"
    text: str


class RelevanceRequested(Event):
    """A source, to be judged for a query by its title and summary (R-110 to R-116).

    An application sends the page in ``html`` or ``content``. ``fetch_page`` sends ``summary`` and ``paragraphs``, as it
    read them from the page.

    Attributes:
        title: The page's title; with ``html``, it is used if the page itself has no title.
        html: The page as fetched.
        content: Its text, if there is no HTML.
        summary: Its description or first words; read only with ``paragraphs``.
        paragraphs: Its main text. If given, ``html`` and ``content`` are not read.
        content_hash: SHA-256 of the page that ``paragraphs`` come from.
        sources: All sources of the snippet request that this one belongs to, with the state of the earlier ones. Empty
            if no request waits for this judgment.
        requested_at: When the query was asked: "today" is that day. The record's timestamp is used without it.
        answer_by: The deadline of the snippet request; null if it waits until a model answers.
    """

    time_field: ClassVar[str] = "requested_at"

    request_id: Text = Field(min_length=1, max_length=MAX_ID_CHARACTERS)
    query: Text = Field(max_length=MAX_QUERY_CHARACTERS)
    url: Url
    page_id: str | None = None
    title: Text = Field(default="", max_length=MAX_QUERY_CHARACTERS)
    html: str | None = Field(default=None, max_length=MAX_PAGE_BYTES)
    content: str | None = Field(default=None, max_length=MAX_PAGE_BYTES)
    summary: str | None = Field(default=None, max_length=MAX_QUERY_CHARACTERS)
    paragraphs: Many[Paragraph] | None = None
    content_hash: str | None = Field(default=None, max_length=64)
    sources: Sources = Field(default=(), max_length=MAX_SOURCES)
    requested_at: Instant | None = None
    answer_by: Instant | None = None


class RelevanceJudged(Event):
    """A judgment (R-130).

    Attributes:
        reasons: What of the query title, summary and address have and what they lack; a model's word may differ.
        detail: What went wrong with a call that failed.
        summary_failure: Why the page could not be read for a summary; it is judged by what else there is (R-115).
    """

    request_id: str
    url: Url
    page_id: str | None = None
    relevant: bool
    outcome: RelevanceOutcome
    reasons: Many[str] = ()
    detail: str | None = None
    summary_failure: str | None = None
    llm: LlmCall | None = None
    config_version: str


class SnippetExtracted(Event):
    """The snippet of a relevant source, or why it has no snippet (R-124, R-125).

    ``outcome`` says which of the two it is: ``extracted`` with ``snippet``, or ``failed`` with ``failure``; the other
    one is null. ``content_hash`` is the SHA-256 of the content that was read. For one address, hash and
    ``config_version`` the snippet never changes, so readers may cache it by these (R-131).
    """

    model_config = ConfigDict(
        json_schema_extra=one_case(
            {"outcome": {"const": "extracted"}, "snippet": {"type": "string"}, "failure": NULL},
            {"outcome": {"const": "failed"}, "snippet": NULL, "failure": {"type": "string"}},
        )
    )

    request_id: str
    url: Url
    page_id: str | None = None
    title: str
    outcome: Literal["extracted", "failed"]
    snippet: str | None = None
    failure: SnippetFailure | None = None
    content_hash: str
    config_version: str

    @model_validator(mode="after")
    def _is_one_case(self) -> Self:
        extracted = self.outcome == "extracted"
        if (self.snippet is not None, self.failure is not None) != (extracted, not extracted):
            raise ValueError("an extracted snippet has snippet, a failed one has failure, and neither has both")
        return self


class SnippetsCompleted(Event):
    """A request is done: what became of every source, in the order asked (R-127).

    ``failure`` says why there are no sources; it is null where some were tried.
    """

    request_id: str
    query: str
    sources: Sources
    failure: RequestFailure | None = None
    config_version: str
