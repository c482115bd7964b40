"""Traps: generated sites on a real server on loopback, and large real-looking sites that must pass."""

import json
import random
import time
from calendar import Calendar
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from itertools import product

import pytest

from handlers.html.links import canonical_url
from schemas.replies import FetchedPage, FetchFailure, FetchRefused
from streams.fetch.settings import FetchSettings
from streams.fetch.targets import Target, parse_target
from streams.fetch.traps import Traps, lines_of, place_of
from streams.fetch.worker import FetchWorker
from tests.streams.fetch.test_worker import fetch, settings
from tests.streams.fetch.virtual import VirtualTime
from tests.streams.fetch.web import Answer, Web, response, serving

MENU = "".join(f"<li><a href='/{name}'>{name}</a></li>" for name in ("Start", "Products", "About us", "Contact"))
MONTHS = ("Jan", "Feb", "March", "April", "May", "June", "July", "Aug", "Sept", "Oct", "Nov", "Dec")
WORDS = (
    "amber",
    "basket",
    "canvas",
    "dial",
    "ember",
    "fabric",
    "garden",
    "hinge",
    "ivory",
    "jacket",
    "kettle",
    "ladder",
    "marble",
    "needle",
    "oak",
    "pillow",
    "quilt",
    "rope",
    "saddle",
    "timber",
    "urn",
    "velvet",
    "walnut",
    "yarn",
    "zinc",
    "brass",
    "copper",
    "linen",
    "felt",
    "glass",
    "paper",
    "stone",
    "iron",
    "clay",
    "cork",
    "wool",
    "silk",
)


def page(body: str) -> str:
    return (
        f"<html><head><title>Shop</title><script>var s='{random.random()}';</script></head><body><ul>{MENU}</ul>{body}"
        "<footer><p>All prices with tax. Delivery within three days in the whole country.</p></footer></body></html>"
    )


def calendar(year: int, month: int) -> str:
    days = "".join(f"<td>{day}</td>" for day in range(1, 31))
    onward = f"{MONTHS[month % 12]} {year + month // 12}"
    return page(f"<h1>{MONTHS[month - 1]} {year}</h1><table><tr>{days}</tr></table><p>No events.</p><a>{onward}</a>")


def calendars(form: str) -> Iterator[tuple[str, str]]:
    for year, month in product(range(2030, 2040), range(1, 13)):
        yield form.format(year, month), calendar(year, month)


def facets() -> Iterator[tuple[str, str]]:
    chance = random.Random(1)
    items = [f"<li>{a} {b}, {chance.randrange(10_000, 99_999)}</li>" for a, b in product(WORDS[:6], WORDS[6:12])]
    for color, size, brand, order in product(WORDS[:6], "SML", WORDS[20:26], ("price", "name")):
        found = "".join(chance.sample(items, 10))
        head = f"<h1>{color}, size {size}, {brand}</h1><p>{chance.randrange(99)} found</p>"
        yield f"/shop?color={color}&size={size}&brand={brand}&order={order}", page(head + found)


def sessions() -> Iterator[tuple[str, str]]:
    for number in range(200):
        identity = f"{number * 2654435761:016x}"
        yield f"/s/{identity}/about", page(f"<h1>About us</h1><p>We make rope since 1890. Session {identity}.</p>")


def deeper() -> Iterator[tuple[str, str]]:
    for depth in range(1, 60):
        yield "/docs/" + "x/y/" * depth, page(f"<h1>Documentation</h1><a href='x/y/'>next</a><p>Level {depth}</p>")


def clocks() -> Iterator[tuple[str, str]]:
    for number in range(200):
        now = f"Saturday, 28 November 2026, {number % 24:02}:{number % 60:02}, made in 0.{number:03} s"
        yield f"/tag/{number}", page(f"<h1>Tag</h1><p>There is nothing with this tag.</p><p>{now}</p>")


def table(rows: Iterable[Iterable[object]]) -> str:
    cells = ("".join(f"<td class=n>{cell}</td>" for cell in row) for row in rows)
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


def json_ld(**values: object) -> str:
    return f'<script type="application/ld+json">{json.dumps({"@context": "https://schema.org", **values})}</script>'


def week_calendars() -> Iterator[tuple[str, str]]:
    """With numbers of weeks, days of other months, and a clock beside the calendar."""
    for year, month in product(range(2030, 2040), range(1, 13)):
        weeks = [
            [week[0].isocalendar().week, *(day.day for day in week)]
            for week in Calendar().monthdatescalendar(year, month)
        ]
        head = [
            [f"{MONTHS[month - 1]} {year}"],
            [f"0{month % 10}/{year}"],
            [f"{year % 24:02}:{7 * month % 60:02}:{year % 60:02}"],
        ]
        event = json_ld(
            name=f"Events of {MONTHS[month - 1]} {year}", startDate=f"{year}-{month:02}-01", url=f"/c/{year}/{month}"
        )
        yield f"/c/{year}/{month}", page(event + table(head) + table(weeks) + "<p>No events.</p>")


def facet_tables() -> Iterator[tuple[str, str]]:
    """Another choice and order of the same rows, which are numbered."""
    chance = random.Random(1)
    items = [(f"{a} {b}", chance.randrange(10_000, 99_999), "9.99") for a, b in product(WORDS[:6], WORDS[6:12])]
    for color, size, brand in product(WORDS[:6], "SML", WORDS[20:30]):
        found = chance.sample(items, 10)
        listed = [{"@type": "ListItem", "position": chance.randrange(999), "name": item[0]} for item in found]
        rows = table((number, *item) for number, item in enumerate(found, 1))
        yield f"/shop?color={color}&size={size}&brand={brand}", page(json_ld(itemListElement=listed) + rows)


def described_sessions() -> Iterator[tuple[str, str]]:
    for number in range(200):
        identity = f"{number * 2654435761:016x}"
        about = json_ld(
            name="About us",
            url=f"https://site.example/s/{identity}/about",
            identifier=identity,
            dateModified=f"2026-11-28T{number % 24:02}:00:00",
        )
        yield f"/s/{identity}/about", page(f"{about}<h1>About us</h1><p>We make rope since 1890.</p>")


TRAPS: dict[str, Callable[[], Iterator[tuple[str, str]]]] = {
    "calendar by path": lambda: calendars("/calendar/{0}/{1:02}"),
    "calendar by query": lambda: calendars("/events?year={0}&month={1}"),
    "facets": facets,
    "sessions": sessions,
    "deeper": deeper,
    "clocks": clocks,
    "calendar with weeks": week_calendars,
    "facets in tables": facet_tables,
    "sessions with JSON-LD": described_sessions,
}


@pytest.fixture
async def web() -> AsyncIterator[Web]:
    async with serving() as running:
        yield running


@pytest.mark.parametrize("name", TRAPS)
async def test_a_trap_is_recognized_within_some_pages(web: Web, name: str) -> None:
    pages = dict(TRAPS[name]())
    web.routes |= {path: response(body) for path, body in pages.items()}
    fetched = 0
    async with FetchWorker(settings(web)) as worker:
        for path in pages:
            [reply] = await fetch(worker, f"http://site.example{path}")
            if isinstance(reply, FetchRefused):
                assert reply.reason is FetchFailure.TRAP
                break
            fetched += 1
    assert fetched <= 45
    assert sum(web.seen.values()) == fetched + 1, "robots.txt and these pages"


async def test_other_places_of_the_host_are_fetched(web: Web) -> None:
    pages = dict(sessions())
    web.routes |= {path: response(body) for path, body in pages.items()}
    web.routes["/products/rope"] = response(page("<h1>Rope</h1><p>Ten metres of hemp.</p>"))
    async with FetchWorker(settings(web)) as worker:
        replies = await fetch(worker, *(f"http://site.example{path}" for path in pages))
        [rope] = await fetch(worker, "http://site.example/products/rope")
    refused = [reply for reply in replies if isinstance(reply, FetchRefused)]
    assert {reply.reason for reply in refused} == {FetchFailure.TRAP}
    assert refused[0].detail == "the last 20 pages at /s/* had no new text"
    assert len(refused) >= 170, "pages of one request are refused in the host's turn"
    assert isinstance(rope, FetchedPage)


async def test_pages_that_are_fetched_for_other_queries_are_no_trap(web: Web) -> None:
    paths = [f"/products/{word}" for word in WORDS[:4]]
    web.routes |= {path: response(page(f"<h1>{path}</h1><p>Made by hand.</p>")) for path in paths}
    async with FetchWorker(settings(web)) as worker:
        for query in range(20):
            replies = await fetch(
                worker, *(f"http://site.example{path}?utm_id={query}" for path in paths), query=str(query)
            )
            assert not [reply for reply in replies if isinstance(reply, FetchRefused) and reply.reason == "trap"]


async def test_a_thread_with_many_pages_passes(web: Web) -> None:
    chance = random.Random(7)

    def posts(number: int) -> str:
        said = [" ".join(chance.choices(WORDS, k=12)) for _ in range(10)]
        return page(f"<h1>Which rope?</h1><p>Page {number} of 300</p>" + "".join(f"<p>{post}</p>" for post in said))

    def answer(path: str) -> Answer:
        async def write(writer: object) -> None:
            writer.write(response(posts(len(path))))  # type: ignore[attr-defined]

        return write

    paths = [f"/viewtopic?t=17&start={10 * number}" for number in range(150)]
    web.routes |= {path: answer(path) for path in paths}
    async with FetchWorker(settings(web)) as worker:
        replies = await fetch(worker, *(f"http://site.example{path}" for path in paths))
    assert all(isinstance(reply, FetchedPage) for reply in replies)


class Site:
    """Pages of a host that are learnt without a network."""

    def __init__(self, **changes: int | float) -> None:
        self.time = VirtualTime()
        self.traps = Traps(FetchSettings.model_validate(changes), self.time)

    def visit(self, path: str, body: str, host: str = "site.example") -> bool:
        """Whether the page was fetched."""
        url = f"http://{host}{path}"
        target = parse_target(url)
        assert isinstance(target, Target)
        if self.traps.why_refused(target) is not None:
            return False
        self.traps.learn(target, canonical_url(url) or url, lines_of(body.encode(), target))
        return True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "products"), [("/p/{0}-{1}", 10_000), ("/{0}-{1}", 1000), ("/item?id={1}", 1000), ("/en/shop/{1}", 1000)]
)
def test_a_shop_with_ten_thousand_products_passes(form: str, products: int) -> None:
    chance, site = random.Random(3), Site()
    related = [" ".join(chance.choices(WORDS, k=2)) for _ in range(200)]
    for number in range(products):
        name = " ".join(chance.sample(WORDS, 3))
        about = " ".join(chance.choices(WORDS, k=15))
        text = f"<h1>{name}</h1><p>{number % 90}.99 EUR, in stock</p><p>{about}</p>"
        beside = "".join(f"<li>{one}</li>" for one in chance.sample(related, 8))
        assert site.visit(form.format(name.replace(" ", "-"), 100_000 + number), page(text + beside)), number


def test_a_shop_whose_products_differ_in_a_short_line_passes() -> None:
    site = Site()
    for number in range(2_000):
        part = f"{number * 7919 % 100_000:05}"
        assert site.visit(f"/parts/{number}", page(f"<h1>Hex bolt</h1><p>Part {part}</p>")), number


def rates(number: int, chance: random.Random) -> str:
    rows = [
        [name, f"{chance.uniform(0.5, 2):.4f}", f"{chance.uniform(0.5, 2):.4f} &euro;"]
        for name in ("USD", "GBP", "CHF")
    ]
    return page(f"<h1>Exchange rates, day {number}</h1>" + table(rows))


def timetable(number: int, chance: random.Random) -> str:
    rows = [
        [stop, *(f"{hour}:{chance.randrange(60):02} am" for hour in range(6, 11))]
        for stop in ("Station", "Market", "Zoo")
    ]
    return page(f"<h1>Line {number}</h1>" + table(rows))


def league(number: int, chance: random.Random) -> str:
    rows = [[place, club, *chance.sample(range(90), 4)] for place, club in enumerate(("Rovers", "United", "City"), 1)]
    return page(f"<h1>Round {number}</h1>" + table(rows))


def described(number: int, chance: random.Random) -> str:
    product = {"@type": "Product", "name": " ".join(chance.sample(WORDS, 3)), "offers": {"price": number}}
    return page(json_ld(**product) + "<div id='app'>Loading the product.</div>")


def priced(number: int, chance: random.Random) -> str:
    return page(
        json_ld(name="Hex bolt", sku=f"{7919 * number % 1_000_000:06}") + "<div id='app'>Loading the product.</div>"
    )


@pytest.mark.parametrize("make", [rates, timetable, league, described, priced])
@pytest.mark.parametrize("form", ["/p/{0}", "/p?n={0}"])
def test_pages_that_differ_in_numbers_or_json_ld_pass(make: Callable[[int, random.Random], str], form: str) -> None:
    chance, site = random.Random(5), Site()
    assert all(site.visit(form.format(number), make(number, chance)) for number in range(500))


def test_broken_json_ld_is_passed_over() -> None:
    site = Site()
    for content in ("{", "[" * 100_000, '{"a": ' + "1" * 5000 + "}", "\ud800", "null"):
        body = page(f'<script type="application/ld+json">{content}</script><p>We make rope.</p>').encode(
            "utf-8", "replace"
        )
        target = parse_target("http://site.example/a")
        assert isinstance(target, Target)
        assert lines_of(body, target) == lines_of(page("<p>We make rope.</p>").encode(), target)
    assert not site.traps._hosts


def test_after_a_rest_one_page_is_tried() -> None:
    site = Site(trap_rest_seconds=60.0)
    same = page("<h1>About us</h1><p>We make rope.</p>")
    assert [site.visit(f"/s/{number}", same) for number in range(22)] == [True] * 20 + [False] * 2
    site.time.seconds += 60
    assert [site.visit(f"/s/{number}", same) for number in (30, 31)] == [True, False]
    site.time.seconds += 60
    assert site.visit("/s/40", page("<h1>News</h1><p>Now with jute.</p>"))
    assert all(site.visit(f"/s/{number}", same) for number in range(50, 60)), "new text ends it"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/a/b/a/b/a/b/a/b/c", "the path repeats 'a/b'"),
        ("/shop/x/x/x/x", "the path repeats 'x'"),
        ("/" + "/".join(f"w{number}" for number in range(25)), "the path has 25 segments"),
        ("/a/b/a/b/a/b/c", None),
        ("/jobs/0/0/0/0/", None),
        ("/2024/05/17/title", None),
        ("/" + "/".join(f"w{number}" for number in range(24)), None),
    ],
)
def test_paths_that_grow(path: str, why: str | None) -> None:
    target = parse_target(f"http://site.example{path}")
    assert isinstance(target, Target)
    assert Site().traps.why_refused(target) == why
    assert Site(trap_pages=0).traps.why_refused(target) is None


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/", "/*"),
        ("/a-title", "/*"),
        ("/news/2024/05/a-title", "/news/*"),
        ("/en/shop/rope/hemp", "/en/shop/*"),
        ("/s/0123456789abcdef/about", "/s/*"),
        ("/shop?color=red", "/shop?*"),
        ("/?p=1", "?*"),
        ("/a-very-long-title-of-an-article/2/print", "/*"),
    ],
)
def test_places(path: str, place: str) -> None:
    target = parse_target(f"http://site.example{path}")
    assert isinstance(target, Target)
    assert place_of(target) == place


def test_pages_that_say_nothing_are_not_counted() -> None:
    site = Site()
    shell = "<div id='app'></div><script>load()</script><noscript>Enable JavaScript.</noscript>"
    large = "<p>The same text again and again.</p>" * 40_000
    long = "".join(f"<p>{'a' * number}</p>" for number in range(2, 1_200))
    for number in range(40):
        assert site.visit(f"/app/{number}", shell)
        assert site.visit(f"/large/{number}", large)
        assert site.visit(f"/long/{number}", long)


def test_switched_off_nothing_is_learnt() -> None:
    site = Site(trap_pages=0)
    assert all(site.visit(f"/s/{number}", page("<p>The same.</p>")) for number in range(50))
    assert not site.traps._hosts


def test_the_memory_is_bounded() -> None:
    site = Site(trap_hosts=10)
    for number in range(40):
        for place in "abcdefghijkl":
            site.visit(f"/{place}/{number}", page(f"<p>{place}</p>"), host=f"h{number}.example")
    assert len(site.traps._hosts) == 10
    assert {len(places) for places in site.traps._hosts.values()} == {8}
    chance = random.Random(2)
    for number in range(3_000):
        assert site.visit(
            f"/p/{number}", page("".join(f"<p>{' '.join(chance.choices(WORDS, k=9))}</p>" for _ in "123"))
        )
    seen = site.traps._hosts["site.example"]["/p/*"].lines
    assert len(seen._newer) + len(seen._older) == 2 * 2048


@pytest.mark.parametrize(
    "unit",
    [
        "<",
        "<script",
        "<script>",
        "</script",
        "<svg><script>",
        "a ",
        "1 ",
        "&",
        "\n",
        "<tr><td>1.5",
        "<tr",
        "1:",
        "2000-",
        '<script type="ld+json">["a",["1.5"]]</script>',
    ],
)
def test_hostile_pages_take_linear_time(unit: str) -> None:
    target = parse_target("http://site.example/a?" + "&".join(f"a{number}=b{number}" for number in range(200)))
    assert isinstance(target, Target)
    started = time.process_time()
    lines_of(b"<p>" + b"ab " * 50 + unit.encode() * (1024 * 1024 // len(unit)), target)
    assert time.process_time() - started < 2.0
