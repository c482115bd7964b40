"""Days: many languages and orders, the context that a day needs, and texts that only look like one."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.classify_results import ClassifyResultsRules
from handlers.text.dates import MomentReader, Order, Origin, is_plausible, origin_of, stated_moment, written_days
from handlers.text.reading import Day
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

PATTERNS = shipped_rules(ClassifyResultsRules).details


def dates(text: str) -> list[tuple[str, str | None]]:
    return [(text[day.start : day.end], iso(day.value)) for day in written_days(text, PATTERNS)]


def iso(day: Day) -> str | None:
    """A day without a year as ``--11-29``; None if day and month can't be told apart."""
    if day.month is None:
        return None
    year = "-" if day.year is None else f"{day.year:04d}"
    return f"{year}-{day.month:02d}-{day.day:02d}"


@pytest.mark.parametrize(("text", "written", "value"), TABLES["one_day"])
def test_one_day(text: str, written: str, value: str) -> None:
    assert dates(text) == [(written, value)]


@pytest.mark.parametrize(("text", "values"), TABLES["several_days_or_none"])
def test_several_days_or_none(text: str, values: tuple[str, ...]) -> None:
    assert [value for _, value in dates(text)] == list(values)


@pytest.mark.parametrize(("text", "order", "value"), TABLES["where_a_text_comes_from_decides_the_order"])
def test_where_a_text_comes_from_decides_the_order(text: str, order: Order | None, value: str | None) -> None:
    assert [iso(found.value) for found in written_days(text, PATTERNS, Origin(order))] == [value]


def test_days_are_read_up_to_a_limit() -> None:
    assert len(list(written_days("3 May 2024 " * 50, PATTERNS, limit=5))) == 5


def test_the_order_of_day_and_month_may_be_open() -> None:
    assert [value for _, value in dates("by 05/06 or so; 05/06/2024; 06/06/2024")] == [None, None, "2024-06-06"]


READER = MomentReader(PATTERNS)


@pytest.mark.parametrize(("text", "iso"), TABLES["read"])
def test_read(text: str, iso: str | None) -> None:
    found = READER.read(text)
    assert (found.isoformat() if found else None) == iso


@pytest.mark.parametrize(
    ("text", "origin", "iso"),
    [
        ("113-05-03", Origin(is_chinese=True), "2024-05-03"),
        ("03/04/2024", Origin("day"), "2024-04-03"),
        ("03/04/2024", Origin("month"), "2024-03-04"),
        ("3.3.21", Origin("day"), "2021-03-03"),
        ("3.3.21", Origin(), None),
    ],
)
def test_where_a_page_comes_from_decides(text: str, origin: Origin, iso: str | None) -> None:
    found = READER.read(text, origin)
    assert (found.isoformat() if found else None) == iso


@given(st.text(max_size=80))
def test_date_reader_never_raises(text: str) -> None:
    for found in (READER.read(text), stated_moment(text)):
        assert found is None or found.year > 0


@pytest.mark.parametrize(
    ("moment", "is_so"),
    [
        (date(2024, 5, 3), True),
        (date(2024, 5, 4), True),
        # It is tomorrow already in the east of the world.
        (date(2024, 5, 5), True),
        (date(2024, 5, 6), False),
        (date(1066, 10, 14), False),
        (datetime(2024, 5, 4, 23, tzinfo=timezone(timedelta(hours=8))), True),
        (datetime(2031, 1, 1, tzinfo=UTC), False),
    ],
)
def test_nothing_is_published_after_its_fetch(moment: date, is_so: bool) -> None:
    assert is_plausible(moment, 1990, datetime(2024, 5, 4, 12, tzinfo=UTC)) is is_so


@given(st.datetimes(timezones=st.just(timezone(timedelta(hours=14)))) | st.datetimes() | st.none())
def test_no_time_of_fetching_is_out_of_range(fetched_at: datetime | None) -> None:
    is_plausible(date(2024, 5, 3), 1990, fetched_at)


def test_nothing_was_published_before_a_fetch_in_the_year_1() -> None:
    assert not is_plausible(date(2024, 5, 3), 1990, datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))))


@pytest.mark.parametrize(("url", "declared", "language", "order"), TABLES["order"])
def test_order(url: str, declared: tuple[str, ...], language: str | None, order: str | None) -> None:
    assert origin_of(url, declared, language, PATTERNS).order == order


def test_chinese_pages_may_count_years_of_the_republic() -> None:
    assert origin_of("https://a.example/", [], "zh", PATTERNS) == Origin(None, is_chinese=True)
