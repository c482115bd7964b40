"""What a handler may ask of the world before it decides: pages, a model, and the index.

A need is a value that says what is wanted and nothing of how it is had. The handler returns it as an ``Ask``; the shell
provides it and calls the handler's ``read`` with all replies so far (``schemas.replies``), until an outcome comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class FetchPages:
    """Asks for pages. ``query`` is what they are wanted for; (query, canonical URL) is fetched once (R-070)."""

    urls: tuple[str, ...]
    query: str


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


Need = FetchPages | IndexDocument | AskModel | SearchVectors


@dataclass(frozen=True, slots=True)
class Ask:
    """The handler needs something of the world before it can decide.

    Attributes:
        need: What it needs.
        state: What it has computed so far. The shell passes it to the handler's ``read`` together with the reply. It
            follows from the event, the rules and the replies, so ``read`` can compute it again where it has none.
    """

    need: Need
    state: Any = field(default=None, compare=False, repr=False)
