"""Items of listings and their next pages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.fetch_page import FetchPageRules
from handlers.page.listing import Listing, follow_listing
from tests.rules import shipped_rules

URL = "https://kalender.example/aarhus/events"


def follow(html: str | bytes, query: str = "", most: int = 50, url: str = URL) -> Listing:
    rules = shipped_rules(FetchPageRules)
    return follow_listing(html, url, query, most, rules.listing, rules.page_reading)


def listing(items: int = 4, extra: str = "") -> str:
    cards = "".join(
        f'<li class="card"><a href="/event/{n}"><img src="x{n}.jpg" alt=""></a>'
        f'<h3><a href="/event/{n}">Concert number {n} in the town hall</a></h3>'
        f'<a class="more" href="/event/{n}">Read more</a></li>'
        for n in range(items)
    )
    menu = '<nav><ul><li><a href="/news/a">News</a></li><li><a href="/news/b">About</a></li></ul></nav>'
    footer = '<footer><a href="/privacy">Privacy</a><a href="https://social.example/share?u=1">Share</a></footer>'
    return f"<body>{menu}<h1>All events</h1><ul>{cards}</ul>{extra}{footer}</body>"


def urls(found: Listing) -> list[str]:
    return [link.url for link in found.links]


def test_items_come_in_page_order_once_each_and_menus_not_at_all() -> None:
    found = follow(listing())
    assert urls(found) == [f"https://kalender.example/event/{n}" for n in range(4)]
    assert found.links[0].text == "Concert number 0 in the town hall"
    assert "same make" in found.links[0].because


def test_where_there_are_too_many_the_query_chooses() -> None:
    html = listing(3).replace("Concert number 2", "Jazz evening number 2")
    found = follow(html, "jazz in town", most=1)
    assert urls(found) == ["https://kalender.example/event/2"]
    assert "query" in found.links[0].because


def test_a_single_item_is_found_where_it_stands_in_a_list() -> None:
    assert urls(follow(listing(1))) == ["https://kalender.example/event/0"]
    assert urls(follow('<article><p>A text with <a href="/event/1">a link</a> inside.</p></article>', "")) == []


def test_links_that_show_the_list_in_another_way_are_no_items() -> None:
    extra = "".join(f'<li class="card"><a href="?sort={way}">Sorted by {way} of entry</a></li>' for way in ("a", "b"))
    more = '<ul><li><a href="/category/jazz">Jazz and related music</a></li><li><a href="/tag/x">Tagged</a></li></ul>'
    assert urls(follow(listing(3, extra + more))) == [f"https://kalender.example/event/{n}" for n in range(3)]


@pytest.mark.parametrize(
    "href",
    ["https://kalender.example/", "/events/7", "/events/login", "/events/x?tag=jazz", "/events?page=9", "/tag/x"],
)
def test_links_in_the_items_blocks_that_lead_elsewhere_are_no_items(href: str) -> None:
    text = "7" if href.endswith("7") else "Somewhere else"
    extra = f'<ul><li class="card"><h3><a href="{href}">{text}</a></h3></li></ul>'
    assert urls(follow(listing(3, extra))) == [f"https://kalender.example/event/{n}" for n in range(3)]


def test_links_that_all_say_the_same_beside_the_items_are_left_out() -> None:
    title = '<a href="https://{0}.example/about-{0}">About {0} and more</a>'
    hit = f'<div class="hit">{title}<a href="/kept?u={{0}}">Kept</a></div>'
    names = ("jazz", "blues", "folk", "opera")
    assert urls(follow("<body>" + "".join(map(hit.format, names)))) == [f"https://{n}.example/about-{n}" for n in names]
    plain = '<tr><td>Jazz, number {0}</td><td><a href="/event/{0}">View event</a></td></tr>'
    found = follow(f"<body><table>{''.join(map(plain.format, range(4)))}</table>")
    assert urls(found) == [f"https://kalender.example/event/{n}" for n in range(4)]


def test_links_to_other_sites_beside_the_items_are_left_out() -> None:
    cards = "".join(f'<div class="box"><h3><a href="/story-{n}">Story number {n}</a></h3></div>' for n in range(5))
    badge = '<div class="box"><h3><a href="https://social.example/us">Follow us there</a></h3></div>'
    assert urls(follow(cards + badge)) == [f"https://kalender.example/story-{n}" for n in range(5)]


@pytest.mark.parametrize(
    ("pager", "expected"),
    [
        ('<a rel="next" href="?page=2">Older</a>', "https://kalender.example/aarhus/events?page=2"),
        ('<div><a href="?page=1">1</a><a href="?page=2">2</a></div>', "https://kalender.example/aarhus/events?page=2"),
        ('<a href="/aarhus/events/p2">Næste</a>', "https://kalender.example/aarhus/events/p2"),
        ('<a href="?p=2">下一頁</a>', "https://kalender.example/aarhus/events?p=2"),
        ('<a href="#">Next</a>', None),
        ("", None),
    ],
)
def test_the_next_page(pager: str, expected: str | None) -> None:
    found = follow(listing(extra=pager))
    assert found.next_page == expected
    assert len(found.links) == 4


def test_a_base_element_is_minded() -> None:
    html = '<head><base href="https://other.example/x/"></head>' + listing().replace('href="/event/', 'href="event/')
    assert urls(follow(html))[0] == "https://other.example/x/event/0"


@pytest.mark.parametrize(
    "html", ["", "<p>nothing", "<a href='javascript:x'>x</a>", b"\xff\xfe\x00", "<a href='http://['>"]
)
def test_a_page_without_items_gives_none(html: str | bytes) -> None:
    assert follow(html) == Listing((), None)


def test_a_page_too_deep_to_parse_gives_none() -> None:
    assert follow("<div>" * 50_000 + listing()) == Listing((), None)


@given(st.text(max_size=300), st.text(max_size=30), st.integers(1, 5))
def test_anything_gives_a_listing_within_its_bound(html: str, query: str, most: int) -> None:
    found = follow(f"<ul><li><a href='/a/1'>{html}</a><li><a href='/a/2'>{html}</a></ul>", query, most)
    assert len(found.links) <= most
    assert found == follow(f"<ul><li><a href='/a/1'>{html}</a><li><a href='/a/2'>{html}</a></ul>", query, most)
