"""The sections ``relevance_gate`` and ``domains`` of the configuration."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Self

from pydantic import Field, model_validator

from handlers.html.links import canonical_url
from handlers.html.snippet import SnippetLimits
from schemas.relevance import MAX_SOURCES
from schemas.rules import Section

MOST_CARRIED_CHARACTERS = 500_000
"""Of all snippets of a request together, so that with a page beside them they fit into a record."""


class RelevanceGateSection(Section):
    """How sources are judged and read."""

    max_sources: int = Field(ge=1, le=MAX_SOURCES, description="Sources of one request that are tried, in their order.")
    max_title_characters: int = Field(ge=1, le=1000, description="Of a title, as the judge sees it.")
    max_summary_characters: int = Field(ge=1, description="Of a summary, as the judge sees it.")
    least_coverage: float = Field(
        gt=0, le=1, description="Share of a query's terms from which on the offline judge calls a source relevant."
    )
    most_irrelevant_coverage: float = Field(
        ge=0,
        le=1,
        description="Share of them up to which it calls a source irrelevant that has some.",
    )
    plain_words: tuple[str, ...] = Field(description="Words of a query that say little, for the offline judge.")
    same_words: tuple[tuple[str, ...], ...] = Field(
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
