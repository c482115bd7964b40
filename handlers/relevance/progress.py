"""A snippet request on its way through its sources, one after the other, without a place where it is kept.

The events carry the request: all sources, with what became of those that had their turn. Whoever finishes a source
(the fetch that failed, the judgment) notes how it ended and sends the next one on, or completes the request. So each
step is a pure function of one record, and a request ends exactly once because each record is answered exactly once.
"""

from __future__ import annotations

from collections.abc import Iterable

from handlers.html.links import canonical_url
from schemas.event import derive_id
from schemas.extraction import ExtractionNeeded, ExtractionTrigger
from schemas.relevance import (
    RequestFailure,
    SnippetFailure,
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
    for url in urls:
        if address := url.strip():
            places.setdefault(canonical_url(address) or address, address)
    return tuple(_source(url, number < most) for number, url in enumerate(places.values()))


def settled(
    sources: Sources,
    url: str,
    outcome: SourceOutcome,
    title: str = "",
    snippet: str | None = None,
    failure: FetchFailure | SnippetFailure | None = None,
) -> Sources:
    """The sources with one that has had its turn."""
    done = {"outcome": outcome, "title": title, "snippet": snippet, "failure": failure}
    return tuple(
        source.model_copy(update=done) if source.url == url and source.outcome is SourceOutcome.PENDING else source
        for source in sources
    )


def go_on(request_id: str, query: str, sources: Sources, config_version: str) -> ExtractionNeeded | SnippetsCompleted:
    """The first source whose turn has not come, as a page to fetch; where there is none, the end of the request.

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


def _source(url: str, has_a_turn: bool) -> SnippetSource:
    if len(url) > MAX_URL_CHARACTERS:
        failure = FetchFailure.INVALID_URL
    elif has_a_turn:
        return SnippetSource(url=url)
    else:
        failure = FetchFailure.OVER_BUDGET
    return SnippetSource(url=url[:MAX_URL_CHARACTERS], outcome=SourceOutcome.NOT_FETCHED, failure=failure)
