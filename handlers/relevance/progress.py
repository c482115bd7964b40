"""A snippet request and its sources, which are fetched and judged one after the other, and the sections for both.

The events carry the request: all its sources, with the outcome of those that are done. The handler that finishes a
source (the fetch that failed, the judgment) sets its outcome and asks for the next one, or completes the request. Each
step is a pure function of one record, so a request ends exactly once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import cached_property
from typing import Annotated, Self

from pydantic import Field, model_validator

from handlers.html.encoding import page_bytes
from handlers.html.links import canonical_url, page_id_of
from handlers.html.read_page import Detail
from handlers.html.snippet import SnippetLimits, begin, paragraphs_of
from handlers.prompts.untrusted import cleaned
from handlers.text.patterns import WordList
from schemas.addresses import MAX_URL
from schemas.event import MAX_ITEMS, derive_id
from schemas.extraction import ExtractionNeeded, ExtractionTrigger
from schemas.relevance import (
    MAX_ID_CHARACTERS,
    MAX_QUERY_CHARACTERS,
    MAX_SOURCES,
    Paragraph,
    RelevanceRequested,
    RequestFailure,
    SnippetsCompleted,
    SnippetSource,
    SourceOutcome,
    Sources,
)
from schemas.replies import FetchFailure
from schemas.rules import Section

MOST_CARRIED_CHARACTERS = 500_000
"""Of all snippets of a request together, so that with a page beside them they fit into a record."""


class RelevanceGateSection(Section):
    """How sources are judged and read."""

    max_sources: int = Field(ge=1, le=MAX_SOURCES, description="Sources of one request that are tried, in their order.")
    max_title_characters: int = Field(ge=1, le=1000, description="Of a title, as the judge sees it.")
    max_summary_characters: int = Field(
        ge=1, le=MAX_QUERY_CHARACTERS, description="Of a summary, as the judge sees it."
    )
    least_coverage: float = Field(
        gt=0,
        le=1,
        description="Share of a long query's words, weighed by rarity, that a source must have to be relevant for "
        "the offline judge; of a short query it must have all that are not frequent.",
    )
    most_irrelevant_coverage: float = Field(
        ge=0,
        le=1,
        description="Share of them, without names, up to which it calls a source irrelevant that has some.",
    )
    same_words: tuple[WordList, ...] = Field(
        description="Groups of words and phrases of which each meets the others in a query, for the offline judge."
    )
    snippet: SnippetLimits = Field(description="Sizes of summaries and snippets.")

    @cached_property
    def synonyms(self) -> dict[str, tuple[str, ...]]:
        """The others of its group by each word and phrase of ``same_words``."""
        found: dict[str, tuple[str, ...]] = {}
        for group in self.same_words:
            for word in group:
                found[word] = (*found.get(word, ()), *(other for other in group if other != word))
        return found

    @model_validator(mode="after")
    def _request_fits_into_one_event(self) -> Self:
        if self.max_sources * self.snippet.max_characters > MOST_CARRIED_CHARACTERS:
            raise ValueError(
                f"max_sources times snippet.max_characters is more than {MOST_CARRIED_CHARACTERS}, "
                "and a request's snippets travel in one event"
            )
        return self


class ApprovedDomain(Section):
    """A field of knowledge with the sources that were approved for it (R-135)."""

    title: str = Field(default="", max_length=200, description="What the field is, for people.")
    relevantSources: tuple[Annotated[str, Field(max_length=8192)], ...] = Field(  # noqa: N815 - the source's own name
        min_length=1, max_length=MAX_SOURCES, description="Addresses, tried one by one in this order."
    )

    @model_validator(mode="after")
    def _checked(self) -> Self:
        pages = [canonical_url(url) for url in self.relevantSources]
        for url, page in zip(self.relevantSources, pages, strict=True):
            if page is None:
                raise ValueError(f"{url!r} is no http(s) address")
            if pages.count(page) > 1:
                raise ValueError(f"{url!r} is there twice")
        return self


Domains = dict[str, ApprovedDomain]
"""The ``domains`` section of ``config/domains.yaml``: fields of knowledge by the name that requests use."""


def sources_of(urls: Iterable[str], most: int) -> Sources:
    """The sources of a new request: each page once, those beyond ``most`` refused as over budget.

    >>> [str(source.outcome) for source in sources_of(["https://a.example/", "https://a.example/#top", "x"], 1)]
    ['pending', 'not_fetched']
    """
    places: dict[str, str] = {}
    for address in filter(None, map(str.strip, urls)):
        places.setdefault(canonical_url(address) or address, address)
    sources = []
    for number, whole in enumerate(places.values()):
        url, failure = whole[:MAX_URL], FetchFailure.OVER_BUDGET if number >= most else None
        page_id = page_id_of(whole)
        failure = failure if page_id else FetchFailure.INVALID_URL
        outcome = SourceOutcome.NOT_FETCHED if failure else SourceOutcome.PENDING
        sources.append(SnippetSource(url=url, page_id=page_id, outcome=outcome, failure=failure))
    return tuple(sources)


def settled(sources: Sources, url: str, outcome: SourceOutcome, **said: str | None) -> Sources:
    """The sources with the outcome of one that is done, and its ``title``, ``snippet`` and ``failure``, if given."""
    return tuple(
        source.model_copy(update={"outcome": outcome, **said})
        if source.url == url and source.outcome is SourceOutcome.PENDING
        else source
        for source in sources
    )


def go_on(
    request_id: str, query: str, sources: Sources, config_version: str, answer_by: datetime | None = None
) -> ExtractionNeeded | SnippetsCompleted:
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
        page_id=page_id_of(pending.url),
        follow=False,
        max_details=1,
        sources=sources,
        answer_by=answer_by,
    )


def completed(
    request_id: str, query: str, sources: Sources, config_version: str, failure: RequestFailure | None = None
) -> SnippetsCompleted:
    """The end of a request."""
    return SnippetsCompleted(
        request_id=request_id, query=query, sources=sources, failure=failure, config_version=config_version
    )


def to_be_judged(
    event: ExtractionNeeded,
    detail: Detail,
    gate: RelevanceGateSection,
    max_text_characters: int,
) -> RelevanceRequested:
    """A fetched source, to be judged for its query: its title, its summary and so much of its main text."""
    html = page_bytes(detail.page.body, detail.page.content_type).utf8.decode("utf-8", "replace")
    seen = begin(detail.content, "", "", gate.snippet)
    paragraphs = paragraphs_of(detail.content, "", gate.snippet)
    return RelevanceRequested(
        request_id=_request_of(event),
        query=event.query[:MAX_QUERY_CHARACTERS],
        url=event.target_url,
        page_id=page_id_of(event.target_url),
        title=cleaned(seen.title, gate.max_title_characters),
        summary=cleaned(seen.summary, gate.max_summary_characters),
        paragraphs=tuple(_within(paragraphs, max_text_characters))[:MAX_ITEMS],
        content_hash=content_hash(html),
        sources=event.sources,
        answer_by=event.answer_by,
    )


def _within(paragraphs: Sequence[Paragraph], most: int) -> Iterator[Paragraph]:
    """Paragraphs with so many characters together; the last one is cut."""
    for paragraph in paragraphs:
        if paragraph.text and most > 0:
            yield paragraph.model_copy(update={"text": paragraph.text[:most]})
            most -= len(paragraph.text)


def content_hash(content: str) -> str:
    """The SHA-256 of a page or text."""
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()


def without_source(
    event: ExtractionNeeded, failure: FetchFailure, config_version: str
) -> tuple[ExtractionNeeded | SnippetsCompleted, ...]:
    """What a request goes on with after a source that was not fetched; nothing outside of a request."""
    if not event.sources:
        return ()
    sources = settled(event.sources, event.target_url, SourceOutcome.NOT_FETCHED, failure=failure)
    return (go_on(_request_of(event), event.query, sources, config_version, event.answer_by),)


def _request_of(event: ExtractionNeeded) -> str:
    """The id of the request; outside of a request that of the extraction."""
    given = event.request_id or ""
    return given if 0 < len(given) <= MAX_ID_CHARACTERS and "\x00" not in given else event.extraction_id
