"""Back-off and Retry-After headers from strangers."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.runtime.backoff import full_jitter, retry_after
from tests.tables import tables

TABLES = tables(__file__)

NOW = datetime(2026, 11, 3, 11, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *TABLES["retry_after"],
        ("9" * 4000, 999_999_999_999.0),
        ("Tue, 03 Nov 9999 11:00:00 GMT", pytest.approx(2.516e11, rel=1e-3)),
        ((NOW + timedelta(seconds=90)).strftime("%a, %d %b %Y %H:%M:%S GMT"), 90.0),
    ],
)
def test_retry_after_in_its_forms(text: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": text}, NOW) == seconds


def test_milliseconds_come_first_and_no_header_is_no_wish() -> None:
    assert retry_after({"retry-after-ms": "250", "retry-after": "1"}, NOW) == 0.25
    assert retry_after({}, NOW) is None


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True), st.floats(0, 1))
def test_a_pause_is_below_a_bound_that_doubles(attempt: int, chance: float, least: float) -> None:
    bound = min(60.0, 0.5 * 2 ** min(attempt - 1, 30))
    pause = full_jitter(attempt, 0.5, 60.0, lambda: chance, least)
    assert least * bound <= pause <= bound
