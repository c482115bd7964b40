"""What a handler may request before it decides: pages, a model, and the index.

A need is a value that states what the handler requests, not how the shell provides it. The handler returns it as an
``Ask``. The shell provides it and calls the handler's ``read`` with all replies so far (``schemas.replies``), until
``read`` returns an outcome.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class FetchPages:
    """Requests pages for a query. Each pair of query and canonical URL is fetched once (R-070)."""

    urls: tuple[str, ...]
    query: str


Collection = Literal["documents", "utterances"]
"""The separate collections of the index: pages, and utterances that claims are compared with."""


@dataclass(frozen=True, slots=True)
class IndexPoint:
    """A point before its vector is computed.

    Attributes:
        id: A UUID, the same for the same place in the same document.
        kind: The part of the document: ``article``, ``chunk``, ``beginning`` or ``summary``.
        text: The text to embed.
        payload: JSON values.
    """

    id: str
    kind: str
    text: str
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class IndexDocument:
    """Requests that a document has exactly these points in the index, unless the index has a newer version.

    Attributes:
        points: All of its points; the payload of the first one also lists the others.
        fetched_at: When this version was fetched; the newest version stays.
    """

    document_id: str
    points: tuple[IndexPoint, ...]
    fetched_at: datetime | None
    collection: Collection = "documents"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call of a model; ``arguments`` is unchecked JSON, which the handler validates."""

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
        task: Selects model, limits and prices in the configuration.
        prompt_version: Hash of the prompt's template.
        messages: The conversation so far.
        facts: JSON values that the messages were made of; the offline judge answers from these.
        max_tokens: Limit of the reply.
        schema: JSON Schema of the reply, for servers with structured outputs; None for plain text.
        tools: Tools that the model may call.
        try_number: Counts from 1; a repeated question has a new number, so that the cache does not answer it.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFilters:
    """Conditions on a point: it must match one value of each tuple that is not empty.

    Attributes:
        tiers: Indexing tiers.
        domains: Registrable domains, or host names.
        tags: Kinds of source: news, academic, government, blog.
        date_from: First instant of publication; points without a date don't match.
        date_to: Publication must be before this instant.
    """

    tiers: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    date_from: datetime | None = None
    date_to: datetime | None = None


@dataclass(frozen=True, slots=True)
class SearchVectors:
    """Requests the points of a collection that are nearest to a text and match the filters.

    Attributes:
        limit: Number of points.
        filters: None admits every point.
        documents: Number of different documents: if the points belong to fewer, the shell requests more points. 0
            means any number of documents.
        most: Largest number of points if ``limit`` gives too few documents; 0 means ``limit``.
    """

    collection: Collection
    text: str
    limit: int
    filters: SearchFilters | None = None
    documents: int = 0
    most: int = 0


Need = FetchPages | IndexDocument | AskModel | SearchVectors


@dataclass(frozen=True, slots=True)
class Ask:
    """The handler needs a reply before it can decide.

    Attributes:
        state: What the handler has computed so far; the shell passes it to the handler's ``read`` with the reply. It
            follows from the event, the rules and the replies, so ``read`` can compute it again without it.
    """

    need: Need
    state: Any = field(default=None, compare=False, repr=False)
