from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from schemas.replays import OffsetRange
from streams.replay.plan import ReplayError
from streams.replay.ranges import EARLIEST, LATEST, Bound, Log, bounds_of, count, range_between

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


LOG = Log(partition=3, begin=10, end=50)
INSTANT = Bound(at=NOW)


@pytest.mark.parametrize(
    ("start", "end", "offsets"),
    [
        ((EARLIEST, None), (LATEST, None), (10, 50)),
        ((LATEST, None), (LATEST, None), (50, 50)),
        ((EARLIEST, None), (EARLIEST, None), (10, 10)),
        ((Bound(offset=20), None), (Bound(offset=30), None), (20, 30)),
        ((Bound(offset=0), None), (Bound(offset=99), None), (10, 50)),
        ((Bound(offset=99), None), (LATEST, None), (50, 50)),
        ((EARLIEST, None), (Bound(offset=4), None), (10, 10)),
        ((Bound(offset=30), None), (Bound(offset=20), None), (30, 30)),
        ((Bound(offsets={3: 20}), None), (Bound(offsets={3: 30}), None), (20, 30)),
        ((Bound(offsets={1: 20}), None), (LATEST, None), (50, 50)),
        ((EARLIEST, None), (Bound(offsets={1: 20}), None), (10, 50)),
        ((INSTANT, 20), (INSTANT, 30), (20, 30)),
        # An instant after the last record: nothing is left to start from, and nothing is beyond the end.
        ((INSTANT, None), (LATEST, None), (50, 50)),
        ((INSTANT, None), (INSTANT, None), (50, 50)),
        ((EARLIEST, None), (INSTANT, None), (10, 50)),
        ((INSTANT, 20), (INSTANT, None), (20, 50)),
    ],
)
def test_range_between_two_bounds_of_a_partition(
    start: tuple[Bound, int | None], end: tuple[Bound, int | None], offsets: tuple[int, int]
) -> None:
    first, last = offsets
    assert range_between(LOG, start, end) == OffsetRange(partition=3, start=first, end=last)


def test_a_whole_range_begins_at_zero() -> None:
    found = range_between(LOG, (EARLIEST, None), (LATEST, None), whole=True)
    assert found == OffsetRange(partition=3, start=0, end=50)
