"""Parts of a page that stand below headings such as "Most read"."""

from __future__ import annotations

import pytest
from selectolax.lexbor import LexborHTMLParser

from handlers.listings.asides import links_in_asides

PHRASES = ("popular", "most read", "推薦")
BOX = "<div><h3>{}</h3><ul><li><a href=/a>a</a><li><a href=/b>b</a></ul></div><p><a href=/c>c</a></p>"


def aside(html: str) -> list[str | None]:
    tree = LexborHTMLParser(html)
    found = links_in_asides(tree, PHRASES)
    return [link.attributes.get("href") for link in tree.css("a") if link.mem_id in found]


@pytest.mark.parametrize("heading", ["Popular", "MOST READ", "Popular articles", "Most read:", "推薦文章"])
def test_links_below_such_a_heading(heading: str) -> None:
    assert aside("<h1>Soups</h1>" + BOX.format(heading)) == ["/a", "/b"]


@pytest.mark.parametrize("heading", ["Popularity", "Popular songs of the sea", "Soups", "", "Popular " + "x" * 60])
def test_other_headings(heading: str) -> None:
    assert aside("<h1>Soups</h1>" + BOX.format(heading)) == []


def test_the_title_of_the_page_names_no_aside() -> None:
    assert aside(BOX.format("Popular")) == []
    assert aside("<h1>Popular</h1><a href=/a>a</a>") == []


def test_an_aside_ends_at_the_next_heading_of_its_level_or_above() -> None:
    page = "<h2>Soups</h2><h3>Popular</h3><h4>One</h4><a href=/a>a</a>"
    assert aside(f"{page}<h3>All</h3><a href=/b>b</a>") == ["/a"]
    assert aside(f"{page}<h2><a href=/b>b</a></h2>") == ["/a"]
    assert aside(f"{page}<h3><a href=/b>b</a></h3>") == ["/a", "/b"]


def test_a_heading_that_is_a_link_may_be_an_items() -> None:
    card = "<div><h2><a href=/a>{}</a></h2></div>"
    assert aside("<h1>Soups</h1>" + card.format("Popular") + card.format("Popular one")) == []
    boxed = "<h1>Soups</h1><div><h2><a href=/all>Popular</a></h2><a href=/a>a</a></div><a href=/b>b</a>"
    assert aside(boxed) == ["/all", "/a"]


def test_depth_and_number_are_bounded() -> None:
    deep = "<h1>x</h1><section><h2>Popular</h2>" + "<div>" * 100 + "<a href=/a>a</a>" + "</div>" * 100 + "</section>"
    assert aside(deep) == []
    assert aside("<h1>x</h1>" + "<h2>Popular</h2>" * 500) == []
