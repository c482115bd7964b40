from __future__ import annotations

import pytest

from handlers.html.bylines import BylineWords, Credit, find_credit
from handlers.html.marks import look_near
from handlers.html.structured_data import StructuredData
from tests.handlers.html.rules import PATTERNS, READING, others_of, outline_of

WORDS = BylineWords(READING, tuple(PATTERNS.months))
NO_DATA = StructuredData()


def credit(html: str, data: StructuredData = NO_DATA) -> Credit:
    page = outline_of(html)
    near = look_near(page, 0)
    return find_credit(page, data, near, others_of(page, near), WORDS, "The Example Post")


@pytest.mark.parametrize(
    ("html", "names", "has_author", "has_byline"),
    [
        ('<meta name="author" content="Ada Lovelace">', ("Ada Lovelace",), True, False),
        (
            '<meta name="author" content="By Ada Lovelace and Mary Shelley">',
            ("Ada Lovelace", "Mary Shelley"),
            True,
            False,
        ),
        ("<meta name=citation_author content='Lovelace, Ada'>", ("Ada Lovelace",), True, False),
        ('<meta name="author" content="Lovelace, Ada">', ("Ada Lovelace",), True, False),
        ('<meta name="author" content="王小明 記者">', ("王小明",), True, False),
        ("<p>By  王小明</p>", ("王小明",), False, True),
        ("<p>文・山田太郎</p>", ("山田太郎",), False, True),
        # News agencies are credited and no authors; what others wrote is not the page's.
        ('<meta name="author" content="dpa">', (), True, False),
        ('<meta name="author" content="dpa/Ada Lovelace">', ("Ada Lovelace",), True, False),
        ("<p>By Associated Press</p>", (), False, True),
        ("<p>By Reuters and Ada Lovelace</p>", ("Ada Lovelace",), False, True),
        ("<h1>Rain</h1><p>It rains.</p><div class=review><p>By Mary Shelley</p></div>", (), False, False),
        ("<h1>Rain</h1><p>It rains.</p><h2>Reviews</h2><span class=author>Mary Shelley</span>", (), False, False),
        ("<h1>Rain</h1><p>It rains.</p><h2>3 Comments</h2><a rel=author href=/m>Mary Shelley</a>", (), False, False),
        ("<meta name=citation_author content='Ada Lovelace, PhD'>", ("Ada Lovelace",), True, False),
        ('<meta name="author" content="https://example.com/ada">', (), False, False),
        ('<meta name="author" content="The Example Post">', ("The Example Post",), True, False),
        ('<meta name="author" content="example.com"><p>By Ada Lovelace</p>', ("Ada Lovelace",), True, True),
        (
            '<meta name=author content="Rain Weekly"><meta name=copyright content="© Rain Weekly 2024">'
            "<p>By Ada Lovelace</p>",
            ("Ada Lovelace",),
            True,
            True,
        ),
        ('<meta name="author" content="admin"><p>By Ada Lovelace</p>', ("Ada Lovelace",), False, True),
        ('<meta name="author" content="ada99"><p class=byline>By Ada Lovelace</p>', ("Ada Lovelace",), True, True),
        ('<span class="byline">By Ada Lovelace</span>', ("Ada Lovelace",), False, True),
        ('<a rel="author" href="/ada">Ada Lovelace</a>', ("Ada Lovelace",), False, True),
        ('<div class="article-author">Ada Lovelace, 3 May 2024</div>', ("Ada Lovelace",), False, True),
        ("<p>By Ada Lovelace</p><p>Words.</p>", ("Ada Lovelace",), False, True),
        ("<p>By the time the rain came, all was lost.</p>", (), False, False),
        ("<p>記者王小明／台北報導</p>", ("王小明",), False, True),
        ("<p>〔記者王小明、陳大文／台北報導〕豪雨</p>", ("王小明", "陳大文"), False, True),
        ("<p>（中央社記者王小明台北3日電）豪雨</p>", ("王小明",), False, True),
        ('<footer><span class="byline">By Ada Lovelace</span></footer>', (), False, False),
    ],
)
def test_find_credit(html: str, names: tuple[str, ...], has_author: bool, has_byline: bool) -> None:
    found = credit(html)

    assert (found.names, found.has_author, found.has_byline) == (names, has_author, has_byline)


def test_structured_data_comes_first() -> None:
    found = credit(
        '<meta name="author" content="Admin Person">', StructuredData(authors=("Ada Lovelace", "Ada Lovelace"))
    )

    assert found.names == ("Ada Lovelace",)
    assert found.seen_in == "json-ld author"


def test_an_organisation_is_the_author_only_where_nobody_else_is() -> None:
    data = StructuredData(organizations=("Ministry of Rain and Snow",))

    assert credit("<p>Words.</p>", data).names == ("Ministry of Rain and Snow",)
    assert credit("<p class=byline>By Ada Lovelace</p>", data).names == ("Ada Lovelace",)


@pytest.mark.parametrize(
    ("html", "names", "seen_in"),
    [
        (
            "<h1>Rain</h1><div><a href=/authors/ada-lovelace>Ada Lovelace</a></div><p>Words.</p>",
            "Ada Lovelace",
            "author's link",
        ),
        ("<h1>Rain</h1><div><a href=/topics/ada-lovelace>Ada Lovelace</a></div><p>Words.</p>", "", ""),
        ("<h1>Rain</h1><div class=promo><p>By Ada Lovelace</div><p>Words.</p>", "Ada Lovelace", "text"),
        ("<h1>Rain</h1><a href=/members/ada.9/>ada99</a><p>Words.</p>", "ada99", "member's link"),
        ("<h1>Rain</h1><p>Words</p><p>more</p><p>more</p><p>more<p>more<a href=/members/ada.9/>ada99</a>", "", ""),
        (
            "<meta name=twitter:label1 content='Written by'><meta name=twitter:data1 content='Ada Lovelace'>",
            "Ada Lovelace",
            "meta twitter:data1",
        ),
        ("<div itemprop=author><b itemprop=name>Ada Lovelace</b> 17 posts</div>", "Ada Lovelace", "itemprop:author"),
        (
            "<div itemscope itemtype=http://schema.org/Comment><b itemprop=author>Mary Shelley</b></div>"
            "<p>By Ada Lovelace</p>",
            "Ada Lovelace",
            "text",
        ),
    ],
)
def test_where_names_are_shown(html: str, names: str, seen_in: str) -> None:
    found = credit(html)

    assert (", ".join(found.names), found.seen_in) == (names, seen_in)


def test_a_menu_that_repeats_the_heading_is_not_it() -> None:
    html = "<h1>Rain again</h1><p class=byline>By Ada Lovelace</p>" + "<p>Words that go on.</p>" * 90
    page = outline_of("<title>Rain again</title><p>Rain again</p><p>By Mary Shelley" + "<p>menu</p>" * 90 + html)
    first = next(index for index, text in enumerate(page.texts) if text.startswith("Words"))

    near = look_near(page, first)

    found = find_credit(page, StructuredData(), near, others_of(page, near), WORDS, "")

    assert found.names == ("Ada Lovelace",)


def test_a_byline_stands_at_the_heading_too() -> None:
    html = "<p>menu</p>" * 90 + "<h1>Rain again</h1><p class=byline>By Ada Lovelace</p>" + "<p>word</p>" * 90
    page = outline_of("<title>Rain again</title>" + html)

    near = look_near(page, 0)

    found = find_credit(page, StructuredData(), near, others_of(page, near), WORDS, "")

    assert found.names == ("Ada Lovelace",)


def test_agencies_are_told_apart() -> None:
    found = credit('<meta name="author" content="dpa/Ada Lovelace"><p>By Reuters</p>')

    assert (found.names, found.agencies) == (("Ada Lovelace",), ("dpa", "Reuters"))
