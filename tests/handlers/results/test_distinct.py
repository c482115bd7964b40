"""Results with the same canonical address are one."""

from __future__ import annotations

import pytest

from handlers.results.distinct import distinct_results
from schemas.retrieval import RetrievedContent


@pytest.mark.parametrize(
    ("urls", "kept"),
    [
        (["https://a.example/x", "https://a.example/x#top", "HTTPS://A.example:443/x?utm_source=mail"], [0]),
        (["https://a.example/x", "https://a.example/y", "https://a.example/x?page=2"], [0, 1, 2]),
        (["/events", "/events", "ftp://a.example/", "javascript:void(0)", "/Events"], [0, 2, 3, 4]),
        (["https://b.example/", "https://a.example/", "https://b.example/"], [0, 1]),
        ([], []),
    ],
)
def test_one_result_for_an_address_in_the_order_of_the_first(urls: list[str], kept: list[int]) -> None:
    contents = [RetrievedContent(url=url, title=f"result {number}") for number, url in enumerate(urls)]
    found = distinct_results(contents)
    assert [result.url for result in found] == [urls[number] for number in kept]
    assert [result.title for result in found] == [f"result {number}" for number in kept]


def test_results_without_an_address_are_one_where_they_say_the_same() -> None:
    jazz, blues = RetrievedContent(content="jazz"), RetrievedContent(url=" ", content="blues")
    assert distinct_results([jazz, blues, jazz, blues]) == (jazz, blues)


def test_what_is_merged_has_the_most_that_is_known() -> None:
    first = RetrievedContent(url="https://a.example/x", content="short")
    longer = RetrievedContent(url="https://a.example/x#", title="T", content="a long snippet", cts_score=60, html="<p>")
    full = RetrievedContent(url="https://a.example/x?", content="full text", content_kind="full", cts_score=1)
    empty = RetrievedContent(url="https://a.example/x#c", content=" ", content_kind="full")
    assert distinct_results([first, longer, full, empty]) == (
        RetrievedContent(
            url="https://a.example/x", title="T", content="full text", content_kind="full", cts_score=60, html="<p>"
        ),
    )
