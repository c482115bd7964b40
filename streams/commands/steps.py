"""Pure steps that ``assay try`` runs by themselves: one line of JSON in, one bare answer out.

A step is a part of a handler that people want to look at alone: which links of a listing are its items, and what a
source's snippet is. What is read is lenient: unknown fields are ignored, absent ones have a default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from handlers.html.encoding import page_bytes
from handlers.html.snippet import SourcePage, begin, extract_snippet
from handlers.listings.listing import follow_listing
from schemas.outcome import Dead, DeadReason
from schemas.pages import Body
from schemas.relevance import SnippetFailure
from streams.codec import MAX_DETAIL, refusal
from streams.settings import Settings

Step = Callable[[bytes], dict[str, Any] | Dead]
"""A line to its answer."""


class ListingInput(BaseModel):
    """What the step ``follow_listing`` reads."""

    model_config = ConfigDict(extra="ignore")

    url: str
    html: str
    query: str = ""
    max_details: int = Field(default=5, ge=1, le=10_000)


class SnippetInput(BaseModel):
    """What the step ``extract_snippet`` reads: a source to be judged, or a crawled page."""

    model_config = ConfigDict(extra="ignore")

    url: str = ""
    title: str | None = None
    html: str | None = None
    html_base64: Body | None = None
    content_type: str | None = None
    content: str | None = None

    def page(self) -> str | None:
        """The HTML, where there is some."""
        if self.html is None and self.html_base64 is not None:
            return page_bytes(self.html_base64, self.content_type).utf8.decode("utf-8", "replace")
        return self.html


I = TypeVar("I", bound=BaseModel)  # noqa: E741 - what a step reads


def _listing(settings: Settings) -> Step:
    def answer(asked: ListingInput) -> dict[str, Any]:
        found = follow_listing(
            asked.html, asked.url, asked.query, asked.max_details, settings.listing, settings.page_reading
        )
        links = [{"url": link.url, "text": link.text, "because": link.because} for link in found.links]
        return {"links": links, "next_page": found.next_page}

    return _step(ListingInput, answer)


def _snippet(settings: Settings) -> Step:
    reading, limits = settings.page_reading, settings.relevance_gate.snippet

    def answer(asked: SnippetInput) -> dict[str, Any]:
        page = SourcePage(asked.page(), asked.content, asked.title or "", reading)
        seen, snippet = begin(page, limits), extract_snippet(page, limits) or None
        return {
            "url": asked.url,
            "title": seen.title,
            "summary": seen.summary,
            "snippet": snippet,
            "failure": None if snippet else str(SnippetFailure.NO_MEANINGFUL_CONTENT),
        }

    return _step(SnippetInput, answer)


def _step(kind: type[I], answer: Callable[[I], dict[str, Any]]) -> Step:
    def step(line: bytes) -> dict[str, Any] | Dead:
        try:
            asked = kind.model_validate_json(line)
        except ValidationError as error:
            return refusal(error)
        try:
            return answer(asked)
        except Exception as error:
            return Dead(DeadReason.HANDLER_BUG, f"{type(error).__name__}: {error}"[:MAX_DETAIL])

    return step


STEPS: Mapping[str, Callable[[Settings], Step]] = {"follow_listing": _listing, "extract_snippet": _snippet}
"""Pure steps that can be tried by themselves, each made under a configuration."""
