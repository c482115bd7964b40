"""Filters: parsed in the forms that people write, refused with a remedy, and applied to candidates."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.ranking.candidates import Candidate
from handlers.ranking.filters import BadFilter, fits, on_sites, read_filters
from handlers.trust.labels import Thresholds
from schemas.needs import SearchFilters
from schemas.queries import CandidateTrust, RankingFilters
from tests.samples import instance
from tests.tables import tables

TABLES = tables(__file__)

TIERS = Thresholds(70, 40)


def day(year: int, month: int = 1, day: int = 1, hour: int = 0) -> datetime:
    return datetime(year, month, day, hour, tzinfo=UTC)


def candidate(**fields: Any) -> Candidate:
    values: dict[str, Any] = dict(TABLES["candidate"])
    return Candidate(**(values | fields))


def read(**fields: Any) -> SearchFilters:
    return instance(SearchFilters, read_filters(RankingFilters.model_validate(fields)))


def test_empty_filters_filter_nothing() -> None:
    assert read_filters(RankingFilters()) is None
    assert read_filters(RankingFilters(date_from=" ", date_to="")) is None
    assert fits(candidate(), None, TIERS)


@pytest.mark.parametrize(
    ("text", "first", "after"),
    [
        *((text, day(*first), day(*after)) for text, first, after in TABLES["days_months_and_years_count_whole"]),
        ("2024-05-03T08:00", day(2024, 5, 3, 8), day(2024, 5, 3, 8).replace(microsecond=1)),
        ("2024-05-03T08:00:00+08:00", day(2024, 5, 3), day(2024, 5, 3).replace(microsecond=1)),
    ],
)
def test_days_months_and_years_count_whole(text: str, first: datetime, after: datetime) -> None:
    assert read(date_from=text).date_from == first
    assert read(date_to=text).date_to == after


@pytest.mark.parametrize(
    "text", ["yesterday", "2024-13-01", "2024-02-30", "03/05/2024", "9999-13", "0000", "2024-00", "x" * 40]
)
def test_invalid_date_filter_is_rejected_with_reason(text: str) -> None:
    for key in ("date_from", "date_to"):
        bad = instance(BadFilter, read_filters(RankingFilters.model_validate({key: text})))
        assert bad.detail.startswith(f"{key}: {text!r} is no date; write")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"date_form": "2024-01-01", "tier": "A"},
            "filters: there is no 'date_form'; there are tiers, domains, tags, date_from, date_to",
        ),
        ({"source_tier": 1}, "filters: there is no 'source_tier'; there are "),
        ({"x" * 900: None}, f"filters: there is no {'x' * 50!r}; there are "),
        ({"tier": "A", "tiers": ["B"]}, "filters: tier is there in two spellings; write tiers alone"),
    ],
)
def test_unknown_filter_is_rejected_with_reason(fields: dict[str, Any], said: str) -> None:
    """Ignored, as unknown fields are elsewhere, it would let through what was to be kept out."""
    bad = instance(BadFilter, read_filters(RankingFilters.model_validate(fields)))
    assert bad.detail.startswith(said)


def test_date_span_that_ends_before_it_begins_is_rejected() -> None:
    bad = read_filters(RankingFilters(date_from="2024-05-03", date_to="2024-05-02"))
    assert bad == BadFilter("date_from 2024-05-03 is after date_to 2024-05-02")
    assert read(date_from="2024-05-03", date_to="2024-05-03").date_to == day(2024, 5, 4)


@pytest.mark.parametrize(("written", "site"), TABLES["domains_are_read_as_people_write_them"])
def test_domains_are_read_as_people_write_them(written: str, site: str) -> None:
    assert read(domain=written).domains == (site,)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        *((suffix, "suffix that many share") for suffix in ("gov.tw", "com", "*.tw", "https://org/")),
        ("", "no domain"),
        ("://", "no domain"),
    ],
)
def test_invalid_domain_filter_is_rejected_with_reason(written: str, said: str) -> None:
    bad = instance(BadFilter, read_filters(RankingFilters(domains=(written,))))
    assert said in bad.detail


def test_filter_needs_one_value_per_list_and_every_list() -> None:
    filters = read(tier=["A", "B"], tag="News", domain=["example.com", "other.example"], date_from="2024")
    trust = CandidateTrust(domain_tags=("news",))
    good = candidate(cts_score=70, trust=trust, date="2024-05-03")
    assert fits(good, filters, TIERS)
    for lacking in (
        candidate(cts_score=39, trust=trust, date="2024-05-03"),
        candidate(cts_score=None, trust=trust, date="2024-05-03"),
        candidate(cts_score=70, trust=CandidateTrust(domain_tags=("blog",)), date="2024-05-03"),
        candidate(cts_score=70, trust=None, date="2024-05-03"),
        candidate(cts_score=70, trust=trust, date="2023-12-31"),
        candidate(cts_score=70, trust=trust, date=None),
        candidate(cts_score=70, trust=trust, date="soon"),
        candidate(cts_score=70, trust=trust, date="2024-05-03", url="https://elsewhere.example/"),
    ):
        assert not fits(lacking, filters, TIERS)


def test_hosts_are_below_their_domain_and_never_beside_it() -> None:
    assert on_sites("https://a.b.example.com/x", ("b.example.com",))
    assert not on_sites("https://notexample.com/", ("example.com",))
    assert not on_sites("no address", ("example.com",))
    assert on_sites("no address", ())


@given(st.text(max_size=40))
def test_read_filters_never_raises(text: str) -> None:
    text = text.replace("\x00", "")
    read_filters(RankingFilters.model_validate({"date_from": text, "domains": [text], "tags": [text]}))
