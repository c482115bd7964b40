from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.html.bylines import BylineWords, Credit, CreditedPage, find_credit
from handlers.html.structured_data import StructuredData
from tests.handlers.html.rules import PATTERNS, READING, layout_of
from tests.tables import tables

TABLES = tables(__file__)

STORY = "The rain came in the night and filled the river, and all the bridges of the town were closed."
TOLD = "<div class=story>" + "".join(f"<p>In town {number}, it went on. {STORY}</p>" for number in range(6)) + "</div>"
WORDS = BylineWords(READING, PATTERNS)
NAMES = WORDS.names
NO_DATA = StructuredData()


def credit(html: str, data: StructuredData = NO_DATA, site: str = "The Example Post") -> Credit:
    html = html if "<h1>" in html else f"<h1>Rain</h1>{html}"
    html = html.replace("{story}", TOLD) if "{story}" in html else html + TOLD
    return find_credit(CreditedPage(layout_of(html), data, "", site, "www.example.org"), WORDS)


@pytest.mark.parametrize(
    ("html", "names", "has_author", "has_byline"),
    [
        *TABLES["find_credit"],
        (
            f"<h1>Rain</h1><p>{STORY}</p><h2>Now</h2><p>{STORY}</p><p>By Ada Lovelace</p>",
            ("Ada Lovelace",),
            False,
            True,
        ),
    ],
)
def test_find_credit(html: str, names: tuple[str, ...], has_author: bool, has_byline: bool) -> None:
    found = credit(html)

    assert (found.names, found.has_author, found.has_byline) == (names, has_author, has_byline)


@pytest.mark.parametrize("markup", TABLES["authors_beside_each_other"])
def test_authors_beside_each_other_are_all_credited(markup: str) -> None:
    html = f"<h1>Rain</h1>{markup}<p>{STORY}</p><aside><p class=author>Grace Hopper</p></aside>"
    assert credit(html).names == ("Ada Lovelace", "Alan Turing")


@pytest.mark.parametrize(("html", "data", "expected"), TABLES["credits"].values(), ids=TABLES["credits"])
def test_credits(html: str, data: dict[str, Any], expected: dict[str, Any]) -> None:
    found = credit(html, StructuredData(**data))
    assert {name: getattr(found, name) for name in expected} == expected


@pytest.mark.parametrize(("html", "names", "seen_in"), TABLES["where_names_are_shown"])
def test_where_names_are_shown(html: str, names: str, seen_in: str) -> None:
    found = credit(html)

    assert (", ".join(found.names), found.seen_in) == (names, seen_in)


@pytest.mark.parametrize(
    ("reader", "text", "names"),
    [(reader, *row) for reader in ("names", "line_names", "reporters") for row in TABLES[reader]],
)
def test_names(reader: str, text: str, names: tuple[str, ...]) -> None:
    assert tuple(getattr(NAMES, reader)(text)) == names


@given(st.text(max_size=300))
def test_any_credit_is_read(text: str) -> None:
    assert all(name.strip() for name in (*NAMES.names(text), *NAMES.line_names(text)))


@given(st.text(alphabet="記者王小明、／ 報導文作者：（）〔〕台北1日電", max_size=300))
def test_any_chinese_credit_is_read(text: str) -> None:
    assert all(2 <= len(name) <= 8 for name in NAMES.reporters(text))
