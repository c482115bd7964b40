"""Headers that strangers wrote."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.fetch.headers import location, retry_after

NOW = datetime(2026, 11, 3, 11, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7.0),
        (" 7 ", 7.0),
        ("0", 0.0),
        ("007", 7.0),
        ("9" * 4000, 999_999_999.0),
        ("Tue, 03 Nov 2026 11:01:30 GMT", 90.0),
        ("Tuesday, 03-Nov-26 11:01:30 GMT", 90.0),
        ("Tue Nov  3 11:01:30 2026", None),
        ("Tue, 03 Nov 2026 12:01:30 +0100", 90.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("Tue, 03 Nov 9999 11:00:00 GMT", pytest.approx(2.516e11, rel=1e-3)),
        ("Tue, 03 Nov 99999 11:00:00 GMT", None),
        (f"Tue, {'9' * 40} Nov 2026 11:00:00 GMT", None),
        (f"Tue, 03 Nov 2026 11:00:00 +{'9' * 40}", None),
        ("-1", None),
        ("+1", None),
        ("1.5", None),
        ("1e3", None),
        ("²", None),
        ("soon", None),
        ("", None),
    ],
)
def test_retry_after_in_its_forms(text: str, seconds: float | None) -> None:
    assert retry_after(text, NOW) == seconds


@given(st.text(max_size=60))
def test_no_retry_after_raises_or_asks_for_the_past(text: str) -> None:
    assert (retry_after(text, NOW) or 0.0) >= 0.0


@pytest.mark.parametrize(
    ("status", "said", "expected"),
    [
        (301, "/b", "http://a.example/b"),
        (302, "b?c", "http://a.example/x/b?c"),
        (303, "//b.example/", "http://b.example/"),
        (307, "https://b.example/é", "https://b.example/é"),
        (308, "http://[", "http://["),
        (301, "", None),
        (200, "/b", None),
        (300, "/b", None),
        (304, "/b", None),
    ],
)
def test_where_a_redirect_leads(status: int, said: str, expected: str | None) -> None:
    assert location("http://a.example/x/y", status, {"location": said}) == expected
