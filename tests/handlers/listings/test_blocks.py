"""Where links stand on a page."""

from __future__ import annotations

import pytest
from selectolax.lexbor import LexborHTMLParser

from handlers.fetch_page import FetchPageRules
from handlers.listings.blocks import Around, Blocks, name_words
from tests.rules import shipped_rules

SECTION = shipped_rules(FetchPageRules).listing


def around(html: str) -> list[Around]:
    tree = LexborHTMLParser(html)
    links = tree.css("a")
    blocks = Blocks(tree, links, SECTION)
    return [blocks.around(link) for link in links]


@pytest.mark.parametrize(
    ("html", "in_menu"),
    [
        ("<nav><a href=x>x</a></nav>", True),
        ("<footer><ul><li><a href=x>x</a></ul></footer>", True),
        ("<header><a href=x>x</a></header>", True),
        ("<article><header><h2><a href=x>x</a></h2></header></article>", False),
        ("<div class='siteNav'><a href=x>x</a></div><main><a href=y>y</a></main>", True),
        ("<div class='page has-sidebar'><main><a href=x>x</a></main></div>", False),
        ("<div><a href=x>x</a></div>", False),
    ],
)
def test_menus_are_told_by_tag_and_name_but_not_wrappers(html: str, in_menu: bool) -> None:
    assert around(html)[0].in_menu is in_menu


def test_a_block_that_holds_most_links_is_no_menu_whatever_it_is_called() -> None:
    items = "".join(f"<p><a href=/{n}>{n}</a></p>" for n in range(9))
    found = around(f"<div class='row with-banner'>{items}</div><div class='share'><a href=/s>s</a></div>")
    assert [place.in_menu for place in found] == [False] * 9 + [True]


def test_blocks_of_one_make_are_equal_and_states_do_not_matter() -> None:
    first, second, other = around(
        "<ul><li class='card c-81f'><a href=1>1</a><li class='card col-2'><a href=2>2</a></ul><p><a href=3>3</a></p>"
    )
    assert first.make == second.make != other.make
    assert (first.in_item, other.in_item) == (True, False)


def test_a_heading_is_seen_from_inside_and_outside() -> None:
    assert [place.in_heading for place in around("<h3><a>x</a></h3><a><h3>y</h3></a><a>z</a>")] == [True, True, False]


def test_depth_is_bounded() -> None:
    assert around("<div>" * 500 + "<a href=x>x</a>")[0].in_menu is False


def test_words_of_names() -> None:
    assert name_words("site-navBar FAQ_list") == {"site", "nav", "bar", "faq", "list"}
