from hypothesis import given
from hypothesis import strategies as st

from streams.publish.walk import Position, Tracker, position_of

SOURCES = st.lists(st.lists(st.binary(max_size=8), max_size=4), max_size=4)


def places(sources: list[list[bytes]]) -> list[Position]:
    """The position before the first entry and after each."""
    tracker = Tracker()
    found = [tracker.at(Position())]
    for number, traces in enumerate(sources):
        for trace in traces:
            tracker.passed(number, trace)
            found.append(tracker.at(Position()))
    return found


@given(SOURCES)
def test_positions_are_unique_and_reproducible(sources: list[list[bytes]]) -> None:
    found = places(sources)
    assert len({place.to_text() for place in found}) == len(found)
    assert places(sources) == found
    assert [(place.source, place.entries) for place in found] == sorted((p.source, p.entries) for p in found)


@given(SOURCES, SOURCES)
def test_the_same_place_means_the_same_entries_before_it(one: list[list[bytes]], other: list[list[bytes]]) -> None:
    def behind(sources: list[list[bytes]], place: Position) -> list[list[bytes]]:
        return [*sources[: place.source], [*sources, []][place.source][: place.entries]]

    shared = set(map(Position.to_text, places(one))) & set(map(Position.to_text, places(other)))
    for text in shared:
        place = position_of(text)
        assert place is not None
        assert behind(one, place) == behind(other, place)


def test_entries_can_not_run_into_each_other() -> None:
    assert places([[b"a", b"bc"]])[-1] != places([[b"ab", b"c"]])[-1]
    assert places([[b"a"], [b"b"]])[-1] != places([[b"b"], [b"b"]])[-1]


def test_position_keeps_counts_in_a_small_text() -> None:
    most = 10**12
    tracker = Tracker()
    tracker.passed(999, b"x")
    position = tracker.at(Position(published=most, refused=most, kept=most))
    assert (position.source, position.published) == (999, most)
    assert len(position.to_text()) < 300
    assert position_of(position.to_text()) == position
    assert tracker.reached(position)
    assert not Tracker().reached(position)


def test_invalid_position_text_is_ignored() -> None:
    for text in ("", "{", '{"source": -1}', '{"place": 1}', "[]"):
        assert position_of(text) is None
