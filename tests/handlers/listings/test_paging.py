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


@pytest.mark.parametrize(
    ("own", "links", "expected"),
    [
        ("/list", [link("/list?start=20", "Weiter »")], "/list?start=20"),
        ("/list", [link("/a", "Nexus"), link("/list?o=2", "→")], "/list?o=2"),
        ("/list", [link("/list?cursor=abc", "Load", "load", "next")], "/list?cursor=abc"),
        ("/list?page=3", [link("/list?page=2", "2"), link("/list?page=4", "4")], "/list?page=4"),
        ("/blog/page/3", [link("/blog/page/2", "Next", "next"), link("/blog/page/4", "Older")], "/blog/page/4"),
        ("/blog/", [link("/blog/page/2/", "Further stories")], "/blog/page/2/"),
        ("/f-1", [link("/f-1/page-2", "2")], "/f-1/page-2"),
        ("/list?page=9", [link("/list?page=8", "8"), link("/list", "1")], None),
        ("/list", [link("/other?page=2", "Reviews")], None),
        ("/list", [link("/list", "Next")], None),
        ("/list", [link("/list?first=20", "Next 20")], "/list?first=20"),
        ("/list", [link("/list?first=20", "Weiter (21–40) »")], "/list?first=20"),
        ("/list", [link("/elsewhere/x?first=20", "Next 20")], None),
        ("/list", [link("/list/7", "Next 7 days")], None),
        ("/list", [link("/list?offset=20", "Show what else there is")], "/list?offset=20"),
        ("/list?start=40", [link(f"/list?start={n}", "More") for n in (0, 20, 80, 60)], "/list?start=60"),
        ("/list?start=40", [link("/list?start=20", "Next"), link("/list", "Next")], None),
        ("/list?start=40", [link("/topic?t=9&start=60", "Last")], None),
        ("/story", [link("/another", "Next article", "next")], None),
        ("/list", [link("/list/more", "Load", "next")], "/list/more"),
        ("/list", [link("/list/more", "What a visitor of the next exhibition said", "next")], None),
        ("/list", [link("/further", "▶", "next")], "/further"),
        ("/2026", [link("/2027", "The year 2027")], None),
    ],
)
def test_which_link_it_is(own: str, links: list[Link], expected: str | None) -> None:
    assert found(own, *links) == expected


def row(address: str, *numbers: int) -> list[Link]:
    return [link(address.format(number, number - 1, 20 * (number - 1)), str(number)) for number in numbers]


@pytest.mark.parametrize(
    ("own", "links", "expected"),
    [
        ("/list", row("/list/{0}", 2, 3), "/list/2"),
        ("/list/2", [link("/list", "1"), *row("/list/{0}", 3, 4)], "/list/3"),
        ("/list", row("/list?start={2}", 2, 3, 4), "/list?start=20"),
        ("/list?start=20", row("/list?start={2}", 1, 3, 4), "/list?start=40"),
        ("/list?start=20", row("/list?start={2}", 1, 2, 3, 4), "/list?start=40"),
        ("/list", row("/list?page={1}", 2, 3), "/list?page=1"),
        ("/f26.html", row("/f26-{0}.html", 2, 3, 9), "/f26-2.html"),
        ("/list?o=80", row("/list?o={2}", 1, 4, 6, 10), "/list?o=100"),
        ("/list?o=60", row("/list?o={2}", 1, 2, 3), None),
        ("/list", row("/other/place/{0}", 2, 3), None),
        ("/events", row("/events/2025-11-0{0}", 2, 3, 5), None),
        ("/events", row("/events?day={0}", *range(2, 31)), None),
        ("/years", row("/years/{0}", 2024, 2026), None),
    ],
)
def test_a_row_of_numbers(own: str, links: list[Link], expected: str | None) -> None:
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
