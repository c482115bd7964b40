"""A fetched source on its way to the gate, and a request that goes on without a source that did not come."""

from __future__ import annotations

from handlers.html.detail import Detail
from handlers.html.encoding import page_bytes
from handlers.prompts.untrusted import cleaned
from handlers.relevance.progress import go_on, settled
from schemas.extraction import ExtractionNeeded
from schemas.relevance import (
    MAX_ID_CHARACTERS,
    MAX_QUERY_CHARACTERS,
    RelevanceRequested,
    SnippetsCompleted,
    SourceOutcome,
)
from schemas.replies import FetchFailure


def to_be_judged(event: ExtractionNeeded, detail: Detail, max_html_characters: int) -> RelevanceRequested:
    """A source that came, to be judged for the query it was fetched for.

    Args:
        event: What asked for the source.
        detail: The page.
        max_html_characters: A longer page goes on as its text, so that the event stays small enough for its topic.
    """
    html = page_bytes(detail.page.body, detail.page.content_type).utf8.decode("utf-8", "replace")
    fits = len(html) <= max_html_characters
    return RelevanceRequested(
        request_id=_request_of(event),
        query=event.query[:MAX_QUERY_CHARACTERS],
        url=event.target_url,
        title=cleaned(detail.content.title, MAX_QUERY_CHARACTERS),
        html=html if fits else None,
        content=None if fits else detail.content.text[:max_html_characters],
        sources=event.sources,
    )


def without_source(
    event: ExtractionNeeded, failure: FetchFailure, config_version: str
) -> tuple[ExtractionNeeded | SnippetsCompleted, ...]:
    """What a request goes on with after a source that did not come; nothing where no request waits for it."""
    if not event.sources:
        return ()
    sources = settled(event.sources, event.target_url, SourceOutcome.NOT_FETCHED, failure=failure)
    return (go_on(_request_of(event), event.query, sources, config_version),)


def _request_of(event: ExtractionNeeded) -> str:
    """The request's id; the extraction's own where somebody asked for a source outside of a request."""
    given = event.request_id or ""
    return given if 0 < len(given) <= MAX_ID_CHARACTERS and "\x00" not in given else event.extraction_id
