"""The filters of a request: read once, sent to the index, and checked against candidates of a request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from handlers.html.links import host_of, is_public_suffix, registrable_domain
from handlers.ranking.candidates import Candidate
from handlers.ranking.config import RetrievalSection
from handlers.trust.labels import Standing, Thresholds, tier_of
from schemas.needs import SearchFilters, SearchVectors
from schemas.queries import RankingFilters, RankingRequested

_LAST = datetime.max.replace(tzinfo=UTC)
_YEAR_OR_MONTH = re.compile(r"(\d{4})(?:-(\d{2}))?")
_DATE_CHARACTERS = 10
_MOST_OF_A_KEY = 50
_LISTS = {"tier": "tiers", "domain": "domains", "tag": "tags"}


@dataclass(frozen=True, slots=True)
class BadFilter:
    """A filter that can't be read, or that no document can fit; ``detail`` says which, and what to write instead."""

    detail: str


def search_for(request: RankingRequested, section: RetrievalSection) -> SearchVectors | BadFilter:
    """The search in the index: for enough documents, of which those of the highest tier have many points."""
    filters = read_filters(request.filters)
    if isinstance(filters, BadFilter):
        return filters
    documents = min(max(section.documents, request.limit or 0), section.candidates)
    return SearchVectors("documents", request.query, section.points, filters, documents, section.most_points)


def read_filters(filters: RankingFilters) -> SearchFilters | BadFilter | None:
    """The filters of a request as the index takes them; None without filters.

    Days count whole, from midnight to midnight UTC, and so do months and years; an instant without a zone is in UTC.

    >>> read_filters(RankingFilters(date_to="2024-02-29")).date_to.isoformat()
    '2024-03-01T00:00:00+00:00'
    """
    # If an unknown filter were ignored, results would pass that it should exclude.
    for key in filters.model_extra or ():
        if key in RankingFilters.model_fields or key in _LISTS:
            return BadFilter(f"filters: {key} is there in two spellings; write {_LISTS.get(key, key)} alone")
        known = ", ".join(RankingFilters.model_fields)
        return BadFilter(f"filters: there is no {key[:_MOST_OF_A_KEY]!r}; there are {known}")
    begin, end = _span(filters.date_from), _span(filters.date_to)
    for key, text, span in (("date_from", filters.date_from, begin), ("date_to", filters.date_to, end)):
        if span is None and text and text.strip():
            return BadFilter(f"{key}: {text!r} is no date; write a day (2024-05-03) or an instant (2024-05-03T08:00Z)")
    if begin is not None and end is not None and begin[0] >= end[1]:
        return BadFilter(f"date_from {filters.date_from} is after date_to {filters.date_to}")
    sites = {value: _site(value) for value in filters.domains}
    for value, site in sites.items():
        if not site:
            return BadFilter(f"domain: {value!r} is no domain; write one such as example.com")
        if is_public_suffix(site):
            return BadFilter(f"domain: {site} is a suffix that many share; name the domains below it")
    read = SearchFilters(
        tiers=tuple(dict.fromkeys(filters.tiers)),
        domains=tuple(dict.fromkeys(sites.values())),
        tags=tuple(dict.fromkeys(tag.strip().casefold() for tag in filters.tags)),
        date_from=begin[0] if begin is not None else None,
        date_to=end[1] if end is not None else None,
    )
    return read if read != SearchFilters() else None


def fits(
    candidate: Candidate, filters: SearchFilters | None, tiers: Thresholds, standing: Standing | None = None
) -> bool:
    """Whether a candidate fits all filters; one without the filtered property does not.

    A candidate of a request has a score but no index tier: ``tiers`` has the least score of each tier, and the
    ``standing`` of its source bounds the tier.
    """
    if filters is None:
        return True
    trust, score = candidate.trust, candidate.cts_score
    tier = None if score is None else tier_of(score, trust.source_tier if trust else None, tiers, standing)
    tags = [tag.casefold() for tag in (trust.domain_tags if trust else ())]
    span = _span(candidate.date)
    dated = span is not None and (filters.date_from or span[0]) <= span[0] < (filters.date_to or _LAST)
    return (
        (not filters.tiers or tier in filters.tiers)
        and on_sites(candidate.url, filters.domains)
        and (not filters.tags or any(tag in filters.tags for tag in tags))
        and (dated or (filters.date_from is None and filters.date_to is None))
    )


def on_sites(url: str, sites: Sequence[str]) -> bool:
    """Whether an address is on one of these domains or hosts, or below it; True if there are no sites.

    >>> [on_sites("https://news.example.com/a", (site,)) for site in ("example.com", "www.example.com")]
    [True, False]
    """
    host = host_of(url)
    return not sites or any(host == site or host.endswith("." + site) for site in sites)


def _site(value: str) -> str:
    """The host of a domain that is written with or without scheme, port, path, ``*.`` or ``www.``."""
    value = value.strip().lower().removeprefix("*.")
    host = host_of(value if "://" in value else f"http://{value}")
    without = host.removeprefix("www.")
    return without if without and registrable_domain(host) == without else host


def _span(text: str | None) -> tuple[datetime, datetime] | None:
    """First instant of a day, month, year or instant, and the first after it; None where the text can't be read."""
    text = (text or "").strip()
    part = _YEAR_OR_MONTH.fullmatch(text)
    try:
        begin = datetime(int(part[1]), int(part[2] or 1), 1, tzinfo=UTC) if part else datetime.fromisoformat(text)
    except ValueError:
        return None
    begin = begin if begin.tzinfo else begin.replace(tzinfo=UTC)
    try:
        if part:
            return begin, (begin + timedelta(days=31 if part[2] else 366)).replace(day=1)
        return begin, begin + (timedelta(days=1) if len(text) <= _DATE_CHARACTERS else timedelta(microseconds=1))
    except OverflowError:
        return begin, _LAST
