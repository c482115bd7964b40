from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.html.content import MAX_SCHEMA_TYPE, PageFacts, PageReader, clean, short_type
from handlers.html.encoding import parse_page
from tests.handlers.html.rules import PATTERNS, READING

READER = PageReader(READING, PATTERNS)


def read(html: str, url: str = "https://www.example.com/a") -> PageFacts:
    return READER.read(parse_page(html).tree, url, None)


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title>Rain - Post</title>", "Rain - Post"),
        ('<title>Rain - Post</title><meta property="og:site_name" content="Post">', "Rain"),
        ("<title>Rain - Post</title><h1>Rain</h1>", "Rain"),
        ('<title>Rain - Post</title><meta property="og:title" content="Heavy rain">', "Heavy rain"),
        ('<meta property="og:title" content="Post"><meta property="og:site_name" content="Post"><h1>Rain</h1>', "Rain"),
        ("<h1>Rain</h1>", "Rain"),
        ("", ""),
    ],
)
def test_title(html: str, title: str) -> None:
    assert read(html).title == title


def test_summary_is_the_description_or_leading_sentences() -> None:
    assert read('<meta name="description" content="In short."><p>Long.').summary == "In short."
    assert read("<p>First. Second.").summary == "First. Second."


@pytest.mark.parametrize(
    ("links", "count"),
    [
        ('<a href="/a">a</a><a href="b">b</a><a href="#c">c</a><a href="mailto:a@other.org">d</a>', 0),
        ('<a href="https://news.example.com/">a</a>', 0),
        (
            '<a href="https://other.org/1">a</a><a href="https://other.org/2">b</a><a href="https://other.org/2">c</a>',
            2,
        ),
        ('<a href="//other.org">a</a><a href="https://user@other.org:8080/x">b</a>', 2),
        ('<a href="http://">a</a><a href="https://[::1]/">b</a><a href="https://ex ample">c</a><a>d</a>', 1),
    ],
)
def test_external_links(links: str, count: int) -> None:
    assert read(links).external_links_count == count


def test_headings_are_counted_where_they_have_text() -> None:
    assert read("<h1>a</h1><h2>b</h2><h3> </h3><h3>c</h3><h4>d</h4><p>e</p>").headings_count == 2


HEADING = "<h1>Rain ends the drought</h1>"
STORY = "<p>" + "Three days of heavy rain have ended the drought, they said. " * 6 + "</p>"


@pytest.mark.parametrize(
    "around",
    [
        "<div class=related><div class=card><p class=byline>By Mary Shelley</p></div></div>",
        "<div class=comments><p><a rel=author href=/u/1>Mary Shelley</a> 3 May 2021</p></div>",
        "<aside><p class=author-bio>Mary Shelley writes.</p><time datetime=2021-05-03></time></aside>",
        "<footer><p class=author>Mary Shelley</p><p>3 May 2021</p></footer>",
        "<ul class=popular><li><a href=/author/mary>Mary Shelley</a></li></ul>",
        "<div itemscope itemtype=https://schema.org/Comment><b itemprop=author>Mary Shelley</b></div>",
    ],
)
def test_authors_and_dates_beside_the_story_are_others(around: str) -> None:
    byline = "<p>By Ada Lovelace</p><p>4 June 2022</p>"

    page = read(f"<article>{HEADING}{STORY}</article>{around}")
    credited = read(f"<article>{HEADING}{byline}{STORY}</article>{around}")

    assert (page.authors, page.date) == ((), None)
    assert (credited.authors, credited.date) == (
        ("Ada Lovelace",),
        date(2022, 6, 4),
    )


@given(st.one_of(st.none(), st.text(max_size=400)))
def test_a_type_that_travels_is_short_text(name: str | None) -> None:
    short = short_type(name)

    assert short is None or 0 < len(short) <= MAX_SCHEMA_TYPE
    assert short == short_type(short)


@given(st.text())
def test_what_is_clean_is_text(text: str) -> None:
    clean(text).encode()
    assert clean(clean(text)) == clean(text)
