"""Items of listings and their next pages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.fetch_page import FetchPageRules
from handlers.listings.listing import Listing, follow_listing
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

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


def test_items_of_one_make_in_several_folders_are_all_followed() -> None:
    page = listing(5).replace("/event/1", "/concert-1").replace("/event/3", "/news/2026/concert-3")
    assert [url.rpartition("/")[2] for url in urls(follow(page))] == ["0", "concert-1", "2", "concert-3", "4"]


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


def test_single_item_is_found_only_in_a_list() -> None:
    assert urls(follow(listing(1))) == ["https://kalender.example/event/0"]
    assert urls(follow('<article><p>A text with <a href="/event/1">a link</a> inside.</p></article>', "")) == []


def test_stories_that_differ_in_sid_are_items() -> None:
    assert len(urls(follow(listing().replace("/event/", "/modules.php?name=News&amp;sid=10")))) == 4


@pytest.mark.parametrize(
    "href",
    ["https://kalender.example/", "/events/7", "/events/login", "/events/x?tag=jazz", "/events?page=9", "/tag/x",
     "?sort=a", "/category/jazz"],
)  # fmt: skip
def test_links_that_lead_elsewhere_are_not_items(href: str) -> None:
    text = "7" if href.endswith("7") else "Somewhere else"
    extra = f'<ul><li class="card"><h3><a href="{href}">{text}</a></h3></li></ul>'
    assert urls(follow(listing(3, extra))) == [f"https://kalender.example/event/{n}" for n in range(3)]


def test_repeated_identical_links_beside_items_are_dropped() -> None:
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


@pytest.mark.parametrize(("pager", "expected"), TABLES["the_next_page"])
def test_the_next_page(pager: str, expected: str | None) -> None:
    found = follow(listing(extra=pager))
    assert found.next_page == expected
    assert len(found.links) == 4


def test_a_base_element_is_minded() -> None:
    html = '<head><base href="https://other.example/x/"></head>' + listing().replace('href="/event/', 'href="event/')
    assert urls(follow(html))[0] == "https://other.example/x/event/0"


@pytest.mark.parametrize(
    "html",
    [
        *("", "<p>nothing", "<a href='javascript:x'>x</a>", b"\xff\xfe\x00", "<a href='http://['>"),
        pytest.param("<div>" * 5_000 + listing(), id="too deep"),
        # An aside without links hides nothing.
        *(f"<h1>Soups</h1>{'<div>' * depth}<h2>Popular</h2>{'</div>' * depth}" for depth in (1, 5)),
    ],
)
def test_page_without_items_yields_an_empty_listing(html: str | bytes) -> None:
    assert follow(html) == Listing((), None)


TITLES = ("Cats", "Hamlet", "Messiah", "Carmen", "Tosca")
SHOWS = [f"https://kalender.example/shows/{n}-x" for n in range(5)]
HALL = "The old hall beside the harbour of the city"


def page(block: str) -> str:
    """A page of five blocks, in which ``{n}`` is the number of a show and ``{title}`` its title."""
    named = block.replace("HALL", HALL)
    return "<body>" + "".join(named.format(n=n, title=title) for n, title in enumerate(TITLES))


@pytest.mark.parametrize(("around", "block"), TABLES["shows"].values(), ids=TABLES["shows"])
def test_the_item_of_a_block_is_its_show(around: str, block: str) -> None:
    assert urls(follow(around.replace("{}", page(block)))) == SHOWS


def test_a_link_that_only_some_blocks_have_is_not_the_item() -> None:
    item = '<li><a class="s" href="/shows/{0}-x">{1}</a>{2}</li>'
    hall = '<a class="h" href="/halls/{0}">' + HALL + ", back entrance {0}</a>"
    html = "".join(item.format(n, title, hall.format(n) if n % 2 else "") for n, title in enumerate(TITLES))
    assert urls(follow(f"<ul>{html}</ul>")) == SHOWS


def test_a_genre_that_many_items_share_is_not_the_item() -> None:
    item = '<div class="c"><a class="g" href="/genres/{0}">A genre of music and theatre {0}</a>{1}</div>'
    show = '<a class="s" href="/shows/{0}-x">{1}</a>'
    assert urls(follow("".join(item.format(n % 3, show.format(n, t)) for n, t in enumerate(TITLES)))) == SHOWS


def test_item_scripts_are_separated_from_user_scripts() -> None:
    block = '<div class="row"><a href="view.php?id={n}">{title}</a> <a href="SCRIPT?id={n}">From {title}</a></div>'
    expected = [f"https://kalender.example/view.php?id={n}" for n in range(5)]
    for script in ("seller.php", "user.php"):
        found = follow(page(block.replace("SCRIPT", script)), url="https://kalender.example/list.php?cat=3")
        assert urls(found) == expected
    first = '<li><a href="/user?id={n}">rose {n}</a> <a href="/thread?id={n}">{title}</a></li>'
    assert urls(follow(page(first))) == [f"https://kalender.example/thread?id={n}" for n in range(5)]


def test_one_title_on_many_days_is_still_a_title() -> None:
    day = '<div class="day"><h3><a href="/days/{0}">Friday, week {0}</a></h3>{1}</div>'
    show = '<p><a href="/shows/{0}-x">{1}</a></p>'
    days = (day.format(w, "".join(show.format(5 * w + n, title) for n, title in enumerate(TITLES))) for w in range(4))
    assert urls(follow("".join(days))) == [f"https://kalender.example/shows/{n}-x" for n in range(20)]


SOUPS = [f"https://kalender.example/soups/{title.lower()}" for title in TITLES]
CARDS = "".join(f'<div class="card"><h2><a href="/soups/{t.lower()}">{t}</a></h2></div>' for t in TITLES)
READ = "".join(
    f'<div class="pop"><h4><a href="/magazine/2026/{n}-knives">How to choose a good knife, part {n}</a></h4></div>'
    for n in range(8)
)


@pytest.mark.parametrize(("html", "headings", "path"), TABLES["soups"].values(), ids=TABLES["soups"])
def test_articles_beside_the_items_are_left_out(html: str, headings: tuple[str, ...], path: str) -> None:
    some = READ[: READ.index('<div class="pop"><h4><a href="/magazine/2026/4')]
    for heading in headings:
        filled = html.replace("HEADING", heading)
        for name, blocks in {"CARDS": CARDS, "READ": READ, "SOME": some}.items():
            filled = filled.replace(name, blocks)
        assert urls(follow(filled, url=f"https://kalender.example/{path}")) == SOUPS


@pytest.mark.parametrize("url", ["https://kalender.example/2026/story", "https://kalender.example/"])
def test_an_article_has_no_next_page(url: str) -> None:
    text = "<article><h1>Story</h1><p>Words of the story.</p></article>"
    links = '<a rel="next" href="/2026/next-story">Next article</a><a rel="prev" href="/2026/story-before">Before</a>'
    assert follow(text + links, url=url) == Listing((), None)
    plain = '<a href="/2026/next-story">Next</a>'
    assert follow(text + plain, url=url) == Listing((), None)


def test_page_without_items_still_follows_numbered_paging() -> None:
    for href in ("?page=2", "?offset=20"):
        found = follow(f'<p>Nothing here.</p><a href="{href}">Next</a>')
        assert found == Listing((), URL + href)


@given(st.text(max_size=300), st.text(max_size=30), st.integers(1, 5))
def test_anything_gives_a_listing_within_its_bound(html: str, query: str, most: int) -> None:
    found = follow(f"<ul><li><a href='/a/1'>{html}</a><li><a href='/a/2'>{html}</a></ul>", query, most)
    assert len(found.links) <= most
    assert found == follow(f"<ul><li><a href='/a/1'>{html}</a><li><a href='/a/2'>{html}</a></ul>", query, most)
