"""The shell's reply to a handler's request: the requested value, or the reason why it is not available.

A reply holds unchecked data from outside: bytes of a page, text of a model, hits with their payloads. The handler
interprets it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from schemas.llm import LlmCall
from schemas.needs import ToolCall
from schemas.outcome import Retry, RetryReason, ServiceTrouble
from schemas.states import State


class FetchFailure(StrEnum):
    """Why a page was not fetched (R-273), or the state of a page without content.

    ``soft_404`` and ``challenge`` are in events of older versions, and no longer written.
    """

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
    GONE = State.GONE.value
    ERROR = State.ERROR.value
    BLOCKED = State.BLOCKED.value
    LOGIN = State.LOGIN.value
    PAYWALL = State.PAYWALL.value
    CONSENT = State.CONSENT.value
    NEEDS_RENDER = State.NEEDS_RENDER.value
    EMPTY = State.EMPTY.value
    PARKED = State.PARKED.value
    SOFT_404 = "soft_404"
    CHALLENGE = "challenge"
    NO_ITEM_LINKS = "no_item_links"
    NO_CONTENT = "no_content"
    DUPLICATE = "duplicate"
    OVER_BUDGET = "over_budget"
    HOP_LIMIT = "hop_limit"
    TRAP = "trap"


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A page as received.

    Attributes:
        url: The requested address.
        final_url: The address after redirects.
        status: HTTP status, 200 to 299.
        content_type: The header as sent, charset included, cut to 1,000 characters; "" without one.
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
    """A page that was not fetched, and why."""

    url: str
    reason: FetchFailure
    detail: str = ""


@dataclass(frozen=True, slots=True)
class PagesReply:
    """The answer to ``FetchPages``: one entry for each URL, in the requested order."""

    pages: tuple[FetchedPage | FetchRefused, ...]


@dataclass(frozen=True, slots=True)
class IndexReply:
    """The answer to ``IndexDocument``: how many points were requested, written and removed.

    ``outdated``: nothing was written, because the index had a newer version.
    """

    points: int
    written: int
    removed: int
    outdated: bool
    embedder: str


@dataclass(frozen=True, slots=True)
class IndexUnavailable:
    """The index or its embedder is not available now."""

    detail: str
    after_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class ModelReply:
    """The unparsed reply of a model: a text or tool calls."""

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
    """No model judged: the provider is down, over its limit for longer than the task waits, or over budget.

    Attributes:
        detail: Why, for people; it may contain the server's own words.
        after_seconds: How long another request is pointless; None if that is not known.
        busy: As in ``ServiceTrouble``.
        lasting: As in ``ServiceTrouble``.
        cause: As in ``ServiceTrouble``.
        at: When that was so; None if it is not known.
    """

    detail: str
    after_seconds: float | None = None
    busy: bool = False
    lasting: bool = False
    cause: str = "no model can be asked"
    at: datetime | None = None

    def retry(self) -> Retry:
        """The outcome of a handler that cannot decide without the model."""
        trouble = ServiceTrouble(self.cause, self.busy, self.lasting)
        return Retry(RetryReason.UNAVAILABLE, self.detail, self.after_seconds, trouble)


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
    """The store is not available for a search now."""

    detail: str


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
