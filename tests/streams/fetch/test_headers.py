"""Headers from untrusted servers."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.fetch.headers import location, retry_after
from tests.tables import tables

TABLES = tables(__file__)

NOW = datetime(2026, 11, 3, 11, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *TABLES["retry_after"],
        ("9" * 4000, 999_999_999.0),
        ("Tue, 03 Nov 9999 11:00:00 GMT", pytest.approx(2.516e11, rel=1e-3)),
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
