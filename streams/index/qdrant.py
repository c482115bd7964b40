"""The vector store on Qdrant: a server by its address, or embedded in files that one process owns.

The client is the blocking one, in threads: embedded it computes in the calling thread, and one thread at a time may use
its files. So the event loop never waits for either.

The embedded client compares every point in every search. Two measures make that fast enough for 100,000 points: vectors
are passed as arrays, because lists of Python floats take 32 bytes a number while files are opened; and vectors have
length 1, so the dot product is the cosine, and the client does not normalize them in every search. A filter still looks
at the payload of every point: a large index with filters needs a server.
"""

from __future__ import annotations

import asyncio
import pickle
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import httpx
import numpy as np
import portalocker
from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ApiException, UnexpectedResponse
from qdrant_client.local import datetime_utils

from handlers.html.links import registrable_domain
from handlers.indexing.points import MEMORY
from schemas.needs import SearchFilters
from streams.index.ports import (
    IndexDamagedError,
    IndexDownError,
    IndexOwnedError,
    IndexSettingsError,
    StoreCounts,
    StoredPoint,
    Vector,
)
from streams.index.settings import IndexSettings
from streams.runtime.files import PRIVATE_FOLDER
from streams.runtime.server_address import without_secret

Found = list[tuple[float, dict[str, Any]]]
TIER, DOMAIN, TAGS, DATE = "tier", "domain", "trust_features.domain_tags", "date"
TIERS = ("A", "B", "C")
# The embedded client tries up to 15 formats on the date of each point in each search, and pages share their days.
datetime_utils.parse = lru_cache(maxsize=65_536)(datetime_utils.parse)
_UNNAMED = ""  # the name of a point's only vector
_ONE_MEMORY = models.IsEmptyCondition(is_empty=models.PayloadField(key=MEMORY))
_KEYWORDS = ("document_id", "url", DOMAIN, TIER, "kind", "language", TAGS)
_FILTERED = {
    **dict.fromkeys(_KEYWORDS, models.PayloadSchemaType.KEYWORD),
    "cts_score": models.PayloadSchemaType.INTEGER,
    DATE: models.PayloadSchemaType.DATETIME,
}
"""Filtered keys of the payload; a server has an index for each."""
_NOT_FOUND = 404
_DAMAGE = (
    *(sqlite3.DatabaseError, pickle.UnpicklingError, ImportError),
    *(ValueError, LookupError, TypeError, AttributeError, EOFError),
)
"""Errors of the client for damaged embedded files. SQLite's OperationalError is not one: a full disk is temporary."""
Result = TypeVar("Result")


class QdrantStore:
    """Points with payloads in one collection. Every method raises ``IndexDownError`` or ``IndexSettingsError``."""

    def __init__(self, settings: IndexSettings, embedder: str, dimensions: int) -> None:
        """Opens nothing. A collection has the vectors of one embedder, with its name and its dimensions."""
        self._settings = settings
        self._name = settings.collection
        self._embedder = embedder
        self._dimensions = dimensions
        self._client: QdrantClient | None = None
        self._owner: QdrantStore | None = None
        # Embedded files belong to the thread that opened them.
        self._threads = ThreadPoolExecutor(settings.parallel if settings.url else 1, "index")
        self._opening = asyncio.Lock()
        self._gone = False

    def beside(self, collection: str) -> QdrantStore:
        """Another collection of the same server or files; this store remains the owner of embedded files."""
        settings = self._settings.model_copy(update={"collection": collection})
        other = QdrantStore(settings, self._embedder, self._dimensions)
        other._threads, other._owner = self._threads, self
        return other

    async def read(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Payloads of the existing points, by id."""
        found = await self._call(lambda client: client.retrieve(self._name, list(ids)))
        return {str(record.id): record.payload or {} for record in found}

    async def write(self, points: Sequence[StoredPoint]) -> None:
        """Writes points in one operation; returns when they can be read."""
        records = [self._record(point) for point in points]
        await self._call(lambda client: client.upsert(self._name, records, wait=True))

    async def amend(self, point_id: str, payload: Mapping[str, Any]) -> None:
        """Sets keys of a point's payload; the others remain."""
        keys = dict(payload)
        await self._call(lambda client: client.set_payload(self._name, keys, points=[point_id], wait=True))

    async def remove(self, ids: Sequence[str]) -> None:
        """Removes points; missing ones are no error."""
        selected = models.PointIdsList(points=list(ids))
        await self._call(lambda client: client.delete(self._name, selected, wait=True))

    async def search(self, vector: Vector, limit: int, filters: SearchFilters | None = None) -> Found:
        """Cosine and payload of the nearest points that match the filters, nearest first.

        A filter on a host matches every host of its registrable domain.
        """
        nearest: Any = list(vector)
        if not self._settings.url:
            # The validation of the client's models refuses arrays, so it is skipped.
            array: Any = np.asarray(vector, dtype=np.float32)
            nearest = models.NearestQuery.model_construct(nearest=array)
        wanted = conditions_of(filters) if filters is not None else None
        found = await self._call(
            lambda client: (
                client.query_points(self._name, nearest, query_filter=wanted, limit=limit, with_payload=True).points
            )
        )
        return [(point.score, point.payload or {}) for point in found]

    async def count(self) -> StoreCounts:
        return await self._call(self._counted)

    def _record(self, point: StoredPoint) -> models.PointStruct:
        payload = {**point.payload, "embedder": self._embedder}
        if self._settings.url:
            return models.PointStruct(id=point.id, vector=list(point.vector), payload=payload)
        vector: Any = {_UNNAMED: np.asarray(point.vector, dtype=np.float32)}
        return models.PointStruct.model_construct(id=point.id, vector=vector, payload=payload)

    def _counted(self, client: QdrantClient) -> StoreCounts:
        """Counts points, and documents by tier. One point of each document has its memory, so that one is counted."""

        # A server knows its number of points. For a filter it estimates from each key alone, so documents are counted.
        def documents(tier: str) -> int:
            of_tier = models.FieldCondition(key=TIER, match=models.MatchValue(value=tier))
            return client.count(self._name, models.Filter(must=[of_tier], must_not=[_ONE_MEMORY])).count

        return StoreCounts(client.count(self._name, exact=False).count, {tier: documents(tier) for tier in TIERS})

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if self._owner is not None:
            return
        if client is not None:
            await asyncio.get_running_loop().run_in_executor(self._threads, client.close)
        self._threads.shutdown(wait=False)

    async def open(self, *, make: bool = True) -> None:
        """Connects, and creates a missing collection. Without this call, the first other call does it.

        Raises IndexSettingsError if the embedded index belongs to another process, the collection to another embedder,
        or without ``make`` for a missing collection; IndexDownError if the server does not answer.
        """
        async with self._opening:
            if self._client is None:
                if self._owner is None:
                    self._client = await self._guarded(lambda: self._connected(make=make))
                else:
                    self._client = await self._owner._call(lambda client: self._prepared(client, make=True))

    def _connected(self, *, make: bool) -> QdrantClient:
        client = self._opened(make=make)
        if not make and not client.collection_exists(self._name):
            client.close()
            where = self._settings.url or self._settings.path
            raise IndexSettingsError(f"there is no collection {self._name!r} at {where} yet")
        return client

    async def examine(self) -> StoreCounts | None:
        """Counts the points without creating anything; None without a collection. Raises as ``open``."""
        client = await self._guarded(lambda: self._opened(make=False))
        try:
            return await self._guarded(lambda: self._counted(client) if client.collection_exists(self._name) else None)
        finally:
            await self._guarded(client.close)

    async def _call(self, operation: Callable[[QdrantClient], Result]) -> Result:
        if self._client is None:
            await self.open()
        client = self._client
        assert client is not None, "opened above"  # noqa: S101 - for the type checker
        if self._gone:
            await self._guarded(lambda: self._prepared(client, make=True))
            self._gone = False
        return await self._guarded(lambda: operation(client))

    async def _guarded(self, operation: Callable[[], Result]) -> Result:
        """Runs in a thread; an error of the client becomes one of the port's two errors."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, operation)
        except ResourceExhaustedResponse as error:
            raise IndexDownError(self._explained(f"{error}"), float(error.retry_after_s)) from error
        except UnexpectedResponse as error:
            # The collection was deleted: the next operation creates it again.
            self._gone = error.status_code == _NOT_FOUND
            raise IndexDownError(self._explained(f"status {error.status_code}: {error.content!r}")) from error
        except (ApiException, httpx.HTTPError, OSError, sqlite3.Error) as error:
            raise IndexDownError(self._explained(f"{type(error).__name__}: {error}")) from error

    def _explained(self, text: str) -> str:
        return without_secret(f"Qdrant: {text}", self._settings.api_key.get_secret_value())

    def _opened(self, *, make: bool) -> QdrantClient:
        settings = self._settings
        if settings.url:
            # It connects at the first request.
            client = QdrantClient(
                url=settings.url,
                api_key=settings.api_key.get_secret_value() or None,
                timeout=max(1, round(settings.timeout_seconds)),
                check_compatibility=False,
            )
        elif settings.path is None:
            client = QdrantClient(":memory:")
        else:
            settings.path.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
            owned = IndexOwnedError(
                f"another process owns the index at {settings.path}; name a Qdrant server for both "
                "(ASSAY_INDEX__URL=http://…), or another folder (ASSAY_INDEX__PATH=…)"
            )
            # The client would find out too, but would leave its lock file open.
            if _is_locked(settings.path / ".lock"):
                raise owned
            try:
                client = QdrantClient(path=str(settings.path))
            except RuntimeError as error:
                raise owned from error
            except _DAMAGE as error:
                if isinstance(error, sqlite3.OperationalError):
                    raise
                why = f"{type(error).__name__}: {str(error)[:200]}"
                raise IndexDamagedError(
                    f"the files of the index at {settings.path} are damaged ({why}): move the folder away, "
                    "and fill a new one from pages.scored.v1 (docs/operations.md#filling-an-index-again)"
                ) from error
        try:
            return self._prepared(client, make=make)
        except BaseException:
            client.close()
            raise

    def _prepared(self, client: QdrantClient, *, make: bool) -> QdrantClient:
        if client.collection_exists(self._name):
            self._check(client)
        elif make:
            self._make(client)
        return client

    def _make(self, client: QdrantClient) -> None:
        try:
            distance = models.Distance.COSINE if self._settings.url else models.Distance.DOT
            client.create_collection(self._name, models.VectorParams(size=self._dimensions, distance=distance))
        except (UnexpectedResponse, ValueError):
            # Another worker was faster, or the error is real.
            if not client.collection_exists(self._name):
                raise
            self._check(client)
        if self._settings.url:
            for key, kind in _FILTERED.items():
                client.create_payload_index(self._name, key, kind, wait=False)

    def _check(self, client: QdrantClient) -> None:
        vectors = client.get_collection(self._name).config.params.vectors
        size = vectors.size if isinstance(vectors, models.VectorParams) else None
        records, _ = client.scroll(self._name, limit=1, with_payload=["embedder"])
        found = next((str((record.payload or {}).get("embedder")) for record in records), self._embedder)
        if size != self._dimensions or found != self._embedder:
            raise IndexSettingsError(
                f"the collection {self._name!r} holds vectors of {found} with {size} dimensions, the embedder is "
                f"{self._embedder} with {self._dimensions}: name another collection (ASSAY_INDEX__COLLECTION=…) "
                "and fill it again from pages.scored.v1"
            )


def conditions_of(filters: SearchFilters) -> models.Filter:
    """The conditions on the payload of a point; a point without a key does not match a filter on it."""
    must: list[models.Condition] = []
    # Points have no host.
    domains = dict.fromkeys(map(registrable_domain, filters.domains))
    for key, values in ((TIER, filters.tiers), (DOMAIN, domains), (TAGS, filters.tags)):
        if values:
            must.append(models.FieldCondition(key=key, match=models.MatchAny(any=list(values))))
    if filters.date_from is not None or filters.date_to is not None:
        span = models.DatetimeRange(gte=filters.date_from, lt=filters.date_to)
        must.append(models.FieldCondition(key=DATE, range=span))
    return models.Filter(must=must)


def _is_locked(file: Path) -> bool:
    """Whether another client has the lock of an embedded store."""
    try:
        with file.open("r+") as lock:
            portalocker.lock(lock, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
            portalocker.unlock(lock)
    except portalocker.exceptions.LockException:
        return True
    except OSError:
        return False
    return False
