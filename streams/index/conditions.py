"""Filters of a search as Qdrant's conditions, and the keys of the payload that they are about."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from qdrant_client import models

from handlers.html.links import registrable_domain
from schemas.needs import SearchFilters

TIER, DOMAIN, TAGS, DATE = "tier", "domain", "trust_features.domain_tags", "date"
TIERS = ("A", "B", "C")


def conditions_of(filters: SearchFilters) -> models.Filter:
    """What the payload of a point must say; a point that lacks a key does not fit a filter on it."""
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
    """The registrable domains of the domains and hosts that are wanted: points know no host."""
    return tuple(dict.fromkeys(map(registrable_domain, filters.domains)))
