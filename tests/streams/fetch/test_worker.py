"""The fetch worker against a real server on loopback, and against addresses it must not touch."""

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from schemas.needs import FetchPages
from schemas.pages import MAX_CONTENT_TYPE
from schemas.replies import FetchedPage, FetchFailure, FetchRefused
from streams.fetch.settings import FetchSettings
from streams.fetch.worker import FetchWorker
from streams.telemetry.metrics import Metrics
from tests.streams.doubles import VirtualClock
from tests.streams.fetch.web import HTML, Web, hangs, in_turn, response, serving
from tests.tables import tables

TABLES = tables(__file__)

PAGE = response("<h1>Hello</h1>")
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
GZIPPED = HEAD + b"Content-Encoding: gzip\r\n\r\n"
CHUNK = b"400\r\n" + b"x" * 1024 + b"\r\n"


@pytest.fixture
async def web() -> AsyncIterator[Web]:
    async with serving() as running:
        yield running


def settings(web: Web, *hosts: str, **changes: Any) -> FetchSettings:
    values: dict[str, Any] = {
        "resolve": dict.fromkeys(("site.example", *hosts), web.place),
        "min_delay_seconds": 0.0,
        "first_backoff_seconds": 0.0,
        "max_backoff_seconds": 0.0,
    }
    return FetchSettings(**(values | changes))


async def fetch(worker: FetchWorker, *urls: str, query: str = "q") -> tuple[FetchedPage | FetchRefused, ...]:
    return (await worker.fetch(FetchPages(urls, query))).pages


async def reason(worker: FetchWorker, url: str) -> FetchFailure | None:
    [page] = await fetch(worker, url)
    return page.reason if isinstance(page, FetchRefused) else None


async def outcome(web: Web, *hosts: str, **changes: Any) -> FetchFailure | None:
    """The reason why ``/a`` does not come, to a worker of its own."""
    async with FetchWorker(settings(web, *hosts, **changes)) as worker:
        return await reason(worker, "http://site.example/a")


async def page_of(web: Web, **changes: Any) -> FetchedPage:
    """The page ``/a`` as it comes to a worker of its own."""
    async with FetchWorker(settings(web, **changes)) as worker:
        [page] = await fetch(worker, "http://site.example/a")
    assert isinstance(page, FetchedPage)
    return page


async def test_what_was_fetched_for_a_query_is_not_fetched_again(web: Web, tmp_path: Path) -> None:
    web.routes["/a"] = PAGE
    file = tmp_path / "deep" / "cache.sqlite"
    for _ in range(2):
        async with FetchWorker(settings(web, cache_path=file)) as worker:
            pages = await fetch(worker, "http://site.example/a", "http://SITE.example:80/a#x")
            assert all(isinstance(page, FetchedPage) for page in pages)
            assert [page.url for page in pages] == ["http://site.example/a", "http://SITE.example:80/a#x"]
    assert web.seen["/a"] == 1
    async with FetchWorker(settings(web, cache_path=file)) as worker:
        await fetch(worker, "http://site.example/a", query="another")
    assert web.seen["/a"] == 2


async def test_redirects_are_followed_within_limits(web: Web) -> None:
    web.routes["/a"] = response("", status=302, Location="/b")
    web.routes["/b"] = PAGE
    web.routes["/loop"] = response("", status=302, Location="/loop")
    async with FetchWorker(settings(web)) as worker:
        [page] = await fetch(worker, "http://site.example/a")
        assert isinstance(page, FetchedPage)
        assert page.final_url == "http://site.example/b"
        assert await reason(worker, "http://site.example/loop") is FetchFailure.TOO_MANY_REDIRECTS
    assert web.seen["/loop"] == 6


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (response("gone", status=404), FetchFailure.CLIENT_ERROR),
        (response("%PDF", content_type="application/pdf"), FetchFailure.NOT_HTML),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort", FetchFailure.UNREACHABLE),
        (b"nonsense\r\n\r\n", FetchFailure.UNREACHABLE),
        (response("", status=304), FetchFailure.CLIENT_ERROR),
        (response("", status=502), FetchFailure.SERVER_ERROR),
        (GZIPPED + gzip.compress(b"") * 10_000, FetchFailure.TOO_LARGE),
        # Neither is read to its end: the chunks have none, so a reader of all of them finds a broken connection.
        (HEAD + b"\r\n" + b"x" * 65_537, FetchFailure.TOO_LARGE),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNK * 80, FetchFailure.TOO_LARGE),
    ],
)
async def test_other_answers_are_refused_with_their_reason(web: Web, answer: bytes, expected: FetchFailure) -> None:
    web.routes["/a"] = answer
    assert await outcome(web, max_bytes=65_536) is expected


async def test_a_server_in_trouble_is_asked_again(web: Web) -> None:
    web.routes["/a"] = in_turn(response("", status=500), response("", status=503), PAGE)
    assert await outcome(web) is None
    assert web.seen["/a"] == 3


async def test_a_dripping_body_ends_in_a_timeout(web: Web) -> None:
    async def drip(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(100):
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.05)

    web.routes["/a"] = drip
    assert await outcome(web, total_seconds=0.3, attempts=1) is FetchFailure.TIMEOUT


async def test_a_silent_server_ends_in_a_timeout(web: Web) -> None:
    web.routes["/a"] = hangs
    async with asyncio.timeout(5):  # sooner than by the time for a whole page
        assert await outcome(web, first_byte_seconds=0.2, attempts=2) is FetchFailure.TIMEOUT
    assert web.seen["/a"] == 2


async def test_cancelling_leaves_nothing_open_and_counts_as_a_visit(web: Web) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def endless(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"\r\n")
        try:
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.01)
                begun.set()
        finally:
            ended.set()

    web.routes["/a"], web.routes["/b"] = endless, PAGE
    time = VirtualClock()
    async with FetchWorker(settings(web, robots=False, min_delay_seconds=3.0), clock=time) as worker:
        fetching = asyncio.create_task(fetch(worker, "http://site.example/a"))
        await begun.wait()
        fetching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await fetching
        await asyncio.wait_for(ended.wait(), 5)
        assert await reason(worker, "http://site.example/b") is None
    assert sum(time.pauses) >= 3.0, "the host got a request"


async def test_host_gets_one_request_at_a_time_and_others_do_not_wait(web: Web) -> None:
    underway = most = 0

    async def slow(writer: asyncio.StreamWriter) -> None:
        nonlocal underway, most
        underway += 1
        most = max(most, underway)
        await asyncio.sleep(0.1)
        underway -= 1
        writer.write(PAGE)
        await writer.drain()

    for path in ("/1", "/2", "/3"):
        web.routes[path] = slow
    web.routes["/hang"] = hangs
    async with FetchWorker(settings(web, "down.example", robots=False)) as worker:
        hanging = asyncio.create_task(fetch(worker, "http://down.example/hang"))
        pages = await fetch(worker, *(f"http://site.example/{n}" for n in (1, 2, 3)))
        assert all(isinstance(page, FetchedPage) for page in pages)
        assert not hanging.done()
        hanging.cancel()
        await asyncio.gather(hanging, return_exceptions=True)
    assert most == 1


async def test_names_of_one_domain_do_not_take_all_look_ups() -> None:
    under_way, most = 0, 0

    async def resolver(host: str, port: int) -> Sequence[str]:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.01)
        under_way -= 1
        raise OSError("no answer")

    async with FetchWorker(FetchSettings(parallel_per_domain=3), resolver=resolver) as worker:
        pages = await fetch(worker, *(f"http://h{number}.many.example.com/" for number in range(9)))
    assert {page.reason for page in pages if isinstance(page, FetchRefused)} == {FetchFailure.UNRESOLVABLE}
    assert most == 3


async def test_deadline_for_all_pages_returns_those_that_arrived(web: Web) -> None:
    web.routes["/a"] = PAGE
    web.routes["/b"] = hangs
    async with FetchWorker(settings(web, "other.example", robots=False, pages_seconds=0.5)) as worker:
        pages = await fetch(worker, "http://site.example/a", "http://other.example/b", "http://other.example/c")
        assert await fetch(worker) == ()
    assert isinstance(pages[0], FetchedPage)
    assert [page.reason for page in pages[1:] if isinstance(page, FetchRefused)] == [FetchFailure.TIMEOUT] * 2
    assert web.seen["/c"] == 0


async def test_names_that_only_some_parsers_take_for_one_share_no_page(web: Web) -> None:
    """IDNA of 2003 makes ``ss`` of the letter, that of 2008 does not: who owns one name could speak for the other."""
    one, other = "fa\u00df.example", "fass.example"
    web.routes["/a"] = response("<p>one")
    async with FetchWorker(settings(web, "xn--fa-hia.example", other, robots=False)) as worker:
        [first] = await fetch(worker, f"http://{one}/a")
        web.routes["/a"] = response("<p>other")
        [second] = await fetch(worker, f"http://{other}/a")
    assert [page.body for page in (first, second) if isinstance(page, FetchedPage)] == [b"<p>one", b"<p>other"]
    assert web.hosts == ["xn--fa-hia.example", "fass.example"]


async def test_pages_of_one_event_have_a_size_together(web: Web) -> None:
    for name in "abcd":
        web.routes[f"/{name}"] = response("x" * 500)
    async with FetchWorker(settings(web, robots=False, pages_bytes=1024)) as worker:
        pages = await fetch(worker, *(f"http://site.example/{name}" for name in "abcd"))
        assert [page.reason if isinstance(page, FetchRefused) else None for page in pages].count(None) == 2
        assert await reason(worker, "http://site.example/d") is None, "another event has its own"
    assert {page.reason for page in pages if isinstance(page, FetchRefused)} == {FetchFailure.OVER_BUDGET}


async def test_long_retry_after_applies_to_all_waiting_requests(web: Web) -> None:
    web.routes["/a"] = response("later", status=429, Retry_After="86400")
    web.routes["/b"] = web.routes["/c"] = PAGE
    async with FetchWorker(settings(web, robots=False)) as worker:
        pages = await fetch(worker, *(f"http://site.example/{name}" for name in "abc"))
    assert {page.reason for page in pages if isinstance(page, FetchRefused)} == {FetchFailure.RATE_LIMITED}
    assert len(pages) == 3
    assert (web.seen["/b"], web.seen["/c"]) == (0, 0)


@pytest.mark.parametrize(
    ("location", "expected"),
    [(location, FetchFailure[expected]) for location, expected in TABLES["redirects_to_odd_places"]],
)
async def test_redirects_to_odd_places(web: Web, location: str, expected: FetchFailure) -> None:
    web.routes["/a"] = response("", status=301, Location=location)
    assert await outcome(web) is expected
    assert location not in web.seen


async def test_rules_come_at_the_second_try(web: Web) -> None:
    web.routes["/robots.txt"] = in_turn(
        response("", status=503), response("User-agent: *\nDisallow: /a", content_type="text/plain")
    )
    web.routes["/b"] = PAGE
    async with FetchWorker(settings(web)) as worker:
        assert await reason(worker, "http://site.example/a") is FetchFailure.ROBOTS
        assert await reason(worker, "http://site.example/b") is None
    assert web.seen["/a"] == 0


@pytest.mark.parametrize(
    ("said", "expected"), [(said, expected and FetchFailure[expected]) for said, expected in TABLES["ways_of_packing"]]
)
async def test_ways_of_packing(web: Web, said: str, expected: FetchFailure | None) -> None:
    web.routes["/a"] = response(gzip.compress(b"<p>a"), Content_Encoding=said)
    assert await outcome(web) is expected


@pytest.mark.parametrize(
    ("answer", "body", "content_type"),
    [
        *((response("<p>a", Content_Encoding=said), b"<p>a", HTML) for said in ("utf-8", "none", "identity")),
        (response(gzip.compress(b"<p>") + gzip.compress(b"a"), Content_Encoding="gzip"), b"<p>a", HTML),
        (response(zlib.compress(b"<p>a"), Content_Encoding="deflate"), b"<p>a", HTML),
        (
            response("<p>a", content_type="text/plain").replace(b"\r\n\r\n", b"\r\nContent-Type: text/html\r\n\r\n"),
            b"<p>a",
            "text/html",
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n<p>a", b"<p>a", ""),
        (response("%PDF-1.7"), b"%PDF-1.7", HTML),
        (response("<p>a", content_type=f"{'text/html;':20000}!"), b"<p>a", "text/html;".ljust(MAX_CONTENT_TYPE)),
    ],
    ids=["utf-8", "none", "identity", "two members of gzip", "deflate", "repeated", "no type", "PDF", "long type"],
)
async def test_pages_come_unpacked_with_their_content_type(
    web: Web, answer: bytes, body: bytes, content_type: str
) -> None:
    web.routes["/a"] = answer
    page = await page_of(web)
    assert (page.body, page.content_type) == (body, content_type)


async def test_truncated_compressed_body_is_unreachable(web: Web) -> None:
    packed = gzip.compress("".join(f"<p>{number}" for number in range(1000)).encode())
    web.routes["/a"], web.routes["/b"], web.routes["/c"] = GZIPPED + packed[:-50], GZIPPED + packed, GZIPPED
    async with FetchWorker(settings(web, attempts=2)) as worker:
        assert await reason(worker, "http://site.example/a") is FetchFailure.UNREACHABLE
        assert await reason(worker, "http://site.example/b") is None
        assert await reason(worker, "http://site.example/c") is None
    assert web.seen["/a"] == 2


async def test_what_unpacks_to_more_than_is_taken_is_not_unpacked(web: Web) -> None:
    web.routes["/a"] = response(gzip.compress(b"\0" * 40_000_000), Content_Encoding="gzip")
    async with FetchWorker(settings(web, robots=False, max_bytes=65_536)) as worker:
        tracemalloc.start()
        try:
            assert await reason(worker, "http://site.example/a") is FetchFailure.TOO_LARGE
            assert tracemalloc.get_traced_memory()[1] < 4_000_000
        finally:
            tracemalloc.stop()


async def test_retry_after_is_respected_up_to_its_longest_bound(web: Web) -> None:
    web.routes["/a"] = response("later", status=503, Retry_After="99999999999")
    web.routes["/b"] = PAGE
    time = VirtualClock()
    async with FetchWorker(
        settings(web, robots=False, longest_rest_seconds=3600.0), clock=time, chance=lambda: 0.5
    ) as worker:
        assert await reason(worker, "http://site.example/a") is FetchFailure.RATE_LIMITED
        time.seconds += 3580
        assert await reason(worker, "http://site.example/b") is None, "waited for: it is not long any more"
    assert time.seconds >= 3600


async def test_status_429_doubles_the_pause_and_is_retried_once(web: Web) -> None:
    web.routes["/a"] = in_turn(response("", status=429), PAGE)
    web.routes["/b"] = response("", status=429)
    time = VirtualClock()
    async with FetchWorker(
        settings(web, robots=False, min_delay_seconds=2.0), clock=time, chance=lambda: 0.5
    ) as worker:
        assert await reason(worker, "http://site.example/a") is None
        assert time.pauses == [4.0]
        assert await reason(worker, "http://site.example/b") is FetchFailure.RATE_LIMITED
        web.routes["/b"] = in_turn(response("", status=429, Retry_After="7"), PAGE)
        assert await reason(worker, "http://site.example/b") is None, "a short wait is waited for"
    assert web.seen["/b"] == 4


@pytest.mark.parametrize(
    ("status", "pause"), [(200, 5.0), (304, 5.0), (302, 10.0), (403, 10.0), (404, 10.0), (410, 10.0), (500, 10.0)]
)
async def test_only_what_was_served_speeds_up(web: Web, status: int, pause: float) -> None:
    time = VirtualClock()

    async def answer_slowly(writer: asyncio.StreamWriter) -> None:
        time.seconds += 19.0
        writer.write(PAGE)
        await writer.drain()

    web.routes["/slow"] = answer_slowly
    web.routes["/a"] = response("<p>one", status=status, Location="ftp://site.example/")
    web.routes["/b"] = PAGE
    values = {"robots": False, "attempts": 1, "min_delay_seconds": 1.0}
    async with FetchWorker(settings(web, **values), clock=time, chance=lambda: 0.5) as worker:
        for path in ("slow", "a", "b"):
            await fetch(worker, f"http://site.example/{path}")
    assert time.pauses == [10.0, pause]


class Versions:
    """Serves a page with a version, and answers 304 to a client that has this version."""

    def __init__(self, web: Web, *marks: tuple[str, str, str]) -> None:
        self.web, self.marks = web, marks
        self.body, self.sent = "<p>one", 0

    async def answer(self, writer: asyncio.StreamWriter) -> None:
        lines = self.web.heads[-1].lower().split("\r\n")
        asks = [f"{asked}: {value}".lower() in lines for _, asked, value in self.marks]
        unchanged = bool(asks) and all(asks)
        self.sent += not unchanged
        named = {name: value for name, _, value in self.marks}
        writer.write(response("" if unchanged else self.body, status=304 if unchanged else 200, **named))
        await writer.drain()


TAG = ("ETag", "If-None-Match", '"v1"')
DATE = ("Last_Modified", "If-Modified-Since", "Tue, 03 Nov 2026 11:00:00 GMT")


@pytest.mark.parametrize("marks", [(TAG,), (DATE,), (TAG, DATE)])
async def test_only_a_page_that_has_changed_is_sent_again(web: Web, marks: tuple[tuple[str, str, str], ...]) -> None:
    versions = Versions(web, *marks)
    web.routes["/a"] = versions.answer
    web.routes["/moved"] = response("", status=301, Location="/a")
    time, registry = VirtualClock(), CollectorRegistry()
    async with FetchWorker(settings(web), clock=time, chance=lambda: 0.5, metrics=Metrics(registry)) as worker:
        [first] = await fetch(worker, "http://site.example/a")
        time.seconds += 60
        for url in ("http://site.example/a", "http://site.example/moved"):
            [again] = await fetch(worker, url, query="another")
            assert isinstance(first, FetchedPage)
            assert isinstance(again, FetchedPage)
            assert (again.url, again.final_url) == (url, first.final_url)
            assert (again.body, again.status, again.content_type) == (first.body, 200, first.content_type)
            assert again.fetched_at > first.fetched_at
        assert versions.sent == 1
        versions.body, versions.marks = "<p>changed", (("ETag", "If-None-Match", '"v2"'),)
        for query in "bc":
            [page] = await fetch(worker, "http://site.example/a", query=query)
            assert isinstance(page, FetchedPage)
            assert (page.body, versions.sent) == (b"<p>changed", 2)
    assert registry.get_sample_value("assay_fetches_total", {"outcome": "ok"}) == 5
    assert registry.get_sample_value("assay_fetch_bytes_total") == len("<p>one<p>changed"), "each brought home once"


@pytest.mark.parametrize("tag", ["no quotes", '"' + "x" * 300 + '"', '"a", "b"', '"\x80"'])
async def test_invalid_etag_is_never_sent_back(web: Web, tag: str) -> None:
    web.routes["/a"] = response("<p>one", ETag=tag)
    async with FetchWorker(settings(web)) as worker:
        await fetch(worker, "http://site.example/a")
        await fetch(worker, "http://site.example/a", query="another")
    assert not any("if-none-match" in head.lower() for head in web.heads)


async def test_proxies_of_the_environment_are_not_used(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    web.routes["/a"] = PAGE
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
        monkeypatch.setenv(name.lower(), "http://127.0.0.1:1")
    assert await outcome(web) is None


async def test_each_redirect_is_resolved_checked_and_pinned(web: Web) -> None:
    """A public name that leads to one whose second answer lies inside: nothing reaches this machine."""
    web.routes["/a"] = response("", status=302, Location=f"http://inner.example:{web.port}/secret")
    web.routes["/secret"] = PAGE
    asked: list[str] = []

    async def resolver(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["93.184.216.34"] if len(asked) == 1 else ["127.0.0.1"]

    async with FetchWorker(settings(web, robots=False), resolver=resolver) as worker:
        assert await reason(worker, "http://site.example/a") is FetchFailure.FORBIDDEN_ADDRESS
    assert asked == ["inner.example", "inner.example"]
    assert web.seen["/secret"] == 0


async def test_every_connection_goes_to_what_its_own_look_up_said(web: Web) -> None:
    """A name that moves is not reached where it was: nothing is kept open, and no look-up is remembered."""
    answers = [["127.0.0.1"], ["127.0.0.1"], ["127.0.0.2"], ["127.0.0.2"]]

    async def resolver(host: str, port: int) -> Sequence[str]:
        return answers.pop(0)

    web.routes["/a"] = web.routes["/b"] = PAGE
    permitted = settings(web, robots=False, allow_private=True, attempts=1)
    async with FetchWorker(permitted, resolver=resolver) as worker:
        assert await reason(worker, f"http://moving.example:{web.port}/a") is None
        assert await reason(worker, f"http://moving.example:{web.port}/b") is FetchFailure.UNREACHABLE
    assert web.seen["/b"] == 0


@pytest.mark.parametrize(
    "endless", [b"X-More: and more of it\r\n", b"X" * 4096, b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\nHTTP/1.1 "]
)
async def test_endless_headers_time_out(web: Web, endless: bytes) -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 " if b"103" in endless else b"HTTP/1.1 200 OK\r\n")
        for _ in range(1_000):
            writer.write(endless)
            await writer.drain()
            await asyncio.sleep(0.001)

    web.routes["/a"] = answer
    async with FetchWorker(settings(web, first_byte_seconds=0.5, attempts=1, robots=False)) as worker:
        assert await reason(worker, "http://site.example/a") in (FetchFailure.UNREACHABLE, FetchFailure.TIMEOUT)


async def test_what_came_and_what_did_not_is_counted(web: Web) -> None:
    web.routes["/a"] = PAGE
    registry = CollectorRegistry()
    async with FetchWorker(settings(web), metrics=Metrics(registry)) as worker:
        urls = [f"http://site.example/{name}" for name in ("a", "gone")]
        await fetch(worker, *urls, "ftp://site.example/", "http://10.0.0.1/")
        await fetch(worker, *urls)

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(name, labels)

    assert value("assay_fetches_total", outcome="ok") == 1, "what is known already is no fetch"
    for failure in ("client_error", "forbidden_scheme", "forbidden_address"):
        assert value("assay_fetches_total", outcome=failure) == 1
    assert value("assay_fetch_bytes_total") == len("<h1>Hello</h1>")
    assert value("assay_fetch_wait_seconds_count") == 3
    assert value("assay_fetches_cached_total") == 2
    assert value("assay_fetch_robots_total", outcome="none") == 1


async def test_a_page_that_is_announced_as_too_large_is_not_read(web: Web) -> None:
    web.routes["/a"], web.routes["/b"] = response("x" * 4097), response("x" * 4096)
    async with FetchWorker(settings(web, max_bytes=4096)) as worker:
        [page] = await fetch(worker, "http://site.example/a")
        assert isinstance(page, FetchRefused)
        assert (page.reason, page.detail) == (FetchFailure.TOO_LARGE, "4097 bytes announced")
        assert await reason(worker, "http://site.example/b") is None


async def test_robots_txt_moved_for_ever_or_to_a_forbidden_place(web: Web) -> None:
    web.routes["/a"] = PAGE
    web.routes["/robots.txt"] = response("", status=302, Location="/robots.txt")
    async with FetchWorker(settings(web)) as worker:
        assert await reason(worker, "http://site.example/a") is None, "as if there were none (RFC 9309, 2.3.1.2)"
    for location in ("ftp://site.example/", "http://169.254.169.254/robots.txt", f"http://{web.place}/inside"):
        web.routes["/robots.txt"] = response("", status=302, Location=location)
        assert await outcome(web) is FetchFailure.ROBOTS
    assert (web.seen["/a"], web.seen["/inside"]) == (1, 0)
