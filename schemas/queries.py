"""Queries: ``ranking.requested.v1``, with filters and optional candidates.

Validation is lenient where one invalid field would otherwise discard a whole request, and strict where leniency would
admit results that a filter should exclude.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar

from pydantic import (
    AliasChoices,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
)

from schemas.event import Event, Many, Part, Text, Url
from schemas.instants import Instant
from schemas.pages import ONE_OR_MANY, SourceTier, Tier

MAX_QUERY_CHARACTERS = 4_000
MAX_ID_CHARACTERS = 512
MAX_CANDIDATES = 200
"""Per request; each may have ``MAX_CONTENT_CHARACTERS``, and all together fit into a record."""
MAX_CONTENT_CHARACTERS = 50_000
MAX_RESULTS = 100


def _one_or_many(value: Any) -> Any:
    return (value,) if isinstance(value, str) else () if value is None else value


def _many(singular: str) -> Any:
    return Field(default=(), max_length=100, validation_alias=AliasChoices(f"{singular}s", singular))


def cts_score_of(value: Any) -> int | None:
    """A content trust score from another producer, rounded down to whole points; None for an invalid value.

    Labels begin at whole scores, so 69.9 does not reach 70.

    >>> [cts_score_of(value) for value in (70, 69.9, True, "70", 101, float("nan"))]
    [70, 69, None, None, None, None]
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        return None
    return math.floor(value)


def _if_readable(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """None for an unreadable value: one invalid candidate must not discard the others."""
    try:
        return None if isinstance(value, bool) else validate(value)
    except ValidationError:
        return None


def _names(value: Any) -> tuple[str, ...]:
    return tuple(name for name in (value if isinstance(value, list | tuple) else (value,)) if isinstance(name, str))


CtsScore = Annotated[int | None, Field(ge=0, le=100), BeforeValidator(cts_score_of)]
"""A content trust score from another producer; None for an invalid value."""


class RankingFilters(Part):
    """Conditions on a result: it must match one value of each list that is not empty.

    Unknown fields are kept, unlike elsewhere (R-010): an ignored filter would admit results that it should exclude, so
    the reader of the filters must reject unknown ones.

    Attributes:
        tiers: Index tiers; on the wire also ``tier``, and one value as plain text.
        domains: Registrable domains or host names.
        tags: Values of ``trust_features.domain_tags``: news, academic, government, blog.
        date_from: First day or instant of publication, ISO 8601; pages without a date don't match.
        date_to: Last day (inclusive) or instant.
    """

    model_config = ConfigDict(extra="allow")

    tiers: Annotated[tuple[Tier, ...], BeforeValidator(_one_or_many)] = _many("tier")
    domains: Annotated[tuple[Text, ...], BeforeValidator(_one_or_many)] = _many("domain")
    tags: Annotated[tuple[Text, ...], BeforeValidator(_one_or_many)] = _many("tag")
    date_from: Text | None = Field(default=None, max_length=40)
    date_to: Text | None = Field(default=None, max_length=40)


class CandidateTrust(Part):
    """The known trust features of a candidate: ``TrustFeatures``, each of which may be missing."""

    source_tier: SourceTier | None = None
    base_score: int | None = None
    domain_tags: Many[str] = ()
    has_doi: bool | None = None
    citation_count: int | None = None
    external_links_count: int | None = None
    has_references_section: bool | None = None
    word_count: int | None = None
    has_headings: bool | None = None
    has_statistics: bool | None = None
    schema_type: str | None = None
    has_author: bool | None = None
    has_byline: bool | None = None
    has_date: bool | None = None
    is_wire_report: bool | None = None
    domain_is_academic: bool | None = None
    domain_is_government: bool | None = None
    cts_score: CtsScore = None


class RankingCandidate(Part):
    """A result from another retriever.

    Attributes:
        content: The text to rank: the whole text, a part of it, or a snippet.
        authors: One or many; also under the name ``author``.
        site_name: The name that the page gives itself.
        publisher: The publisher as the crawler or the retriever knows it; it is shown beside the trust label.
        score: The retriever's own score, higher is better; without scores the order of the candidates counts. A value
            that is not a finite number becomes null.
        cts_score: If null or absent, ``trust_features.cts_score`` is used. A value that is not a number from 0 to 100
            becomes null, as in a point of the index.
        trust_features: Null if they can't be read.
    """

    url: Url
    title: Text = Field(default="", max_length=10_000)
    content: Text = Field(default="", max_length=MAX_CONTENT_CHARACTERS)
    summary: Text = Field(default="", max_length=10_000)
    date: Text | None = Field(default=None, max_length=100)
    authors: Annotated[Many[str], BeforeValidator(_names), WithJsonSchema(ONE_OR_MANY)] = _many("author")
    site_name: Text | None = Field(default=None, max_length=1000)
    publisher: Text | None = Field(default=None, max_length=1000)
    score: Annotated[float | None, WrapValidator(_if_readable)] = None
    cts_score: CtsScore = None
    trust_features: Annotated[CandidateTrust | None, WrapValidator(_if_readable)] = None


class RankingRequested(Event):
    """A query. If it has candidates, the index is not searched.

    Attributes:
        limit: Number of results; null for the configured one.
        requested_at: When it was asked; document ages count from here. The record's timestamp is used without it.
    """

    time_field: ClassVar[str] = "requested_at"

    request_id: Text = Field(min_length=1, max_length=MAX_ID_CHARACTERS)
    query: Text = Field(min_length=1, max_length=MAX_QUERY_CHARACTERS)
    limit: int | None = Field(default=None, ge=1, le=MAX_RESULTS)
    filters: RankingFilters = RankingFilters()
    candidates: Annotated[tuple[RankingCandidate, ...], Field(max_length=MAX_CANDIDATES, fail_fast=True)] | None = None
    requested_at: Instant | None = None
