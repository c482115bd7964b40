from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from schemas.replays import OffsetRange
from streams.replay.plan import ReplayError
from streams.replay.ranges import EARLIEST, LATEST, Bound, bounds_of, count

FIRST = datetime(1970, 1, 1, tzinfo=UTC)
NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("start", "end", "since", "bounds"),
    [
        ("", "", "", (EARLIEST, LATEST)),
        ("earliest", "latest", "", (EARLIEST, LATEST)),
        ("", "", "7d", (Bound(at=NOW - timedelta(days=7)), LATEST)),
        ("2h", "90m", "", (Bound(at=NOW - timedelta(hours=2)), Bound(at=NOW - timedelta(minutes=90)))),
        ("2026-11-20", "2026-11-20T12:00+01:00", "", (
            Bound(at=datetime(2026, 11, 20, tzinfo=UTC)),
            Bound(at=datetime(2026, 11, 20, 11, tzinfo=UTC)),
        )),
        ("17", "3:40,5:41", "", (Bound(offset=17), Bound(offsets={3: 40, 5: 41}))),
        ("0001-01-01", "", "", (Bound(at=FIRST), LATEST)),
        ("0001-01-01T00:00+09:00", "", "", (Bound(at=FIRST), LATEST)),
        ("", "", "999999w", (Bound(at=FIRST), LATEST)),
        ("", "9999-12-31", "9999w", (Bound(at=FIRST), Bound(at=datetime(9999, 12, 31, tzinfo=UTC)))),
        ("20261321", "0:20261121", "", (Bound(offset=20261321), Bound(offsets={0: 20261121}))),
    ],
)  # fmt: skip
def test_bounds_as_they_are_typed(start: str, end: str, since: str, bounds: tuple[Bound, Bound]) -> None:
    assert bounds_of(start, end, since, NOW) == bounds


@pytest.mark.parametrize("text", ["yesterday", "-3", "7y", "1:2:3", "1:", "2026-13-01"])
def test_what_is_no_bound_is_told_with_what_is(text: str) -> None:
    with pytest.raises(ReplayError, match="--from takes a time such as"):
        bounds_of(text, "", "", NOW)


@pytest.mark.parametrize("text", ["20261121", "202611210830", "20261121083000"])
def test_what_may_be_a_date_is_no_offset(text: str) -> None:
    with pytest.raises(ReplayError, match=f"--from {text} may be a date or an offset: write 2026-11-21 for"):
        bounds_of(text, "", "", NOW)


@pytest.mark.parametrize(
    ("start", "end", "since", "says"),
    [
        ("100", "50", "", "--to 50 is before --from 100"),
        ("2026-11-20", "2026-11-19", "", "--to 2026-11-19 is before --from 2026-11-20"),
        ("", "3d", "2d", "--to 3d is before --since 2d"),
        ("latest", "earliest", "", "--to earliest is before --from latest"),
        ("2027-01-01", "", "", "--from 2027-01-01 is in the future"),
    ],
)
def test_what_has_nothing_between_its_ends_is_told(start: str, end: str, since: str, says: str) -> None:
    with pytest.raises(ReplayError, match=says):
        bounds_of(start, end, since, NOW)


def test_only_one_option_says_where_to_start() -> None:
    with pytest.raises(ReplayError, match="both"):
        bounds_of("earliest", "", "7d", NOW)


def test_a_range_has_no_less_than_nothing() -> None:
    assert count((OffsetRange(partition=0, start=3, end=10), OffsetRange(partition=1, start=4, end=4))) == 7
    with pytest.raises(ValueError, match="ends before"):
        OffsetRange(partition=0, start=3, end=2)
