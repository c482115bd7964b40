"""What the store and the embedders of the index exchange, the two errors of both, and the port of an embedder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

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
    id: str
    vector: Vector
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StoreCounts:
    """All points of the store, and its documents by tier."""

    points: int
    documents: Mapping[str, int]


class Embedder(Protocol):
    """Makes vectors of texts. Raises ``IndexDownError`` or ``IndexSettingsError``."""

    name: str  # identifies the vectors of this embedder; stored with them
    dimensions: int

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One vector of length 1 for each text, in order."""

    async def aclose(self) -> None:
        """Closes connections, if there are any."""
