"""What a result must be: the filters of a request, read once and held against candidates.

The filters as they were written go in; what the index is asked for comes out, or why they can't be meant. The same
rules decide for candidates that nobody has to look for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from handlers.html.links import host_of, is_public_suffix, registrable_domain
from handlers.ranking.candidate import Candidate
from handlers.trust.labels import Thresholds, tier_of
from schemas.needs import SearchFilters
from schemas.queries import RankingFilters

_RESOLUTION = timedelta(microseconds=1)
_LAST = datetime.max.replace(tzinfo=UTC)
"""The last instant there is: what would end after it ends with it."""
_MOST_OF_A_KEY = 50
_LISTS = {"tier": "tiers", "domain": "domains", "tag": "tags"}


@dataclass(frozen=True, slots=True)
class BadFilter:
    """Filters that nothing could ever fit, or that can't be read; ``detail`` says which and what to write instead."""

    detail: str


def read_filters(filters: RankingFilters) -> SearchFilters | BadFilter | None:
    """The filters of a request as the index takes them; None where there are none.

    Days count whole, from midnight to midnight UTC, and so do months and years; an instant without a zone is in UTC.

    >>> read_filters(RankingFilters(date_to="2024-02-29")).date_to.isoformat()
    '2024-03-01T00:00:00+00:00'
    """
    if (unknown := _unknown(filters)) is not None:
        return BadFilter(unknown)
    begin, end = _span(filters.date_from), _span(filters.date_to)
    for key, span in (("date_from", begin), ("date_to", end)):
        if isinstance(span, str):
            return BadFilter(f"{key}: {span!r} is no date; write a day (2024-05-03) or an instant (2024-05-03T08:00Z)")
    assert not isinstance(begin, str), "refused above"  # noqa: S101 - for the type checker
    assert not isinstance(end, str), "refused above"  # noqa: S101 - for the type checker
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


def fits(candidate: Candidate, filters: SearchFilters | None, tiers: Thresholds) -> bool:
    """Whether a candidate is what the filters ask for; what it does not say, it is not.

    Args:
        candidate: Whoever retrieved it.
        filters: As ``read_filters`` gives them; all of them must hold.
        tiers: Scores from which the indexing tiers begin: a candidate that was given has a score, but no tier.
    """
    if filters is None:
        return True
    if filters.tiers and _tier(candidate, tiers) not in filters.tiers:
        return False
    if not on_sites(candidate.url, filters.domains):
        return False
    if filters.tags:
        tags = candidate.trust.domain_tags if candidate.trust is not None else ()
        if not any(tag.casefold() in filters.tags for tag in tags):
            return False
    if filters.date_from is None and filters.date_to is None:
        return True
    span = _span(candidate.date)
    if span is None or isinstance(span, str):
        return False
    published = span[0]
    after = filters.date_from is None or published >= filters.date_from
    return after and (filters.date_to is None or published < filters.date_to)


def _tier(candidate: Candidate, tiers: Thresholds) -> str | None:
    if candidate.cts_score is None:
        return None
    return tier_of(candidate.cts_score, candidate.trust.source_tier if candidate.trust else None, tiers)


def on_sites(url: str, sites: Sequence[str]) -> bool:
    """Whether an address is on one of these domains or hosts, or below it; every address is on none at all.

    >>> [on_sites("https://news.example.com/a", (site,)) for site in ("example.com", "www.example.com")]
    [True, False]
    """
    host = host_of(url)
    return not sites or any(host == site or host.endswith("." + site) for site in sites)


def _site(value: str) -> str:
    """A domain as people write it: with or without scheme, port, path, ``*.`` or ``www.``."""
    value = value.strip().lower().removeprefix("*.")
    host = host_of(value if "://" in value else f"//{value}")
    without = host.removeprefix("www.")
    return without if without and registrable_domain(host) == without else host


def _unknown(filters: RankingFilters) -> str | None:
    """What is wrong with a filter that there is not: ignored, it would let through what was to be kept out."""
    for key in filters.model_extra or ():
        if key in RankingFilters.model_fields or key in _LISTS:
            return f"filters: {key} is there in two spellings; write {_LISTS.get(key, key)} alone"
        known = ", ".join(RankingFilters.model_fields)
        return f"filters: there is no {key[:_MOST_OF_A_KEY]!r}; there are {known}"
    return None


def _span(text: str | None) -> tuple[datetime, datetime] | str | None:
    """First instant of a day, month or year, and the first after it; an instant ends as soon as it can.

    The text itself where it is none of them.
    """
    if text is None or not (stripped := text.strip()):
        return None
    try:
        if len(stripped) == 4:
            year = int(stripped)
            return _day(year, 1, 1), _first_after(year, 12)
        if len(stripped) == 7 and stripped[4] == "-":
            year, month = int(stripped[:4]), int(stripped[5:])
            return _day(year, month, 1), _first_after(year, month)
        day = _whole_day(stripped)
        if day is not None:
            return _midnight(day), _LAST if day == date.max else _midnight(day + timedelta(days=1))
        instant = datetime.fromisoformat(stripped)
        instant = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
        return instant, instant + _RESOLUTION if instant < _LAST else _LAST
    except (ValueError, OverflowError):
        return text


def _whole_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _first_after(year: int, month: int) -> datetime:
    if (year, month) == (date.max.year, date.max.month):
        return _LAST
    return _day(year + month // 12, month % 12 + 1, 1)


def _day(year: int, month: int, day: int) -> datetime:
    return _midnight(date(year, month, day))


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
