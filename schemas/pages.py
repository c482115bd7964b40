"""Crawled pages and their trust scores: ``pages.crawled.v1`` and ``pages.scored.v1``."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from datetime import date, datetime
from typing import Annotated, Any, ClassVar, Literal, Required, Self

from pydantic import (
    AfterValidator,
    AliasChoices,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from typing_extensions import TypedDict

from schemas.addresses import without_user
from schemas.event import Event, Many, Part, Text, Url
from schemas.field_rules import NULL, exactly_one
from schemas.instants import Instant
from schemas.states import State

MAX_PAGE_BYTES = 8 * 1024 * 1024
"""The largest page that is read; a larger one is kept as a dead letter."""
GONE_STATUS = (404, 410)
"""HTTP status of a page that was removed."""
MAX_CONTENT_TYPE = 1000
"""Characters of a Content-Type header that are kept. A longer header is cut, and the page is read."""


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


ONE_OR_MANY: JsonSchemaValue = {
    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}, {"type": "null"}]
}
"""Names: a list, or one name as plain text."""


def _one_or_many(value: Any) -> Any:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else value


def _unless_html(value: Any, validate: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
    """Ignores a field beside HTML: there it is not part of the contract and may have any value (R-010)."""
    if info.data.get("html") is None and info.data.get("html_base64") is None:
        return validate(value)
    return () if info.field_name == "authors" else None


BesideContent = WrapValidator(_unless_html)
Authors = Annotated[
    tuple[Text, ...],
    Field(max_length=100),
    BeforeValidator(_one_or_many),
    WithJsonSchema(ONE_OR_MANY),
]
"""Names; a single name may be plain text."""
SchemaType = Annotated[str, Field(max_length=1000)]
"""A schema.org type; ``score_page`` writes no more than 64 characters of one."""
Count = Annotated[int, Field(ge=0, le=1_000_000_000)]
"""How often something was seen."""


class QualityMetadata(Part):
    """Features that only the HTML shows (R-197). An absent or null feature was not observed, unlike a false one."""

    has_byline: bool | None = None
    has_author: bool | None = None
    has_date: bool | None = None
    schema_type: SchemaType | None = None
    has_headings: bool | None = None
    external_links_count: int | None = None
    is_wire_report: bool | None = None


class CrawlerMetadata(QualityMetadata):
    """What a crawler saw on a page whose text it has already extracted.

    The last four can also be derived from the text. The crawler's values take precedence, because it saw what the text
    no longer shows: tables, the addresses of links, headings outside the main text.
    """

    external_links_count: Count | None = None
    has_doi: bool | None = None
    citation_count: Count | None = None
    has_references_section: bool | None = None
    has_statistics: bool | None = None


class CrawledPage(Event):
    """A page from a crawler: its HTML, or the text that the crawler has already extracted from it.

    HTML may also be the raw value of the record, with the other fields in headers. Exactly one of ``html``,
    ``html_base64`` and ``content`` is given; none is needed with status 404 or 410. Title, date, author, summary and
    quality metadata are read only with ``content``.

    Attributes:
        url: The address that was crawled; the key of the record.
        html: The page as text.
        html_base64: The page as fetched, in its own encoding.
        content: The main text, one block per line, if the HTML is no longer available.
        title: The title of the extracted page.
        date: Its publication date, ISO 8601 at best: a day or an instant.
        authors: Its authors; also under the name ``author``.
        summary: Its description; the leading sentences are used without one.
        quality_metadata: What the crawler saw in the HTML; without it the score is null, and the source decides.
        content_type: The Content-Type header as received, cut to 1,000 characters; its charset is trusted before the
            page's own.
        fetched_at: When it was fetched; the record's timestamp is used without it.
        final_url: After redirects.
        status: HTTP status; with 404 or 410 the page is removed from the index, and no body is needed.
        site_name: The publisher as the crawler knows it (a page's own claim never raises its source tier, C-42).
        context: Free text from the crawler, which is copied to the output.
    """

    model_config = ConfigDict(
        json_schema_extra=exactly_one(
            {"status": {"enum": list(GONE_STATUS)}, "html": NULL, "html_base64": NULL, "content": NULL},
            html={"type": "string"},
            html_base64={"type": "string"},
            content={"type": "string"},
        )
    )

    time_field: ClassVar[str] = "fetched_at"

    url: Url
    html: str | None = None
    html_base64: Body | None = None
    content: Text | None = None
    title: Annotated[Text | None, BesideContent] = None
    date: Annotated[Text | None, BesideContent] = None
    authors: Annotated[Authors, BesideContent] = Field(default=(), validation_alias=AliasChoices("authors", "author"))
    summary: Annotated[Text | None, BesideContent] = None
    quality_metadata: Annotated[CrawlerMetadata | None, BesideContent] = None
    content_type: Annotated[str, AfterValidator(lambda text: text[:MAX_CONTENT_TYPE])] | None = None
    fetched_at: Instant | None = None
    final_url: Annotated[str, AfterValidator(without_user)] | None = None
    status: int | None = None
    site_name: str | None = None
    context: str | None = None

    @model_validator(mode="after")
    def _has_body(self) -> Self:
        bodies = 3 - (self.html, self.html_base64, self.content).count(None)
        if bodies > 1 or not (bodies or self.status in GONE_STATUS):
            raise ValueError("exactly one of html, html_base64 and content is needed")
        return self

    @property
    def body(self) -> str | bytes:
        """The page: its bytes if it has any, else its HTML or its extracted text."""
        if self.html_base64 is not None:
            return self.html_base64
        return self.html if self.html is not None else self.content or ""


Language = Annotated[str, Field(pattern=r"^[a-z]{2,3}$")]
"""BCP 47: the primary subtag, such as ``en`` or ``zh``."""
SourceTier = Literal[1, 2, 3]
SourceStanding = Literal["listed", "unlisted", "contested"]
Tier = Literal["A", "B", "C"]
TrustLabel = Literal["HIGH", "MEDIUM", "LOW"]
LabelSource = Literal["score", "fallback"]


class TrustFeatures(Part):
    """The 18 observations behind a trust score (R-175), at most 1 KB as JSON. Null means "not observed".

    Attributes:
        domain_tags: Of news, academic, government, blog.
        word_count: CJK characters and Latin words (C-32).
        cts_score: Null if too little was observed for a score.
    """

    source_tier: SourceTier
    base_score: int
    domain_tags: Many[str] = ()
    has_doi: bool = False
    citation_count: int = 0
    external_links_count: int | None = None
    has_references_section: bool = False
    word_count: int = 0
    has_headings: bool | None = None
    has_statistics: bool = False
    schema_type: SchemaType | None = None
    has_author: bool | None = None
    has_byline: bool | None = None
    has_date: bool | None = None
    is_wire_report: bool | None = None
    domain_is_academic: bool = False
    domain_is_government: bool = False
    cts_score: int | None = Field(default=None, ge=0, le=100)


class ScoreComponent(Part):
    """One line of the score's breakdown: the points, and the observation that earned them.

    Attributes:
        most: The points that the component can give; null where it gives none, and in older events.
    """

    component: str
    points: int
    reason: str
    most: int | None = None


HiddenKind = Literal[
    "inline_style",
    "style_sheet",
    "hidden_attribute",
    "aria_hidden",
    "tiny_font",
    "same_colour",
    "off_screen",
    "invisible_characters",
    "noscript",
    "comment",
    "attribute",
    "structured_data",
]
HiddenOutcome = Literal["quarantined", "left_out", "kept"]
MAX_HIDDEN = 20
MAX_EXCERPT = 200


class HiddenText(Part):
    """Text of a page that no visitor sees.

    Attributes:
        kind: What hides it; ``attribute`` and ``structured_data`` are metadata.
        place: The element with its id or class names, or the name of the field.
        characters: Its length.
        excerpt: Its beginning. It may address a language model: do not pass it to one.
        outcome: ``quarantined`` if it addresses a language model, ``left_out`` if it is in no other field for another
            reason, ``kept`` if the content has it.
        reason: Why it was quarantined or left out.
    """

    kind: HiddenKind
    place: str
    characters: int = Field(ge=0)
    excerpt: str = Field(max_length=MAX_EXCERPT)
    outcome: HiddenOutcome
    reason: str | None = None

    def in_words(self) -> str:
        """The kind, the place, what became of the text, and why."""
        reason = f" ({self.reason})" if self.reason else ""
        return f"hidden by {self.kind} in {self.place}, {self.outcome}{reason}: {self.excerpt}"


class Suspected(Part):
    """A passage of the content that seems to be written to a machine: do not pass it to one.

    Attributes:
        start: The character of the content that it begins at.
        end: The character after it.
        score: How clearly it is; the rules have the least.
    """

    start: int = Field(ge=0)
    end: int = Field(ge=0)
    score: float


def without_passages(text: str, passages: Iterable[Any]) -> str:
    """A text with blanks in place of passages, so that all else keeps its place."""
    for one in passages:
        text = f"{text[: one.start]}{' ' * (one.end - one.start)}{text[one.end :]}"
    return text


def _day_or_instant(value: Any) -> Any:
    """A day stays a day; a text that is not an ISO 8601 date becomes null."""
    if not isinstance(value, str):
        return value
    try:
        return date.fromisoformat(value) if len(value) == _DAY else datetime.fromisoformat(value)
    except ValueError:
        return None


_DAY = len("2024-05-03")
_INSTANT = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2}(:[0-9]{2})?)?$"
)
Published = Annotated[
    date | datetime | None,
    BeforeValidator(_day_or_instant),
    WithJsonSchema(
        {"anyOf": [{"type": "string", "format": "date"}, {"type": "string", "pattern": _INSTANT}, {"type": "null"}]}
    ),
]
"""A day (``2024-05-03``) or an instant (``2024-05-03T08:00:00+08:00``): ISO 8601 in JSON. An instant has the time zone
that the page states, or none; the JSON Schema format ``date-time`` always has one."""


BlockKind = Literal["heading", "paragraph", "item", "quote", "code", "row", "caption", "term", "definition"]
"""``paragraph`` is one inside of an item; ``item`` begins an item of a list."""
MAX_BLOCKS, MAX_CELLS = 5_000, 50
"""Blocks of a page, and cells of a row."""


class ContentBlock(TypedDict, total=False):
    """A block of a page's content, as a span of it; a line in none is a paragraph.

    Attributes:
        start: First character.
        end: The character behind the last.
        level: Of a heading, 1 to 6.
        depth: Lists around it.
        number: Of an item of an ordered list.
        quotes: Quotations around it.
        language: Of code, as the page states it.
        table: The number of the table that a row is in.
        cells: The spans of a row's cells; an empty span for an empty cell.
        header: Whether all cells of a row are headings.
    """

    kind: Required[BlockKind]
    start: Required[Annotated[int, Field(ge=0)]]
    end: Required[Annotated[int, Field(ge=0)]]
    level: Annotated[int, Field(ge=1, le=6)]
    depth: Annotated[int, Field(ge=1)]
    number: Annotated[int, Field(ge=0)]
    quotes: Annotated[int, Field(ge=1)]
    language: str
    table: Annotated[int, Field(ge=1)]
    cells: Many[tuple[int, int]]
    header: bool


EntryKind = Literal["post", "card"]
MAX_ENTRIES = 1_000


class ContentEntry(TypedDict, total=False):
    """One of the alike parts of a page's content: a post of a thread, or a card that leads to another page.

    Attributes:
        start: First character.
        end: The character behind the last.
        author: The person whom a post names.
    """

    kind: Required[EntryKind]
    start: Required[Annotated[int, Field(ge=0)]]
    end: Required[Annotated[int, Field(ge=0)]]
    author: str


class ScoredPage(Event):
    """A page with its content trust score (CTS), tier and label, and why.

    Attributes:
        final_url: The address after redirects, if there were any; its host is the source that was judged.
        date: Publication date, ISO 8601, a day or an instant; null if no date was found.
        page_id: The same for all addresses of the page in one canonical form; null if the address is not http(s).
        authors: Persons, else the organisation that the page names as its author.
        agencies: News agencies that the page credits; they are not authors.
        state: Content, or why the page has none: then the score is 0, and no date and no author is given.
        content: Main text without boilerplate; code keeps its lines, and a row of a table is one line.
        blocks: What the lines of the content are, at most 5,000.
        entries: The posts of a thread or the cards of a listing, at most 1,000, in page order.
        summary: The page's own description, else leading sentences.
        site_name: The publisher as the crawler named it, else the page's own claim.
        publisher: The publisher as the crawler named it, else null; it may raise the source tier (C-42).
        language: Null if unknown.
        cts_score: 0 to 100; null if the crawler extracted the text without quality metadata.
        cts_breakdown: Every component of the score, also those without points.
        source: Whether a list has the source, none has, or a public list contests it; null in older events.
        label_source: What decided tier and label: the score, or without one the tier of the source (C-41).
        hidden_text: Text that no visitor sees, quarantined text first; at most 20.
        injection_suspected: The clearest passage of the content that is written to a machine; null without one. The
            label of such a page, and of one with quarantined text, is one step lower.
        suspected: The places of all such passages, the clearest first; summary, snippets and index are without them.
        config_version: The rules of the score.
    """

    time_field: ClassVar[str] = "fetched_at"

    url: Url
    page_id: str | None = None
    final_url: Annotated[str, AfterValidator(without_user)] | None = None
    state: State = State.CONTENT
    title: str
    content: str = Field(max_length=MAX_PAGE_BYTES)
    blocks: Many[ContentBlock] = Field(default=(), max_length=MAX_BLOCKS)
    entries: Many[ContentEntry] = Field(default=(), max_length=MAX_ENTRIES)
    summary: str
    date: Published = None
    authors: Many[str] = ()
    agencies: Many[str] = ()
    site_name: str | None = None
    publisher: str | None = None
    language: Language | None = None
    quality_metadata: QualityMetadata
    trust_features: TrustFeatures
    cts_score: int | None = Field(default=None, ge=0, le=100)
    cts_breakdown: Many[ScoreComponent]
    tier: Tier
    trust_label: TrustLabel
    source: SourceStanding | None = None
    label_source: LabelSource
    hidden_text: Many[HiddenText] = ()
    injection_suspected: str | None = None
    suspected: Many[Suspected] = ()
    config_version: str
    fetched_at: Instant | None = None
    context: str | None = None

    @property
    def gives_orders(self) -> bool:
        """Whether a part of it is written to a machine."""
        return any(line.component == "injection" for line in self.cts_breakdown)

    @property
    def suspected_lines(self) -> tuple[str, ...]:
        """What is on each line of the passages that are written to a machine."""
        return tuple(line for one in self.suspected for line in self.content[one.start : one.end].split("\n"))

    @property
    def support(self) -> int | None:
        """The points for what the page shows, beside ``base_score`` for the source; None without a score."""
        if self.cts_score is None:
            return None
        return sum(line.points for line in self.cts_breakdown[1:] if line.most is not None)

    @property
    def parts(self) -> str:
        """The two parts of the score, each of what it can be: ``source 25/40 (listed), support 32/60``; or ""."""
        base, *support = self.cts_breakdown
        if base.most is None:
            return ""
        standing = f" ({self.source})" if self.source else ""
        most = sum(line.most or 0 for line in support)
        return f"source {base.points}/{base.most}{standing}, support {self.support}/{most}"

    @property
    def reasons(self) -> tuple[str, ...]:
        """What the score was given for: each component with its points, if it has any."""
        return tuple(f"{line.points:+d} {line.reason}" if line.points else line.reason for line in self.cts_breakdown)

    def decision(self) -> dict[str, Any]:
        """What was decided on the page, and why, for JSON."""
        names = ("cts_score", "tier", "trust_label", "source", "parts")
        return {name: getattr(self, name) for name in names} | {"reasons": list(self.reasons)}
