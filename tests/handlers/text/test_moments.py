from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.text.day_order import Origin
from handlers.text.moments import MomentReader, is_plausible, stated_moment
from tests.handlers.html.rules import PATTERNS

READER = MomentReader(PATTERNS)


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2024-05-03", "2024-05-03"),
        ("2024-05-03T08:09", "2024-05-03T08:09:00"),
        ("2024-05-03T08:09:10.123Z", "2024-05-03T08:09:10+00:00"),
        ("2024-05-03 08:09:10 +0800", "2024-05-03T08:09:10+08:00"),
        ("2024-05-03 08:09:10 GMT", "2024-05-03T08:09:10+00:00"),
        ("2024-05-03T08:09:10-03:30", "2024-05-03T08:09:10-03:30"),
        ("2024/5/3", "2024-05-03"),
        ("2024年5月3日 10:00", "2024-05-03"),
        ("2024년 5월 3일", "2024-05-03"),
        ("民國113年5月3日", "2024-05-03"),
        ("113年5月3日", "2024-05-03"),
        ("發布日期：113-05-03", "2024-05-03"),
        ("公告日期 113/05/03", "2024-05-03"),
        ("令和6年5月3日", "2024-05-03"),
        ("平成元年5月3日", "1989-05-03"),
        ("20240503", "2024-05-03"),
        ("Published 3rd of May, 2024", "2024-05-03"),
        ("May 3, 2024 at 5 pm", "2024-05-03"),
        ("Fri, 03 May 2024 10:00:00 GMT", "2024-05-03"),
        ("3. Mai 2024", "2024-05-03"),
        ("3. Maerz 2024", "2024-03-03"),
        ("3 de mayo de 2024", "2024-05-03"),
        ("le 3 août 2024", "2024-08-03"),
        ("29 ноября 2024", "2024-11-29"),
        ("29 listopada 2024", "2024-11-29"),
        ("03.05.2024, 10:12 Uhr", "2024-05-03"),
        ("13/5/2024", "2024-05-13"),
        ("1714694400", "2024-05-03T00:00:00+00:00"),
        ("1714694400000", "2024-05-03T00:00:00+00:00"),
        # Neither order is known; no calendar, clock or country has these; not a whole date.
        ("03/04/2024", None),
        ("113-05-03", None),
        ("2024-13-45", None),
        ("2024-02-30", None),
        ("2024-05-03T25:00", None),
        ("2024-05-03T10:00:00+99:99", None),
        ("2024-05-03T10:00:00+15:00", None),
        ("May 2024", None),
        ("yesterday", None),
        ("", None),
        ("version 1.2.3", None),
    ],
)
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
def test_any_text_is_a_date_or_none(text: str) -> None:
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
