"""The position of links on a page, and the element that holds each of a group."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from handlers.fetch_page import FetchPageRules
from handlers.listings.blocks import Element, Link, NamedElements, blocks_of
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

SECTION = shipped_rules(FetchPageRules).listing


def around(html: str) -> list[Element]:
    tree = LexborHTMLParser(html)
    links = tree.css("a")
    elements = NamedElements(tree, links, SECTION.menu_classes, SECTION.item_classes)
    return [elements.of(link) for link in links]


@pytest.mark.parametrize(("html", "name", "values"), TABLES["elements"].values(), ids=TABLES["elements"])
def test_elements(html: str, name: str, values: tuple[bool, ...]) -> None:
    found = around(html)
    assert tuple(getattr(element, name) for element in found[: len(values)]) == values


def test_blocks_of_one_make_are_equal_and_states_do_not_matter() -> None:
    first, second, other = around(
        "<ul><li class='card c-81f'><a href=1>1</a><li class='card col-2'><a href=2>2</a></ul><p><a href=3>3</a></p>"
    )
    assert first.make == second.make != other.make
    assert (first.in_item, other.in_item) == (True, False)


def test_a_block_holds_one_address_of_its_group() -> None:
    links = [Link(f"/{n // 2}", Element(chain=(100 + n, 10 + n // 2, n // 4, 99))) for n in range(8)]
    assert blocks_of(links) == {10, 11, 12, 13}
    assert blocks_of(links[:2]) == {99}


def test_depth_is_bounded() -> None:
    element = around("<div>" * 500 + "<a href=x>x</a>")[0]
    assert not element.in_menu
    assert len(element.chain) == 60
