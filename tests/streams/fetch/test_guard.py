"""The addresses that may be connected to, and those that are refused."""

import asyncio
import socket
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from schemas.replies import FetchFailure, FetchRefused
from streams.fetch.guard import Admitted, SystemResolver, Target, admit, parse_target, repeated_part, why_not_global
from streams.fetch.settings import FetchSettings
from tests.samples import instance
from tests.tables import tables

TABLES = tables(__file__)

PUBLIC = "93.184.216.34"
FORBIDDEN, INVALID = FetchFailure.FORBIDDEN_ADDRESS, FetchFailure.INVALID_URL


async def judge(url: str, *answers: str, **settings: Any) -> Admitted | FetchRefused:
    async def resolver(host: str, port: int) -> Sequence[str]:
        if not answers:
            raise OSError("no such name")
        return answers

    return await admit(url, FetchSettings(**settings), resolver)


@pytest.mark.parametrize(
    ("url", "reason"),
    [*TABLES["refused"], ("http://example.com/" + "ü" * 3000, INVALID), ("https://" + "a" * 9000, INVALID)],
)
async def test_refused_without_asking_for_the_name(url: str, reason: FetchFailure) -> None:
    found = instance(FetchRefused, await judge(url, PUBLIC))
    assert found.reason is FetchFailure(reason)


@pytest.mark.parametrize(
    ("url", "target"),
    [
        *((url, Target(*target)) for url, target in TABLES["ordinary_addresses_are_let_through"]),
        (f"http://{PUBLIC}/", Target("http", PUBLIC, 80, "/")),
        (f"http://{PUBLIC}./", Target("http", PUBLIC, 80, "/")),
    ],
)
async def test_ordinary_addresses_are_let_through(url: str, target: Target) -> None:
    assert await judge(url, PUBLIC) == Admitted(target, ((PUBLIC, target.port),))


@pytest.mark.parametrize("own", ["127.0.0.1", "::1"])
async def test_address_of_this_machine_is_refused_even_if_global(own: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams.fetch.guard.why_not_global", lambda _: None)
    found = instance(FetchRefused, await judge("http://name.example.com/", own))
    assert (found.reason, found.detail) == (FORBIDDEN, f"{own} is an address of this machine")
    assert isinstance(await judge("http://name.example.com/", PUBLIC), Admitted)
    assert isinstance(await judge("http://name.example.com/", own, allow_private=True), Admitted)


async def test_look_ups_use_the_port_and_their_own_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a failure that may pass is tried once more."""
    asked: list[Any] = []
    threads: list[str] = []
    busy, most = 0, 0
    turn = threading.Lock()

    def look_up(host: str, port: int, **options: object) -> list[tuple[object, ...]]:
        nonlocal busy, most
        with turn:
            busy += 1
            most = max(most, busy)
        threads.append(threading.current_thread().name)
        asked.append((host, port, options))
        again.wait(0.05)
        with turn:
            busy -= 1
        if len(asked) == 1 or host == "gone.example":
            raise socket.gaierror(socket.EAI_NONAME if host == "gone.example" else socket.EAI_AGAIN, "no")
        return [(0, 0, 0, "", (PUBLIC, port))]

    again = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    resolver = SystemResolver(2)
    try:
        assert await resolver("one.example", 8080) == [PUBLIC]
        await asyncio.gather(*(resolver("two.example", 80) for _ in range(6)))
        with pytest.raises(socket.gaierror):
            await resolver("gone.example", 80)
    finally:
        resolver.close()
    assert asked[:2] == [("one.example", 8080, {"type": socket.SOCK_STREAM})] * 2
    assert [host for host, *_ in asked].count("gone.example") == 1
    assert all(name.startswith("resolve") for name in threads)
    assert most <= 2, "no more look-ups at a time than threads"


async def test_a_name_without_an_address() -> None:
    url = "http://gone.example.com/"
    refused = FetchRefused(url, FetchFailure.UNRESOLVABLE, "no address for gone.example.com")
    assert await judge(url) == refused

    async def silent(host: str, port: int) -> Sequence[str]:
        await asyncio.Event().wait()
        raise AssertionError

    async with asyncio.timeout(5):
        assert await admit(url, FetchSettings(connect_seconds=0.01), silent) == refused


@pytest.mark.parametrize(("url", "why"), TABLES["a_refusal_says_which_address_and_why"])
async def test_a_refusal_says_which_address_and_why(url: str, why: str) -> None:
    assert await judge(url, PUBLIC, "10.0.0.2") == FetchRefused(url, FORBIDDEN, why)


async def test_the_operator_may_permit_a_host_or_a_network() -> None:
    permitted = {"resolve": {"Inside.example": "[::1]:8080"}}
    found = instance(Admitted, await judge("https://inside.example/x", **permitted))
    assert (found.places, found.target.authority) == ((("::1", 8080),), "inside.example")
    assert isinstance(await judge("https://inside2.example/x", "10.0.0.1", **permitted), FetchRefused)
    assert isinstance(await judge("http://10.0.0.1/", allow_private=True), Admitted)
    assert isinstance(await judge("http://printer/", "10.0.0.1", allow_private=True), Admitted)
    assert isinstance(await judge("http://0x7f000001/", allow_private=True), Admitted)


@pytest.mark.parametrize("url", TABLES["a_permission_is_for_exactly_that_host"])
async def test_a_permission_is_for_exactly_that_host(url: str) -> None:
    assert isinstance(await judge(url, "10.0.0.1", resolve={"inside.example": "[::1]:8080"}), FetchRefused)


async def test_only_ports_of_the_web_are_reached_on_public_hosts() -> None:
    for port in (1024, 1025, 3000, 5000, 8000, 8080, 8081, 8443, 8888):
        assert isinstance(await judge(f"http://shop.example.com:{port}/", PUBLIC), Admitted)
    for port in (2375, 5432, 6379, 9200, 10250, 11211, 27017):
        found = instance(FetchRefused, await judge(f"http://shop.example.com:{port}/", PUBLIC))
        assert found.reason is FetchFailure.FORBIDDEN_ADDRESS
        assert isinstance(await judge(f"http://shop.example.com:{port}/", PUBLIC, forbidden_ports=()), Admitted)


async def test_version_four_comes_first() -> None:
    found = instance(Admitted, await judge("http://both.example.com/", "2606:4700::1111", PUBLIC))
    assert [address for address, _ in found.places] == [PUBLIC, "2606:4700::1111"]
    alone = instance(Admitted, await judge("http://[2606:4700::1111]:8080/x"))
    assert alone.places == (("2606:4700::1111", 8080),)


@pytest.mark.parametrize(
    ("host", "target"),
    [
        *(("host.example", target) for target in ("127.0.0.1", "localhost:80", "127.0.0.1:0", "127.0.0.1:x")),
        ("host.example", "127.0.0.1:70000"),
        *((host, "127.0.0.1:80") for host in TABLES["more"]),
    ],
)
def test_a_permission_is_for_a_host_and_an_address_with_a_port(host: str, target: str) -> None:
    with pytest.raises(ValidationError):
        FetchSettings(resolve={host: target})


def test_only_addresses_of_the_open_internet_are_global() -> None:
    for address in ("8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"):
        assert why_not_global(address) is None
    for address in ("", "x", "1.2.3", "2606:4700::1%1", "3fff::1", "::8.8.8.8", "255.255.255.255"):
        assert why_not_global(address)


@given(st.one_of(st.text(max_size=60), st.text(alphabet="htp:/.@[]%0123456789xabcdefＡ。\\#?", max_size=40)))
def test_anything_is_judged_and_nothing_raises(text: str) -> None:
    for url in (text, f"http://{text}", f"http://{text}/path"):
        found = parse_target(url)
        assert isinstance(found, Target | FetchRefused)
        if isinstance(found, Target):
            again = parse_target(found.url)
            assert again == found


@pytest.mark.parametrize(("path", "part"), TABLES["a_part_that_follows_itself_three_times_is_found"])
def test_a_part_that_follows_itself_three_times_is_found(path: str, part: str) -> None:
    assert repeated_part(instance(Target, parse_target(f"http://site.example{path}"))) == part
