"""Crawled pages and their trust scores: ``pages.crawled.v1`` and ``pages.scored.v1``."""

from __future__ import annotations

import base64
import binascii
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from schemas.event import Event, Text

MAX_PAGE_BYTES = 8 * 1024 * 1024
"""The largest page that is read; a larger one is kept as a dead letter."""


def _decode_body(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise ValueError(f"html_base64 is not base64: {error}") from error


Body = Annotated[
    bytes,
    BeforeValidator(_decode_body),
    PlainSerializer(lambda body: base64.b64encode(body).decode(), return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "contentEncoding": "base64"}),
]
"""Bytes in memory, base64 in JSON."""


class CrawledPage(Event):
    """A page as the crawler brought it. A page may also travel raw: HTML as the value, the rest in headers.

    Attributes:
        url: The address that was crawled; the key of the record.
        html: The page as text; either this or ``html_base64`` is given.
        html_base64: The page as fetched, in its own encoding.
        content_type: The Content-Type header as received; its charset is trusted before the page's own.
        fetched_at: When it was fetched; where absent, the record's timestamp stands in.
        final_url: After redirects.
        status: HTTP status.
        site_name: The publisher as the crawler knows it (a page's own claim never raises its source tier, C-42).
        context: Free text that the crawler wants to travel along.
    """

    url: Text = Field(min_length=1, max_length=8192)
    html: str | None = None
    html_base64: Body | None = None
    content_type: str | None = None
    fetched_at: datetime | None = None
    final_url: str | None = None
    status: int | None = None
    site_name: str | None = None
    context: str | None = None

    @model_validator(mode="after")
    def _has_body(self) -> Self:
        if (self.html is None) == (self.html_base64 is None):
            raise ValueError("exactly one of html and html_base64 is needed")
        return self

    @property
    def body(self) -> str | bytes:
        """The page: text where it came as text, else its bytes."""
        return self.html if self.html is not None else self.html_base64 or b""


SourceTier = Literal[1, 2, 3]
Tier = Literal["A", "B", "C"]
TrustLabel = Literal["HIGH", "MEDIUM", "LOW"]


class TrustFeatures(Event):
    """The 18 observations behind a trust score (R-175), about 1 KB as JSON.

    Attributes:
        domain_tags: Of news, academic, government, blog.
        word_count: CJK characters and Latin words (C-32).
    """

    source_tier: SourceTier
    base_score: int
    domain_tags: tuple[str, ...] = ()
    has_doi: bool = False
    citation_count: int = 0
    external_links_count: int = 0
    has_references_section: bool = False
    word_count: int = 0
    has_headings: bool = False
    has_statistics: bool = False
    schema_type: str | None = None
    has_author: bool = False
    has_byline: bool = False
    has_date: bool = False
    is_wire_report: bool = False
    domain_is_academic: bool = False
    domain_is_government: bool = False
    cts_score: int = Field(ge=0, le=100)


class QualityMetadata(Event):
    """What only the HTML could tell (R-197). A missing key means that it was not observed (C-31)."""

    has_byline: bool = False
    has_author: bool = False
    has_date: bool = False
    schema_type: str | None = None
    has_headings: bool = False
    external_links_count: int = 0
    is_wire_report: bool = False


class ScoreComponent(Event):
    """One line of the score's breakdown: points given, and the observation they were given for."""

    component: str
    points: int
    because: str


class ScoredPage(Event):
    """A page with its content trust score (CTS), tier and label, and why.

    Attributes:
        date: Publication date, ISO 8601, a day or an instant; null where none was found.
        content: Main text without boilerplate.
        summary: The page's own description, else leading sentences.
        language: BCP 47 primary subtag, such as ``en`` or ``zh``; null where unknown.
        cts_score: 0 to 100.
        cts_breakdown: Every component of the score, also those that gave nothing.
        config_version: The rules the score was computed under.
    """

    url: str
    title: str = ""
    content: str = ""
    summary: str = ""
    date: str | None = None
    author: tuple[str, ...] = ()
    site_name: str | None = None
    language: str | None = None
    quality_metadata: QualityMetadata = QualityMetadata()
    trust_features: TrustFeatures
    cts_score: int = Field(ge=0, le=100)
    cts_breakdown: tuple[ScoreComponent, ...] = ()
    tier: Tier
    trust_label: TrustLabel
    config_version: str
    fetched_at: datetime | None = None
    context: str | None = None
