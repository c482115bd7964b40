"""The store is bounded, keeps each record once, and finds pages by all their addresses."""

from dataclasses import replace

import pytest

from streams.console.entries import Entry, Mention, Position
from streams.console.store import Store

URL = "https://news.example.org/report"


def entry(number: int, **changed: object) -> Entry:
    position = Position("pages.scored.v1", 0, number)
    made = Entry(
        position, 1000 * number, "score_page", "page", URL, f"score {number % 101}", "good", score=number % 101
    )
    return replace(made, **changed)  # type: ignore[arg-type]


@pytest.fixture
def store() -> Store:
    return Store(100)


def test_a_record_that_arrives_twice_is_stored_once(store: Store) -> None:
    assert store.add([(entry(1), [])]) == [entry(1)]
    assert store.add([(entry(1), []), (entry(2), [])]) == [entry(2)]
    assert store.count == 2


def test_the_oldest_leave_whatever_the_order_of_arrival(store: Store) -> None:
    numbers = [*range(200, 300), *range(200)]
    for number in numbers:
        store.add([(entry(number), [Mention(5, "ranked", "")])])
    assert store.count <= 102
    assert [its.position.offset for its in store.newest(5)] == [299, 298, 297, 296, 295]
    assert min(its.position.offset for its in store.newest(1000)) >= 198
    assert store._database.execute("SELECT count(*) FROM mentions").fetchone()[0] == store.count


def test_dots_are_decisions_since_a_moment(store: Store) -> None:
    store.add([(entry(number), []) for number in range(1, 11)] + [(entry(11, tone="none"), [])])
    assert sorted(dot[2] for dot in store.dots(5000, 100)) == [5, 6, 7, 8, 9, 10]
    assert len(store.dots(0, 3)) == 3
    assert store.dots(0, 3, topic="nosuch") == []
