"""What a handler answers: an outcome with a reason, or an ask for something of the world.

An expected refusal is a value with an enum reason, never an exception; the reason is a metric label. A handler that
needs a page, a model or a vector search returns an ``Ask``; the shell provides it and calls the handler's ``read``
with all replies so far, until an outcome comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from schemas.event import Event
from schemas.llm import LlmCall


class DropReason(StrEnum):
    """Why an input rightly has no output."""

    NOTHING_TO_DO = "nothing_to_do"


class RetryReason(StrEnum):
    """Why an input should be tried again later."""

    UNAVAILABLE = "unavailable"
    RATE_LIMITED = "rate_limited"


class DeadReason(StrEnum):
    """Why an input went to the dead letter topic."""

    UNDECODABLE = "undecodable"
    INVALID = "invalid"
    TOO_LARGE = "too_large"
    UNREADABLE_PAGE = "unreadable_page"
    HANDLER_BUG = "handler_bug"
    ROUNDS_EXHAUSTED = "rounds_exhausted"
    RETRIES_EXHAUSTED = "retries_exhausted"
    OUTPUT_TOO_LARGE = "output_too_large"
    OUTPUT_INVALID = "output_invalid"


class Stage(StrEnum):
    """Where in the pipeline a record was refused."""

    DECODE = "decode"
    HANDLE = "handle"
    ENCODE = "encode"


@dataclass(frozen=True, slots=True)
class Emit:
    """The input was handled; these events go out, in this order. Each event's type decides its topic."""

    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Drop:
    """The input was handled and has no output, on purpose."""

    reason: DropReason


@dataclass(frozen=True, slots=True)
class Retry:
    """The input could not be handled now. ``after_seconds`` is a provider's own wish, if it stated one."""

    reason: RetryReason
    detail: str = ""
    after_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Dead:
    """The input can't be handled as it is; it is kept in the dead letter topic."""

    reason: DeadReason
    detail: str = ""


Outcome = Emit | Drop | Retry | Dead


class FetchFailure(StrEnum):
    """Why a page was not brought home (R-273)."""

    INVALID_URL = "invalid_url"
    FORBIDDEN_SCHEME = "forbidden_scheme"
    FORBIDDEN_ADDRESS = "forbidden_address"
    UNRESOLVABLE = "unresolvable"
    ROBOTS = "robots"
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    TOO_MANY_REDIRECTS = "too_many_redirects"
    TOO_LARGE = "too_large"
    NOT_HTML = "not_html"
    RATE_LIMITED = "rate_limited"
    CLIENT_ERROR = "client_error"
    SERVER_ERROR = "server_error"
    SOFT_404 = "soft_404"
    CHALLENGE = "challenge"
    NO_ITEM_LINKS = "no_item_links"
    NO_CONTENT = "no_content"
    DUPLICATE = "duplicate"
    OVER_BUDGET = "over_budget"
    HOP_LIMIT = "hop_limit"


@dataclass(frozen=True, slots=True)
class FetchPages:
    """Asks for pages. ``query`` is what they are wanted for; (query, canonical URL) is fetched once (R-070)."""

    urls: tuple[str, ...]
    query: str


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A page as it came over the wire.

    Attributes:
        url: As asked for.
        final_url: After redirects.
        status: HTTP status, 200 to 299.
        content_type: The header as sent, charset included; "" where there was none.
        body: The content-decoded bytes.
        fetched_at: When the response was complete, UTC.
    """

    url: str
    final_url: str
    status: int
    content_type: str
    body: bytes
    fetched_at: datetime


@dataclass(frozen=True, slots=True)
class FetchRefused:
    """A page that did not come, and why."""

    url: str
    reason: FetchFailure
    detail: str = ""


@dataclass(frozen=True, slots=True)
class PagesReply:
    """The answer to ``FetchPages``: one entry for each URL, in the order asked."""

    pages: tuple[FetchedPage | FetchRefused, ...]


Collection = Literal["documents", "utterances"]
"""What is kept apart in the index: pages, and utterances that claims are compared with."""


@dataclass(frozen=True, slots=True)
class IndexPoint:
    """A vector to be: what is embedded, and what is kept beside it.

    Attributes:
        id: A UUID, the same for the same place in the same document.
        kind: What of the document it is: ``article``, ``chunk``, ``beginning`` or ``summary``.
        text: What is embedded.
        payload: JSON values.
    """

    id: str
    kind: str
    text: str
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class IndexDocument:
    """Asks that a document's points in the index be these and no others, unless a newer version is there.

    Attributes:
        document_id: The document.
        points: All of its points; the first one also remembers what else there is.
        fetched_at: When this version was fetched; of two, the newer one stays.
        collection: Where the points are.
    """

    document_id: str
    points: tuple[IndexPoint, ...]
    fetched_at: datetime | None
    collection: Collection = "documents"


@dataclass(frozen=True, slots=True)
class IndexReply:
    """The answer to ``IndexDocument``: what was done for so many points asked.

    ``outdated``: nothing was done, for the index had a newer version.
    """

    points: int
    written: int
    removed: int
    outdated: bool
    embedder: str


@dataclass(frozen=True, slots=True)
class IndexUnavailable:
    """The index, or what makes its vectors, can't be used now."""

    detail: str
    after_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What a model wants done; ``arguments`` is JSON as it came, which the handler checks."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation with a model."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that a model may call; ``parameters`` is a JSON Schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AskModel:
    """Asks a language model, or the offline judge in its place.

    Attributes:
        task: Decides model, limits and prices in the configuration.
        prompt_version: Hash of the prompt's template.
        messages: The conversation so far.
        facts: JSON values that the messages were made of; the offline judge answers from these.
        max_tokens: Of the reply.
        temperature: Of the reply.
        schema: JSON Schema of the reply, for servers with structured outputs; None where it is plain text.
        tools: What the model may call.
        try_number: Counts from 1; a malformed answer is asked for anew, not taken from the cache again.
    """

    task: str
    prompt_version: str
    messages: tuple[Message, ...]
    facts: Mapping[str, Any]
    max_tokens: int
    temperature: float
    schema: Mapping[str, Any] | None = None
    tools: tuple[ToolSpec, ...] = ()
    try_number: int = 1


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What the model said, or which tools it wants called; nothing is parsed yet."""

    text: str
    tool_calls: tuple[ToolCall, ...]
    call: LlmCall


@dataclass(frozen=True, slots=True)
class ModelFailed:
    """This one call failed: it timed out, was refused, cut off or empty, or the server answered with an error."""

    call: LlmCall
    detail: str


@dataclass(frozen=True, slots=True)
class ModelUnavailable:
    """Nothing was judged: the provider is down, over its limit for longer than the task waits, or over budget.

    Attributes:
        detail: Why, for people.
        after_seconds: How long it is not worth asking again, where that is known.
        busy: The provider is well, and others have the turns of the next time: a backlog, and no outage.
        lasting: It does not pass by itself, such as a key that is refused: who waits for an answer need not wait.
    """

    detail: str
    after_seconds: float | None = None
    busy: bool = False
    lasting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFilters:
    """What a point must be. Every tuple that is not empty must hold; within one of them one of its values must.

    Attributes:
        tiers: Indexing tiers.
        domains: Registrable domains, or host names.
        tags: Of the source: news, academic, government, blog.
        date_from: First instant of publication; points without a date don't fit.
        date_to: The instant that publication must be before.
    """

    tiers: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    date_from: datetime | None = None
    date_to: datetime | None = None


@dataclass(frozen=True, slots=True)
class SearchVectors:
    """Asks for the points of a collection that are nearest to a text, among those that fit the filters.

    Attributes:
        collection: Which one.
        text: What is looked for.
        limit: Points wanted.
        filters: What a point must be; None for any.
        documents: Different documents wanted: where so many points are of fewer, more points are brought. With 0 it
            does not matter whose they are.
        most: Points that are brought at most, where those of ``limit`` are not enough; 0 for no more than these.
    """

    collection: Collection
    text: str
    limit: int
    filters: SearchFilters | None = None
    documents: int = 0
    most: int = 0


@dataclass(frozen=True, slots=True)
class VectorHit:
    """A point that was found; ``score`` is the cosine of both vectors."""

    score: float
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class VectorsReply:
    """The answer to ``SearchVectors``, nearest first; an empty collection has no hits."""

    hits: tuple[VectorHit, ...]


@dataclass(frozen=True, slots=True)
class VectorsUnavailable:
    """The store could not be searched now."""

    detail: str


Need = FetchPages | IndexDocument | AskModel | SearchVectors
Reply = (
    PagesReply
    | IndexReply
    | IndexUnavailable
    | ModelReply
    | ModelFailed
    | ModelUnavailable
    | VectorsReply
    | VectorsUnavailable
)


@dataclass(frozen=True, slots=True)
class Ask:
    """The handler needs something of the world before it can decide."""

    need: Need
