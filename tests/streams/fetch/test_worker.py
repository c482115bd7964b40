"""The fetch worker against a real server on loopback, and against addresses it must not touch."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from schemas.outcome import FetchedPage, FetchFailure, FetchPages, FetchRefused
from streams.fetch.clock import Clock
from streams.fetch.settings import FetchSettings
from streams.fetch.worker import FetchWorker, retry_after
from tests.streams.fetch.web import Web, response, serving

PAGE = response("<h1>Hello</h1>")


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


async def test_a_page_comes_with_its_bytes_under_its_own_host(web: Web) -> None:
    web.routes["/a"] = response("<p>é".encode("latin-1"), content_type="text/html; charset=latin-1")
    async with FetchWorker(settings(web)) as worker:
        [page] = await fetch(worker, "http://site.example/a")
    assert isinstance(page, FetchedPage)
    assert (page.body, page.content_type, page.status) == (b"<p>\xe9", "text/html; charset=latin-1", 200)
    assert set(web.hosts) == {"site.example"}
    assert web.seen["/robots.txt"] == 1


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


async def test_a_cache_that_cannot_be_opened_is_done_without(web: Web, tmp_path: Path) -> None:
    web.routes["/a"] = PAGE
    (tmp_path / "file").write_text("no folder")
    async with FetchWorker(settings(web, cache_path=tmp_path / "file" / "cache.sqlite")) as worker:
        assert await reason(worker, "http://site.example/a") is None
        assert await reason(worker, "http://site.example/a") is None
    assert web.seen["/a"] == 1


async def test_robots_are_obeyed(web: Web) -> None:
    web.routes["/robots.txt"] = response("User-agent: *\nDisallow: /private\n", content_type="text/plain")
    web.routes["/private/a"] = web.routes["/b"] = PAGE
    async with FetchWorker(settings(web)) as worker:
        assert await reason(worker, "http://site.example/private/a") is FetchFailure.ROBOTS
        assert await reason(worker, "http://site.example/b") is None
    assert web.seen["/private/a"] == 0


async def test_rules_that_cannot_be_had_forbid(web: Web) -> None:
    web.routes["/robots.txt"] = response("", status=500)
    web.routes["/a"] = PAGE
    async with FetchWorker(settings(web)) as worker:
        assert await reason(worker, "http://site.example/a") is FetchFailure.ROBOTS
    assert web.seen["/a"] == 0


async def test_redirects_are_followed_within_limits_and_checked(web: Web) -> None:
    web.routes["/a"] = response("", status=302, Location="/b")
    web.routes["/b"] = PAGE
    web.routes["/loop"] = response("", status=302, Location="/loop")
    web.routes["/out"] = response("", status=302, Location="http://169.254.169.254/latest")
    web.routes["/scheme"] = response("", status=302, Location="file:///etc/passwd")
    async with FetchWorker(settings(web)) as worker:
        [page] = await fetch(worker, "http://site.example/a")
        assert isinstance(page, FetchedPage)
        assert page.final_url == "http://site.example/b"
        assert await reason(worker, "http://site.example/loop") is FetchFailure.TOO_MANY_REDIRECTS
        assert await reason(worker, "http://site.example/out") is FetchFailure.FORBIDDEN_ADDRESS
        assert await reason(worker, "http://site.example/scheme") is FetchFailure.FORBIDDEN_SCHEME
    assert web.seen["/loop"] == 6


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1/", FetchFailure.FORBIDDEN_ADDRESS),
        ("http://10.1.2.3/", FetchFailure.FORBIDDEN_ADDRESS),
        ("http://[::1]/", FetchFailure.FORBIDDEN_ADDRESS),
        ("http://[::ffff:192.168.0.1]/", FetchFailure.FORBIDDEN_ADDRESS),
        ("http://0x7f000001/", FetchFailure.FORBIDDEN_ADDRESS),
        ("http://2130706433/", FetchFailure.FORBIDDEN_ADDRESS),
        ("http://0177.0.0.1/", FetchFailure.FORBIDDEN_ADDRESS),
        ("http://100.64.0.1/", FetchFailure.FORBIDDEN_ADDRESS),
        ("http://localhost/", FetchFailure.FORBIDDEN_ADDRESS),
        ("http://printer/", FetchFailure.FORBIDDEN_ADDRESS),
        ("http://user:word@site.example/", FetchFailure.INVALID_URL),
        ("ftp://site.example/", FetchFailure.FORBIDDEN_SCHEME),
    ],
)
async def test_forbidden_places_are_refused_without_a_look_up(web: Web, url: str, expected: FetchFailure) -> None:
    asked: list[str] = []

    async def resolver(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["93.184.216.34"]

    async with FetchWorker(settings(web), resolver=resolver) as worker:
        assert await reason(worker, url) is expected
    assert asked == []


async def test_a_name_that_answers_differently_the_second_time_gains_nothing(web: Web) -> None:
    answers = [["93.184.216.34"], ["127.0.0.1"], ["127.0.0.1"], ["127.0.0.1"]]

    async def resolver(host: str, port: int) -> Sequence[str]:
        return answers.pop(0)

    async with FetchWorker(settings(web, robots=False), resolver=resolver) as worker:
        assert await reason(worker, f"http://rebinding.example:{web.port}/") is FetchFailure.FORBIDDEN_ADDRESS
    assert not web.seen


async def test_one_private_answer_among_public_ones_is_enough(web: Web) -> None:
    async def resolver(host: str, port: int) -> Sequence[str]:
        return ["93.184.216.34", "10.0.0.7"]

    async with FetchWorker(settings(web), resolver=resolver) as worker:
        assert await reason(worker, "http://mixed.example/") is FetchFailure.FORBIDDEN_ADDRESS


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (response("gone", status=404), FetchFailure.CLIENT_ERROR),
        (response("%PDF", content_type="application/pdf"), FetchFailure.NOT_HTML),
        (response("x" * 5000), FetchFailure.TOO_LARGE),
        (response(gzip.compress(b"\0" * 4_000_000), Content_Encoding="gzip"), FetchFailure.TOO_LARGE),
        (response("x", Content_Encoding="br"), FetchFailure.NOT_HTML),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort", FetchFailure.UNREACHABLE),
        (b"nonsense\r\n\r\n", FetchFailure.UNREACHABLE),
        (response("later", status=429, Retry_After="3600"), FetchFailure.RATE_LIMITED),
    ],
)
async def test_answers_that_are_no_page(web: Web, answer: bytes, expected: FetchFailure) -> None:
    web.routes["/a"] = answer
    async with FetchWorker(settings(web, max_bytes=4096)) as worker:
        assert await reason(worker, "http://site.example/a") is expected


async def test_a_server_in_trouble_is_asked_again(web: Web) -> None:
    answers = [response("", status=500), response("", status=503), PAGE]

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(answers.pop(0))
        await writer.drain()

    web.routes["/a"] = answer
    async with FetchWorker(settings(web)) as worker:
        assert await reason(worker, "http://site.example/a") is None
    assert web.seen["/a"] == 3


async def test_a_short_wish_to_wait_is_granted(web: Web) -> None:
    slept: list[float] = []
    answers = [response("", status=429, Retry_After="7"), PAGE]
    now = 0.0

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(answers.pop(0))
        await writer.drain()

    async def sleep(seconds: float) -> None:
        nonlocal now
        slept.append(seconds)
        now += seconds

    web.routes["/a"] = answer
    clock = Clock(monotonic=lambda: now, sleep=sleep)
    async with FetchWorker(settings(web), clock=clock) as worker:
        assert await reason(worker, "http://site.example/a") is None
    assert 7.0 in slept


async def test_a_dripping_body_ends_in_a_timeout(web: Web) -> None:
    async def drip(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(100):
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.05)

    web.routes["/a"] = drip
    async with FetchWorker(settings(web, total_seconds=0.3, attempts=1)) as worker:
        assert await reason(worker, "http://site.example/a") is FetchFailure.TIMEOUT


async def test_nobody_listens(web: Web) -> None:
    changes = settings(web).model_copy(update={"resolve": {"site.example": "127.0.0.1:1"}, "robots": False})
    async with FetchWorker(changes) as worker:
        assert await reason(worker, "http://site.example/a") is FetchFailure.UNREACHABLE


async def test_one_request_at_a_time_to_a_host_and_others_are_not_held_up(web: Web) -> None:
    underway = most = 0

    async def slow(writer: asyncio.StreamWriter) -> None:
        nonlocal underway, most
        underway += 1
        most = max(most, underway)
        await asyncio.sleep(0.1)
        underway -= 1
        writer.write(PAGE)
        await writer.drain()

    async def hang(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(30)

    for path in ("/1", "/2", "/3"):
        web.routes[path] = slow
    web.routes["/hang"] = hang
    async with FetchWorker(settings(web, "down.example", robots=False)) as worker:
        hanging = asyncio.create_task(fetch(worker, "http://down.example/hang"))
        pages = await fetch(worker, *(f"http://site.example/{n}" for n in (1, 2, 3)))
        assert all(isinstance(page, FetchedPage) for page in pages)
        assert not hanging.done()
        hanging.cancel()
        await asyncio.gather(hanging, return_exceptions=True)
    assert most == 1


async def test_a_long_wish_to_be_left_alone_is_respected_by_all_that_wait(web: Web) -> None:
    web.routes["/a"] = response("later", status=429, Retry_After="86400")
    web.routes["/b"] = web.routes["/c"] = PAGE
    async with FetchWorker(settings(web, robots=False)) as worker:
        pages = await fetch(worker, *(f"http://site.example/{name}" for name in "abc"))
    assert {page.reason for page in pages if isinstance(page, FetchRefused)} == {FetchFailure.RATE_LIMITED}
    assert len(pages) == 3
    assert (web.seen["/b"], web.seen["/c"]) == (0, 0)


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("http://[", FetchFailure.INVALID_URL),
        ("//user@site.example/", FetchFailure.INVALID_URL),
        ("http://localhost/", FetchFailure.FORBIDDEN_ADDRESS),
        ("http://2130706433/", FetchFailure.FORBIDDEN_ADDRESS),
        ("javascript:alert(1)", FetchFailure.FORBIDDEN_SCHEME),
        ("", FetchFailure.CLIENT_ERROR),
    ],
)
async def test_redirects_to_odd_places(web: Web, location: str, expected: FetchFailure) -> None:
    web.routes["/a"] = response("", status=301, Location=location)
    async with FetchWorker(settings(web)) as worker:
        assert await reason(worker, "http://site.example/a") is expected


async def test_a_host_that_is_down_is_called_that(web: Web) -> None:
    down = settings(web).model_copy(update={"resolve": {"site.example": "127.0.0.1:1"}})
    async with FetchWorker(down) as worker:
        assert await reason(worker, "http://site.example/a") is FetchFailure.UNREACHABLE


async def test_rules_come_at_the_second_try(web: Web) -> None:
    answers = [response("", status=503), response("User-agent: *\nDisallow: /a", content_type="text/plain")]

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(answers.pop(0))
        await writer.drain()

    web.routes["/robots.txt"] = answer
    web.routes["/b"] = PAGE
    async with FetchWorker(settings(web)) as worker:
        assert await reason(worker, "http://site.example/a") is FetchFailure.ROBOTS
        assert await reason(worker, "http://site.example/b") is None


async def test_a_silent_server_ends_in_a_timeout(web: Web) -> None:
    async def silent(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(5)

    web.routes["/a"] = silent
    async with FetchWorker(settings(web, first_byte_seconds=0.2, attempts=2)) as worker:
        assert await reason(worker, "http://site.example/a") is FetchFailure.TIMEOUT
    assert web.seen["/a"] == 2


async def test_cancelling_in_the_middle_leaves_nothing_open(web: Web) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def endless(writer: asyncio.StreamWriter) -> None:
        begun.set()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        try:
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.01)
        finally:
            ended.set()

    web.routes["/a"] = endless
    web.routes["/b"] = PAGE
    async with FetchWorker(settings(web)) as worker:
        fetching = asyncio.create_task(fetch(worker, "http://site.example/a"))
        await begun.wait()
        fetching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await fetching
        await asyncio.wait_for(ended.wait(), 5)
        assert await reason(worker, "http://site.example/b") is None


@pytest.mark.parametrize("packed", [gzip.compress(b"<p>a") + gzip.compress(b"b"), zlib.compress(b"<p>ab")])
async def test_packed_pages_are_unpacked(web: Web, packed: bytes) -> None:
    way = "gzip" if packed[0] == 0x1F else "deflate"
    web.routes["/a"] = response(packed, Content_Encoding=way)
    async with FetchWorker(settings(web)) as worker:
        [page] = await fetch(worker, "http://site.example/a")
    assert isinstance(page, FetchedPage)
    assert page.body == b"<p>ab"


def test_retry_after_in_its_forms() -> None:
    assert retry_after("7", Clock()) == 7.0
    assert retry_after("Thu, 01 Jan 1970 00:00:00 GMT", Clock()) == 0.0
    assert retry_after("", Clock()) is None
