"""Next pages of listings."""

import pytest

from handlers.fetch_page import FetchPageRules
from handlers.html.links import canonical_url
from handlers.listings.blocks import Link
from handlers.listings.paging import next_page, position_of
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

SECTION = shipped_rules(FetchPageRules).listing.paging
SITE = "https://shop.example"


def link(path: str, text: str, *marks: str) -> Link:
    url = SITE + path
    return Link(canonical_url(url) or url, url=url, text=text, marks=frozenset(marks))


def found(own: str, *links: Link, stated: str | None = None) -> str | None:
    url = next_page(links, SITE + own, SITE + stated if stated else None, SECTION)
    return url.removeprefix(SITE) if url else None


def row(address: str, *numbers: int) -> list[Link]:
    return [link(address.format(number, number - 1, 20 * (number - 1)), str(number)) for number in numbers]


@pytest.mark.parametrize(
    ("own", "links", "expected"),
    [
        *((own, [link(*each) for each in links], expected) for own, links, expected in TABLES["which_link_it_is"]),
        ("/list?start=40", [link(f"/list?start={n}", "More") for n in (0, 20, 80, 60)], "/list?start=60"),
        *((own, row(*links), expected) for own, links, expected in TABLES["a_row_of_numbers"]),
        ("/list/2", [link("/list", "1"), *row("/list/{0}", 3, 4)], "/list/3"),
        ("/events", row("/events?day={0}", *range(2, 31)), None),
    ],
)
def test_which_link_leads_to_the_next_page(own: str, links: list[Link], expected: str | None) -> None:
    assert found(own, *links) == expected


def test_next_page_stays_on_its_site() -> None:
    def at(address: str) -> str | None:
        return next_page([Link(address, url=address, text="Next")], SITE + "/list", None, SECTION)

    assert at("https://other.example/list?page=2") is None
    assert at("https://www.shop.example/list?page=2") == "https://www.shop.example/list?page=2"


@pytest.mark.parametrize(("url", "numbered"), [("/a?page=2", True), ("/a?skip=20", True), ("/a?skip=x", False)])
def test_what_numbers_a_page(url: str, numbered: bool) -> None:
    assert position_of(SITE + url, SECTION).is_numbered is numbered


def test_what_the_head_states_counts_where_the_page_links_there() -> None:
    assert found("/list", link("/x/y", "More"), stated="/x/y") == "/x/y"
    assert found("/article", link("/about", "About"), stated="/another-article") is None


@pytest.mark.parametrize(("url", "expected"), TABLES["numbers_in_addresses"])
def test_numbers_in_addresses(url: str, expected: int | None) -> None:
    assert position_of(SITE + url, SECTION).page == expected
