from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from schemas.replays import OffsetRange
from streams.replay.plan import ReplayError
from streams.replay.ranges import EARLIEST, LATEST, Bound, bounds_of, count

NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("start", "end", "since", "bounds"),
    [
        ("", "", "", (EARLIEST, LATEST)),
        ("earliest", "latest", "", (EARLIEST, LATEST)),
        ("", "", "7d", (Bound(at=NOW - timedelta(days=7)), LATEST)),
        ("90m", "2h", "", (Bound(at=NOW - timedelta(minutes=90)), Bound(at=NOW - timedelta(hours=2)))),
        ("2026-11-20", "2026-11-20T12:00+01:00", "", (
            Bound(at=datetime(2026, 11, 20, tzinfo=UTC)),
            Bound(at=datetime(2026, 11, 20, 11, tzinfo=UTC)),
        )),
        ("17", "3:40,5:41", "", (Bound(offset=17), Bound(offsets={3: 40, 5: 41}))),
    ],
)  # fmt: skip
def test_bounds_as_they_are_typed(start: str, end: str, since: str, bounds: tuple[Bound, Bound]) -> None:
    assert bounds_of(start, end, since, NOW) == bounds


@pytest.mark.parametrize("text", ["yesterday", "-3", "7y", "1:2:3", "1:", "2026-13-01"])
def test_what_is_no_bound_is_told_with_what_is(text: str) -> None:
    with pytest.raises(ReplayError, match="--from takes a time such as"):
        bounds_of(text, "", "", NOW)


def test_only_one_option_says_where_to_start() -> None:
    with pytest.raises(ReplayError, match="both"):
        bounds_of("earliest", "", "7d", NOW)


def test_a_range_has_no_less_than_nothing() -> None:
    assert count((OffsetRange(partition=0, start=3, end=10), OffsetRange(partition=1, start=4, end=4))) == 7
    with pytest.raises(ValueError, match="ends before"):
        OffsetRange(partition=0, start=3, end=2)
