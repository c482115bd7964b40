from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.html.structured_data import StructuredData
from handlers.html.titles import find_title, site_in_title
from tests.handlers.html.rules import outline_of


def title(html: str, stated: str = "", site: str = "", headline: str = "") -> str:
    data = StructuredData(is_article=bool(headline), headline=headline)
    return find_title(outline_of(html), data, stated, site, "www.example.com")


@pytest.mark.parametrize(
    ("html", "stated", "site", "expected"),
    [
        ("<title>Rain again - The Post</title>", "", "The Post", "Rain again"),
        ("<title>Rain again | Example</title>", "", "", "Rain again"),
        ("<title>Example.com • Rain again</title>", "", "", "Rain again"),
        ("<title>Rain again - and snow</title>", "", "The Post", "Rain again - and snow"),
        ("<title>Window</title><h1>Rain again</h1>", "Weather: Rain again", "", "Rain again"),
        (
            "<title>Window</title><h1>Rain</h1>",
            "Rain and snow and everything else",
            "",
            "Rain and snow and everything else",
        ),
        ("<title>Window</title><h1>Words</h1>", "", "", "Window"),
        ("<title>The Post</title><h1>Rain again</h1>", "", "The Post", "Rain again"),
        ("<title>The Post</title><h1>Rain again</h1>", "The Post", "The Post", "Rain again"),
        ("<title>The Post</title>", "", "The Post", "The Post"),
        ("", "", "", ""),
    ],
)
def test_find_title(html: str, stated: str, site: str, expected: str) -> None:
    assert title(html, stated, site) == expected


def test_an_articles_headline_goes_before_the_windows_title() -> None:
    assert title("<title>Window</title>", headline="Rain again") == "Rain again"


@given(st.text(max_size=60), st.text(max_size=30))
def test_any_title_is_read(stated: str, site: str) -> None:
    assert len(title("<h1>Rain</h1>", stated, site)) <= 500
    assert site_in_title(stated, "www.example.com") in stated
