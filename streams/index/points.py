"""Writes and searches points in Qdrant: JSON for a server, arrays for the embedded store, and the filters of a search.

The embedded client compares every point in every search. Two measures make that fast enough for 100,000 points: vectors
are passed as arrays, because lists of Python floats take 32 bytes a number while files are opened; and vectors have
length 1, so the dot product is the cosine, and the client does not normalize them in every search. A filter still looks
at the payload of every point: a large index with filters needs a server.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from qdrant_client import QdrantClient, models
from qdrant_client.local import datetime_utils
from typing_extensions import override

from handlers.html.links import registrable_domain
from handlers.indexing.points import MEMORY
from schemas.needs import SearchFilters
from streams.index.ports import StoreCounts, StoredPoint, Vector

TIER, DOMAIN, TAGS, DATE = "tier", "domain", "trust_features.domain_tags", "date"
TIERS = ("A", "B", "C")


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


Found = list[tuple[float, dict[str, Any]]]
# The embedded client tries up to 15 formats on the date of each point in each search, and pages share their days.
datetime_utils.parse = lru_cache(maxsize=65_536)(datetime_utils.parse)
_UNNAMED = ""  # the name of a point's only vector
_ONE_MEMORY = models.IsEmptyCondition(is_empty=models.PayloadField(key=MEMORY))


class Points:
    """Access to a server, which has an index for each filtered key. All methods run in the store's threads."""

    distance = models.Distance.COSINE  # of a new collection

    def struct(self, point: StoredPoint, embedder: str) -> models.PointStruct:
        payload = {**point.payload, "embedder": embedder}
        return models.PointStruct(id=point.id, vector=list(point.vector), payload=payload)

    def query(self, vector: Vector) -> Any:
        return list(vector)

    def search(
        self, client: QdrantClient, name: str, vector: Vector, limit: int, filters: SearchFilters | None
    ) -> Found:
        """Cosine and payload of the nearest points that match the filters, nearest first."""
        wanted = conditions_of(filters) if filters is not None else None
        found = client.query_points(name, self.query(vector), query_filter=wanted, limit=limit, with_payload=True)
        return [(point.score, point.payload or {}) for point in found.points]

    def count(self, client: QdrantClient, name: str) -> StoreCounts:
        """Counts points, and documents by tier. One point of each document has its memory, so that one is counted."""

        # A server knows its number of points. For a filter it estimates from each key alone, so documents are counted.
        def documents(tier: str) -> int:
            of_tier = models.FieldCondition(key=TIER, match=models.MatchValue(value=tier))
            return client.count(name, models.Filter(must=[of_tier], must_not=[_ONE_MEMORY])).count

        return StoreCounts(client.count(name, exact=False).count, {tier: documents(tier) for tier in TIERS})


class EmbeddedPoints(Points):
    """Access to the embedded store, which takes arrays. The validation of its models refuses them, so it is skipped."""

    distance = models.Distance.DOT

    @override
    def struct(self, point: StoredPoint, embedder: str) -> models.PointStruct:
        vector: Any = {_UNNAMED: np.asarray(point.vector, dtype=np.float32)}
        payload = {**point.payload, "embedder": embedder}
        return models.PointStruct.model_construct(id=point.id, vector=vector, payload=payload)

    @override
    def query(self, vector: Vector) -> Any:
        nearest: Any = np.asarray(vector, dtype=np.float32)
        return models.NearestQuery.model_construct(nearest=nearest)
