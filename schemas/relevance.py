"""Whether a source is worth reading for a query, and what it says: ``relevance.*.v1`` and ``snippets.extracted.v1``."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from schemas.event import Event, Text
from schemas.llm import LlmCall
from schemas.pages import MAX_PAGE_BYTES


class RelevanceOutcome(StrEnum):
    """How a judgment ended. Everything but ``relevant`` keeps the source out; only the first two are opinions."""

    RELEVANT = "relevant"
    IRRELEVANT = "irrelevant"
    ERROR = "error"
    TIMEOUT = "timeout"
    NO_EVIDENCE = "no_evidence"
    UNPARSED = "unparsed"


class SnippetFailure(StrEnum):
    """Why a relevant source has no snippet."""

    NO_MEANINGFUL_CONTENT = "no_meaningful_content"


class RelevanceRequested(Event):
    """A source that was brought home, to be judged for a query by its title and summary (R-110 to R-116).

    Attributes:
        title: Used where the page itself shows none.
        html: The page as fetched.
        content: Its text, where there is no HTML.
    """

    request_id: Text = Field(min_length=1, max_length=512)
    query: Text = Field(min_length=1, max_length=20_000)
    url: Text = Field(min_length=1, max_length=8192)
    title: Text = Field(default="", max_length=20_000)
    html: str | None = Field(default=None, max_length=MAX_PAGE_BYTES)
    content: str | None = Field(default=None, max_length=MAX_PAGE_BYTES)


class RelevanceJudged(Event):
    """A judgment (R-130). ``raw`` is the reply as it came, where there was one."""

    request_id: str
    url: str
    relevant: bool
    outcome: RelevanceOutcome
    raw: str | None = Field(default=None, max_length=2000)
    llm: LlmCall | None = None
    config_version: str = ""


class SnippetExtracted(Event):
    """What a relevant source says, or why nothing: one of ``snippet`` and ``failure`` is null (R-124, R-125)."""

    request_id: str
    url: str
    title: str
    snippet: str | None = None
    failure: SnippetFailure | None = None
    config_version: str = ""
