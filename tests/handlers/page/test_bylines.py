from __future__ import annotations

import pytest

from handlers.page.bylines import BylineWords, Credit, find_credit
from handlers.page.structured_data import StructuredData
from tests.handlers.page.rules import READING, outline_of

WORDS = BylineWords(READING)


def credit(html: str, authors: tuple[str, ...] = (), site: str = "The Example Post") -> Credit:
    return find_credit(outline_of(html), StructuredData(authors=authors), 0, WORDS, site)


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
        ('<meta name="author" content="https://example.com/ada">', (), False, False),
        ('<meta name="author" content="The Example Post">', (), False, False),
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
    found = credit('<meta name="author" content="Admin Person">', authors=("Ada Lovelace", "Ada Lovelace"))

    assert found.names == ("Ada Lovelace",)
    assert found.seen_in == "json-ld author"
