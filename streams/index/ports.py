"""The two ports of the index: what keeps vectors, and what makes them. Both fail in the same two ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from schemas.needs import SearchFilters

Vector = Sequence[float]


class IndexDownError(Exception):
    """The store or the embedder can't be used now: down, slow, full, overloaded. Later it may."""

    def __init__(self, detail: str, after_seconds: float | None = None) -> None:
        """Takes what happened, and the other side's own wish when to come again."""
        super().__init__(detail)
        self.after_seconds = after_seconds


class IndexSettingsError(Exception):
    """The index can't be used as it is configured; the message says what to change."""


class IndexDamagedError(IndexSettingsError):
    """The files of an embedded index are not as they were written; they don't get well by waiting."""


class IndexOwnedError(IndexSettingsError):
    """The embedded index belongs to another process, which may be asked instead."""


@dataclass(frozen=True, slots=True)
class StoredPoint:
    """A point with its vector."""

    id: str
    vector: Vector
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StoreCounts:
    """What is in the store: all points, and documents by tier."""

    points: int
    documents: Mapping[str, int]


class VectorStore(Protocol):
    """Points with payloads, by id. Every method raises ``IndexDownError`` or ``IndexSettingsError``."""

    async def open(self, *, make: bool = True) -> None:
        """Connects, and makes what is not there yet, or says that it isn't; else the first other call does."""
        ...

    async def read(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Payloads of those points that are there, by id."""
        ...

    async def write(self, points: Sequence[StoredPoint]) -> None:
        """Writes points in one operation; returns when they can be read."""
        ...

    async def amend(self, point_id: str, payload: Mapping[str, Any]) -> None:
        """Sets keys of a point's payload; the others stay."""
        ...

    async def remove(self, ids: Sequence[str]) -> None:
        """Removes points; those that are not there are no error."""
        ...

    async def search(
        self, vector: Vector, limit: int, filters: SearchFilters | None = None
    ) -> list[tuple[float, dict[str, Any]]]:
        """Cosine and payload of the nearest points, nearest first, among those that fit the filters.

        Hosts below a registrable domain are not told apart: what is found may be on another host of the domain.
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
        name: Tells vectors of different makers apart; kept beside them.
        dimensions: Of a vector.
    """

    name: str
    dimensions: int

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One vector of length 1 a text, in order."""
        ...

    async def aclose(self) -> None:
        """Closes connections."""
        ...
