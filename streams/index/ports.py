"""The two ports of the index: the vector store and the embedder. Both raise the same two errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from schemas.needs import SearchFilters

Vector = Sequence[float]


class IndexDownError(Exception):
    """The store or the embedder can't be used now: down, slow, full, or overloaded."""

    def __init__(self, detail: str, after_seconds: float | None = None) -> None:
        """Takes the error, and the server's Retry-After in seconds."""
        super().__init__(detail)
        self.after_seconds = after_seconds


class IndexSettingsError(Exception):
    """The index can't be used as it is configured; the message says what to change."""


class IndexDamagedError(IndexSettingsError):
    """The files of an embedded index are damaged; a retry does not help."""


class IndexOwnedError(IndexSettingsError):
    """The embedded index belongs to another process, which may answer searches."""


@dataclass(frozen=True, slots=True)
class StoredPoint:
    """A point with its vector."""

    id: str
    vector: Vector
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StoreCounts:
    """All points of the store, and its documents by tier."""

    points: int
    documents: Mapping[str, int]


class VectorStore(Protocol):
    """Points with payloads, by id. Every method raises ``IndexDownError`` or ``IndexSettingsError``."""

    async def open(self, *, make: bool = True) -> None:
        """Connects, and creates a missing collection. Without this call, the first other call does it.

        Args:
            make: If False, a missing collection is an error.

        Raises:
            IndexSettingsError: The embedded index belongs to another process, or the collection to another embedder.
            IndexDownError: The server does not answer.
        """
        ...

    async def read(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Payloads of the existing points, by id."""
        ...

    async def write(self, points: Sequence[StoredPoint]) -> None:
        """Writes points in one operation; returns when they can be read."""
        ...

    async def amend(self, point_id: str, payload: Mapping[str, Any]) -> None:
        """Sets keys of a point's payload; the others remain."""
        ...

    async def remove(self, ids: Sequence[str]) -> None:
        """Removes points; missing ones are no error."""
        ...

    async def search(
        self, vector: Vector, limit: int, filters: SearchFilters | None = None
    ) -> list[tuple[float, dict[str, Any]]]:
        """Cosine and payload of the nearest points that match the filters, nearest first.

        A filter on a host matches every host of its registrable domain.
        """
        ...

    async def count(self) -> StoreCounts:
        """Counts points, and documents by tier."""
        ...

    async def aclose(self) -> None:
        """Closes connections and files."""
        ...


class Embedder(Protocol):
    """Makes vectors of texts. Raises ``IndexDownError`` or ``IndexSettingsError``.

    Attributes:
        name: Identifies the vectors of this embedder; stored with them.
        dimensions: Of a vector.
    """

    name: str
    dimensions: int

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One vector of length 1 for each text, in order."""
        ...

    async def aclose(self) -> None:
        """Closes connections."""
        ...
