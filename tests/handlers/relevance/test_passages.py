"""What is remembered of sources: by address and content, and no more than so many."""

from handlers.relevance.passages import Passage, Passages

SAID, NOTHING = Passage("Brakes", "They wear."), Passage("Brakes", "")


def test_a_passage_is_found_by_its_place_only() -> None:
    passages = Passages(10)
    passages.keep(("https://a.example/", "hash"), SAID)
    assert passages.get(("https://a.example/", "hash")) == SAID
    assert passages.get(("https://a.example/", "other")) is None
    assert passages.get(("https://b.example/", "hash")) is None


def test_that_a_source_says_nothing_is_remembered_too() -> None:
    passages = Passages(10)
    passages.keep(("https://a.example/", "hash"), NOTHING)
    assert passages.get(("https://a.example/", "hash")) == NOTHING


def test_the_oldest_is_given_up_first() -> None:
    passages = Passages(2)
    for name in "abc":
        passages.keep((name,), SAID)
    assert [passages.get((name,)) is not None for name in "abc"] == [False, True, True]
    assert len(passages) == 2


def test_nothing_is_remembered_where_nothing_may_be() -> None:
    passages = Passages(0)
    passages.keep(("a",), SAID)
    assert passages.get(("a",)) is None
