"""Words of a query, in scripts with and without spaces, and how much of them a text covers."""

from __future__ import annotations

from handlers.text.coverage import coverage, query_terms


def test_terms_without_stop_words() -> None:
    assert query_terms("Events in Aarhus, in AARHUS", frozenset({"in"})) == ("events", "aarhus")
    assert query_terms("北京 jazz", frozenset()) == ("北京", "jazz")
    assert query_terms("的", frozenset({"的"})) == ()
    assert query_terms("?!", frozenset()) == ()


def test_whole_words_count_and_pairs_anywhere() -> None:
    assert coverage(("all",), "the hall") == 0.0
    assert coverage(("音樂",), "爵士音樂會") == 1.0
    assert coverage((), "anything") == 0.0
