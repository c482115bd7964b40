"""Writes and searches points in Qdrant: JSON for a server, arrays for the embedded store, and the filters of a search.

The embedded client compares every point in every search. Three measures make that fast enough for 100,000 points (the
figures are in ADR 0014):

- Vectors are passed as arrays. Lists of Python floats take 32 bytes a number while files are opened.
- Vectors have length 1, so the dot product is the cosine, and the client does not normalize them in every search.
- A filter takes 12 microseconds a point, 90 with a date. The filtered fields of each point are therefore read once and
  kept here. If few points match, only they are compared with the query. If many match, the nearest points are searched
  without a filter, and enough of them match.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from qdrant_client import QdrantClient, models
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
    for key, values in ((TIER, filters.tiers), (DOMAIN, domains_of(filters)), (TAGS, filters.tags)):
        if values:
            must.append(models.FieldCondition(key=key, match=models.MatchAny(any=list(values))))
    if filters.date_from is not None or filters.date_to is not None:
        span = models.DatetimeRange(gte=filters.date_from, lt=filters.date_to)
        must.append(models.FieldCondition(key=DATE, range=span))
    return models.Filter(must=must)


@lru_cache(maxsize=256)
def domains_of(filters: SearchFilters) -> Sequence[str]:
    """The registrable domains of the filtered domains and hosts: points have no host."""
    return tuple(dict.fromkeys(map(registrable_domain, filters.domains)))


Found = list[tuple[float, dict[str, Any]]]
_UNNAMED = ""  # the name of a point's only vector
_KEYS = [MEMORY, TIER, DOMAIN, TAGS, DATE]
_ONE_MEMORY = models.IsEmptyCondition(is_empty=models.PayloadField(key=MEMORY))
_PAGE = 20_000
_MARGIN = 2  # factor on the number of points that should contain enough matches, given the share of matches
_MORE = 4  # factor for the next search if the matches are far from the query


class Points:
    """Access to a server, which has an index for each filtered key. All methods run in the store's threads."""

    distance = models.Distance.COSINE  # of a new collection

    def struct(self, point: StoredPoint, embedder: str) -> models.PointStruct:
        payload = {**point.payload, "embedder": embedder}
        return models.PointStruct(id=point.id, vector=list(point.vector), payload=payload)

    def search(
        self, client: QdrantClient, name: str, vector: Vector, limit: int, filters: SearchFilters | None
    ) -> Found:
        """Cosine and payload of the nearest points that match the filters, nearest first."""
        wanted = conditions_of(filters) if filters is not None else None
        found = client.query_points(name, list(vector), query_filter=wanted, limit=limit, with_payload=True)
        return [(point.score, point.payload or {}) for point in found.points]

    def count(self, client: QdrantClient, name: str) -> StoreCounts:
        """Counts points, and documents by tier. One point of each document has its memory, so that one is counted."""

        # A server knows its number of points. For a filter it estimates from each key alone, so documents are counted.
        def documents(tier: str) -> int:
            of_tier = models.FieldCondition(key=TIER, match=models.MatchValue(value=tier))
            return client.count(name, models.Filter(must=[of_tier], must_not=[_ONE_MEMORY])).count

        return StoreCounts(client.count(name, exact=False).count, {tier: documents(tier) for tier in TIERS})

    def changed(self, ids: Sequence[str]) -> None:
        """Notes that points are being written, amended or removed."""


class _Facts(NamedTuple):
    """The filtered fields of a point, and whether it has the memory of its document."""

    has_memory: bool
    tier: str
    domain: str
    tags: tuple[Any, ...]
    date: datetime | None


class EmbeddedPoints(Points):
    """Access to the embedded store, which takes arrays. The validation of its models refuses them, so it is skipped."""

    distance = models.Distance.DOT

    def __init__(self) -> None:
        self._facts: dict[str, _Facts] | None = None
        self._stale: set[str] = set()

    @override
    def struct(self, point: StoredPoint, embedder: str) -> models.PointStruct:
        vector: Any = {_UNNAMED: np.asarray(point.vector, dtype=np.float32)}
        payload = {**point.payload, "embedder": embedder}
        return models.PointStruct.model_construct(id=point.id, vector=vector, payload=payload)

    @override
    def search(
        self, client: QdrantClient, name: str, vector: Vector, limit: int, filters: SearchFilters | None
    ) -> Found:
        array = np.asarray(vector, dtype=np.float32)
        if filters is None:
            found = client.query_points(name, _query(array), limit=limit, with_payload=True)
            return [(point.score, point.payload or {}) for point in found.points]
        facts = self._known(client, name)
        fitting = {point_id for point_id, point in facts.items() if _fits(point, filters)}
        if len(fitting) ** 2 <= limit * len(facts):
            scores = _compared(client, name, array, fitting, limit)
        else:
            scores = _nearest_of(client, name, array, fitting, limit, len(facts))
        kept = {str(record.id): record.payload or {} for record in client.retrieve(name, list(scores))}
        return [(score, kept[point_id]) for point_id, score in scores.items()]

    @override
    def count(self, client: QdrantClient, name: str) -> StoreCounts:
        facts = self._known(client, name)
        tiers = Counter(point.tier for point in facts.values() if point.has_memory)
        return StoreCounts(len(facts), {tier: tiers[tier] for tier in TIERS})

    @override
    def changed(self, ids: Sequence[str]) -> None:
        # If the change fails, their fields are read again without need.
        if self._facts is not None:
            self._stale.update(ids)

    def _known(self, client: QdrantClient, name: str) -> dict[str, _Facts]:
        """The filtered fields of all points. They are read at the first filtered search or count."""
        if self._facts is None:
            self._facts, page = {}, None
            while True:
                records, page = client.scroll(name, limit=_PAGE, offset=page, with_payload=_KEYS)
                self._facts |= _read(records)
                if page is None:
                    break
        if self._stale:
            for point_id in self._stale:
                self._facts.pop(point_id, None)
            self._facts |= _read(client.retrieve(name, list(self._stale), with_payload=_KEYS))
            self._stale.clear()
        return self._facts


def _query(array: NDArray[np.float32]) -> models.NearestQuery:
    nearest: Any = array
    return models.NearestQuery.model_construct(nearest=nearest)


def _compared(
    client: QdrantClient, name: str, array: NDArray[np.float32], ids: Collection[str], limit: int
) -> dict[str, float]:
    """The nearest of a few points, by comparing each of them."""
    if not ids:
        return {}
    records = client.retrieve(name, list(ids), with_payload=False, with_vectors=True)
    scores = np.array([record.vector for record in records], dtype=np.float32) @ array
    nearest = np.argsort(-scores, kind="stable")[:limit]
    return {str(records[place].id): float(scores[place]) for place in nearest}


def _nearest_of(
    client: QdrantClient, name: str, array: NDArray[np.float32], ids: Collection[str], limit: int, total: int
) -> dict[str, float]:
    """The nearest of many points: searches ever more of all points, until enough of the result are in ``ids``."""
    asked = _MARGIN * limit * total // len(ids) + 1
    while True:
        nearest = client.query_points(name, _query(array), limit=asked, with_payload=False).points
        among = [point for point in nearest if str(point.id) in ids]
        if len(among) >= limit or asked >= total:
            return {str(point.id): point.score for point in among[:limit]}
        asked *= _MORE


def _read(records: Sequence[models.Record]) -> dict[str, _Facts]:
    outer, _, inner = TAGS.partition(".")
    found = {}
    for record in records:
        payload = record.payload or {}
        features = payload.get(outer)
        tags = features.get(inner) if isinstance(features, Mapping) else ()
        found[str(record.id)] = _Facts(
            bool(payload.get(MEMORY)),
            str(payload.get(TIER)),
            str(payload.get(DOMAIN)),
            tuple(tags) if isinstance(tags, list | tuple) else (tags,),
            _instant(payload.get(DATE)),
        )
    return found


def _fits(facts: _Facts, filters: SearchFilters) -> bool:
    """Whether a point matches; the same as ``conditions_of``."""
    if (
        (filters.tiers and facts.tier not in filters.tiers)
        or (filters.domains and facts.domain not in domains_of(filters))
        or (filters.tags and not any(tag in filters.tags for tag in facts.tags))
    ):
        return False
    begin, end = filters.date_from, filters.date_to
    if facts.date is None:
        return begin is None and end is None
    return (begin is None or begin <= facts.date) and (end is None or facts.date < end)


def _instant(value: object) -> datetime | None:
    """The instant of a date; as in Qdrant, a day begins at midnight, and the default zone is UTC."""
    if not isinstance(value, str):
        return None
    try:
        instant = datetime.fromisoformat(value)
    except ValueError:
        return None
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)
