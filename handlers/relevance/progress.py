"""A snippet request and its sources, which are fetched and judged one after the other.

The events carry the request: all its sources, with the outcome of those that are done. The handler that finishes a
source (the fetch that failed, the judgment) sets its outcome and asks for the next one, or completes the request. Each
step is a pure function of one record, so a request ends exactly once.
"""

from __future__ import annotations

from collections.abc import Iterable

from handlers.html.detail import Detail
from handlers.html.encoding import page_bytes
from handlers.html.links import canonical_url
from handlers.prompts.untrusted import cleaned
from schemas.event import derive_id
from schemas.extraction import ExtractionNeeded, ExtractionTrigger
from schemas.relevance import (
    MAX_ID_CHARACTERS,
    MAX_QUERY_CHARACTERS,
    RelevanceRequested,
    RequestFailure,
    SnippetsCompleted,
    SnippetSource,
    SourceOutcome,
    Sources,
)
from schemas.replies import FetchFailure

MAX_URL_CHARACTERS = 8192


def sources_of(urls: Iterable[str], most: int) -> Sources:
    """The sources of a new request: each page once, those beyond ``most`` refused as over budget.

    >>> [str(source.outcome) for source in sources_of(["https://a.example/", "https://a.example/#top", "x"], 1)]
    ['pending', 'not_fetched']
    """
    places: dict[str, str] = {}
    for address in filter(None, map(str.strip, urls)):
        places.setdefault(canonical_url(address) or address, address)
    sources = []
    for number, url in enumerate(places.values()):
        too_long = len(url) > MAX_URL_CHARACTERS
        if not too_long and number < most:
            sources.append(SnippetSource(url=url))
            continue
        failure = FetchFailure.INVALID_URL if too_long else FetchFailure.OVER_BUDGET
        url = url[:MAX_URL_CHARACTERS]
        sources.append(SnippetSource(url=url, outcome=SourceOutcome.NOT_FETCHED, failure=failure))
    return tuple(sources)


def settled(sources: Sources, url: str, outcome: SourceOutcome, **said: str | None) -> Sources:
    """The sources with the outcome of one that is done, and its ``title``, ``snippet`` and ``failure``, if given."""
    return tuple(
        source.model_copy(update={"outcome": outcome, **said})
        if source.url == url and source.outcome is SourceOutcome.PENDING
        else source
        for source in sources
    )


def go_on(request_id: str, query: str, sources: Sources, config_version: str) -> ExtractionNeeded | SnippetsCompleted:
    """The first pending source as a page to fetch; without one, the end of the request.

    The extraction's id derives from the request and the address, so a redelivery asks for the same again.
    """
    pending = next((source for source in sources if source.outcome is SourceOutcome.PENDING), None)
    if pending is None:
        return completed(request_id, query, sources, config_version)
    return ExtractionNeeded(
        extraction_id=derive_id("snippet", request_id, pending.url),
        request_id=request_id,
        query=query,
        reason=ExtractionTrigger.SNIPPET_REQUESTED,
        target_url=pending.url,
        follow=False,
        hop=0,
        max_details=1,
        sources=sources,
    )


def completed(
    request_id: str, query: str, sources: Sources, config_version: str, failure: RequestFailure | None = None
) -> SnippetsCompleted:
    """The end of a request."""
    return SnippetsCompleted(
        request_id=request_id, query=query, sources=sources, failure=failure, config_version=config_version
    )


def to_be_judged(event: ExtractionNeeded, detail: Detail, max_html_characters: int) -> RelevanceRequested:
    """A fetched source, to be judged for its query. A page longer than ``max_html_characters`` goes on as its text."""
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
    """What a request goes on with after a source that was not fetched; nothing outside of a request."""
    if not event.sources:
        return ()
    sources = settled(event.sources, event.target_url, SourceOutcome.NOT_FETCHED, failure=failure)
    return (go_on(_request_of(event), event.query, sources, config_version),)


def _request_of(event: ExtractionNeeded) -> str:
    """The id of the request; outside of a request that of the extraction."""
    given = event.request_id or ""
    return given if 0 < len(given) <= MAX_ID_CHARACTERS and "\x00" not in given else event.extraction_id
