import gzip
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import streams.publish.sources
from streams.publish.entries import SourceError
from streams.publish.walk import ChangedError, Position, Tracker, Walk, position_of
from streams.topology import PAGES_CRAWLED
from tests.tables import tables

TABLES = tables(__file__)


def lines(path: Path, *numbers: int) -> Path:
    path.write_bytes(b"".join(b'{"url": "https://a.example/%d", "html": ""}\n' % number for number in numbers))
    return path


def walk(*paths: Path, stated: Any = None) -> Walk:
    return Walk(paths, PAGES_CRAWLED, stated)


async def gone(its: Walk) -> Position:
    """The position behind the last entry."""
    async for _ in its.entries():
        pass
    return its.tracker.at(Position())


async def test_sources_are_read_in_order_with_their_bytes_counted(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "p.html").write_text("<p>page")
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(lines(tmp_path / "b.jsonl", 3, 4).read_bytes()))
    its = walk(lines(tmp_path / "a.jsonl", 1, 2), tmp_path / "b.jsonl.gz", tmp_path / "pages")
    seen, done = [], [0]
    async for entry in its.entries():
        seen.append(entry.place)
        assert its.done >= done[-1]
        done.append(its.done)
    assert [Path(place).name for place in seen] == ["a.jsonl:1", "a.jsonl:2", "b.jsonl.gz:1", "b.jsonl.gz:2", "p.html"]
    sizes = [(tmp_path / name).stat().st_size for name in ("a.jsonl", "b.jsonl.gz", "pages/p.html")]
    assert its.total == its.done == sum(sizes)


async def test_position_is_found_again_in_a_compressed_copy(tmp_path: Path) -> None:
    plain = lines(tmp_path / "a.jsonl", 1, 2)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(plain.read_bytes()))
    position = await gone(walk(plain))
    lines(plain, 1, 2, 3)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(plain.read_bytes()))
    for path in (plain, tmp_path / "a.jsonl.gz"):
        its = walk(path)
        entries = its.entries()
        await its.pass_over(entries, position, lambda: None)
        assert [entry.place async for entry in entries] == [f"{path}:3"]


@pytest.mark.parametrize(("first", "second", "says"), TABLES["a_source_that_has_changed_is_named"])
async def test_a_source_that_has_changed_is_named(
    tmp_path: Path, first: tuple[int, ...], second: tuple[int, ...], says: str
) -> None:
    paths = [lines(tmp_path / "a.jsonl", 1, 2), lines(tmp_path / "b.jsonl", 3, 4)]
    position = await gone(walk(*paths))
    lines(paths[0], *first)
    lines(paths[1], *second)
    its = walk(*paths)
    with pytest.raises(ChangedError, match=says):
        await its.pass_over(its.entries(), position, lambda: None)


async def test_standard_input_is_a_source_whose_end_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"one\n\nthree")
    os.close(writing)
    monkeypatch.setattr(streams.publish.sources, "STANDARD_INPUT", reading)
    its = walk(Path("-"))
    assert its.total is None
    assert [entry.place async for entry in its.entries()] == [f"standard input:{number}" for number in (1, 3)]
    os.close(reading)
    its = walk(Path("-"))
    with pytest.raises(SourceError, match="standard input: Bad file descriptor"):
        await gone(its)


# --- positions ---

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


@given(SOURCES, SOURCES)
def test_the_same_place_means_the_same_entries_before_it(one: list[list[bytes]], other: list[list[bytes]]) -> None:
    def behind(sources: list[list[bytes]], place: Position) -> list[list[bytes]]:
        return [*sources[: place.source], [*sources, []][place.source][: place.entries]]

    shared = set(map(Position.to_text, places(one))) & set(map(Position.to_text, places(other)))
    for text in shared:
        place = position_of(text)
        assert place is not None
        assert behind(one, place) == behind(other, place)


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


async def test_missing_source_stops_a_resumed_run(tmp_path: Path) -> None:
    paths = [lines(tmp_path / f"{number}.jsonl", number) for number in range(3)]
    position = await gone(walk(*paths))
    its = walk(*paths[:2])
    with pytest.raises(ChangedError, match="source 3, not named now, has fewer records"):
        await its.pass_over(its.entries(), position, lambda: None)
    lines(paths[1], 9)
    its = walk(*paths)
    with pytest.raises(ChangedError, match=r"one of .*0\.jsonl … .*1\.jsonl has changed"):
        await its.pass_over(its.entries(), position, lambda: None)
