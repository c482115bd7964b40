"""RFC 9309, case by case."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.replies import FetchFailure, FetchRefused
from streams.fetch.cache import FetchCache
from streams.fetch.client import Accepts, Response
from streams.fetch.guard import Target
from streams.fetch.robots import Robots, RobotsRules
from streams.fetch.settings import FetchSettings
from streams.fetch.worker import HostPacing
from streams.runtime.files import KeyedLocks
from tests.streams.doubles import VirtualClock
from tests.tables import tables

TABLES = tables(__file__)

Answer = Response | FetchRefused


def text(body: str, status: int = 200) -> Response:
    return Response(status, {}, body.encode(), 0.1)


def refused(reason: FetchFailure) -> FetchRefused:
    return FetchRefused("http://a.example/robots.txt", reason)


class Site:
    """Returns the given answers, and counts requests."""

    def __init__(self, *answers: Answer, **settings: object) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.found: list[str] = []
        self.time = VirtualClock()
        self.settings = FetchSettings.model_validate({"user_agent": "AssayBot/1.0", **settings})
        self.cache = FetchCache(self.settings, self.time)
        self.restart()

    def restart(self) -> None:
        self.robots = Robots(self.settings, self.time, self.get, self.cache, self.found.append)

    async def get(self, url: str, wanted: Accepts) -> Answer:
        assert wanted.cut
        self.asked.append(url)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    async def refusal(self, path: str = "/x", host: str = "a.example") -> FetchFailure | None:
        return (await self.robots.permission(Target("http", host, 80, path))).refusal


MakeSite = Callable[..., Site]


@pytest.fixture
async def make_site() -> AsyncIterator[MakeSite]:
    sites: list[Site] = []

    def make(*answers: Answer, **settings: object) -> Site:
        sites.append(Site(*answers, **settings))
        return sites[-1]

    yield make
    for site in sites:
        await site.cache.aclose()


def allowed(rules: str, path: str) -> bool:
    return RobotsRules("assaybot", rules).allows(f"http://a.example{path}")


@pytest.mark.parametrize(("rules", "allowing", "forbidding"), TABLES["rules"])
def test_rules(rules: str, allowing: list[str], forbidding: list[str]) -> None:
    assert [path for path in allowing if not allowed(rules, path)] == []
    assert [path for path in forbidding if allowed(rules, path)] == []


@pytest.mark.parametrize(
    ("rules", "seconds"),
    [
        *TABLES["pauses"],
        ("User-agent: *\nRequest-rate: 1/" + "9" * 4000, 1_000_000.0),
        ("User-agent: *\nRequest-rate: " + "9" * 4000 + "/1", 0.0),
    ],
)
def test_the_pause_that_a_site_asks_for(rules: str, seconds: float) -> None:
    assert RobotsRules("assaybot", rules).crawl_delay == pytest.approx(seconds)


@given(
    st.lists(st.sampled_from([*"\r\n:#*$/ %\t\ufeff\x00ü", "user-agent", "disallow", "allow", "crawl-delay", "9" * 30]))
)
def test_robots_parser_never_raises(pieces: list[str]) -> None:
    rules = RobotsRules("assaybot", "".join(pieces))
    rules.allows("http://a.example/x?y=%zz")
    assert 0.0 <= rules.crawl_delay < float("inf")


async def test_robots_file_is_cut_at_its_limit_without_a_partial_rule(make_site: MakeSite) -> None:
    rules = "User-agent: *\nDisallow: /a\n"
    site = make_site(text(f"{rules}#{'x' * (1023 - len(rules) - 11)}\nDisallow: /b-and-more"), robots_max_bytes=1024)
    assert [await site.refusal(path) for path in ("/a", "/b", "/b-and-more")] == [FetchFailure.ROBOTS, None, None]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (text("User-agent: *\nDisallow: /", status=404), None),
        (text("", status=403), None),
        (refused(FetchFailure.TOO_MANY_REDIRECTS), None),
        (refused(FetchFailure.SERVER_ERROR), FetchFailure.ROBOTS),
        (refused(FetchFailure.FORBIDDEN_ADDRESS), FetchFailure.ROBOTS),
        (refused(FetchFailure.UNREACHABLE), FetchFailure.UNREACHABLE),
        (refused(FetchFailure.TIMEOUT), FetchFailure.TIMEOUT),
        (refused(FetchFailure.RATE_LIMITED), FetchFailure.RATE_LIMITED),
    ],
)
async def test_missing_robots_rules_allow_and_unavailable_ones_forbid(
    make_site: MakeSite, answer: Answer, expected: FetchFailure | None
) -> None:
    assert await make_site(answer).refusal() is expected


async def test_rules_are_believed_for_a_while_by_origin(make_site: MakeSite) -> None:
    site = make_site(text("User-agent: *\nDisallow: /x"), robots_ttl_seconds=100)
    assert [await site.refusal(), await site.refusal("/y")] == [FetchFailure.ROBOTS, None]
    await site.refusal(host="b.example")
    site.time.seconds = 101
    await site.refusal()
    assert site.asked == [f"http://{host}.example/robots.txt" for host in "aba"]


async def test_a_host_is_given_another_chance(make_site: MakeSite) -> None:
    site = make_site(refused(FetchFailure.UNREACHABLE), text(""), robots_failure_ttl_seconds=10)
    assert await site.refusal() is await site.refusal() is FetchFailure.UNREACHABLE
    site.time.seconds = 11
    assert await site.refusal() is None


async def test_robots_rules_survive_a_restart_until_they_expire(make_site: MakeSite, tmp_path: Path) -> None:
    site = make_site(text("User-agent: *\nDisallow: /x"), robots_ttl_seconds=100, cache_path=tmp_path / "c.sqlite")
    assert await site.refusal() is FetchFailure.ROBOTS
    site.time.seconds = 60
    site.restart()
    assert [await site.refusal(), await site.refusal("/y")] == [FetchFailure.ROBOTS, None]
    assert len(site.asked) == 1
    site.time.seconds = 101
    await site.refusal()
    assert len(site.asked) == 2


async def test_only_so_many_origins_are_remembered(make_site: MakeSite) -> None:
    site = make_site(text(""), hosts=1, cache_bytes=0)
    for host in ("a.example", "b.example", "a.example"):
        await site.refusal(host=host)
    assert len(site.asked) == 3


# --- turns at hosts --------------------------------------------------------------------------------------------------


def make_pacing(time: VirtualClock, **settings: float) -> HostPacing:
    return HostPacing(FetchSettings.model_validate({"min_delay_seconds": 1.0, **settings}), time)


async def visit(
    pacing: HostPacing, host: str = "a", latency: float | None = 0.1, *, served: bool = True, **turn: float
) -> None:
    async with pacing.turn(host, **turn) as mine:
        assert mine is not None
        if latency is not None:
            mine.answered(latency, served=served)


async def test_crawl_delay_is_respected_up_to_the_longest_one() -> None:
    time = VirtualClock()
    pacing = make_pacing(time, max_delay_seconds=20.0)
    await visit(pacing, crawl_delay=7.0)
    assert pacing.wait("a") == 7.0
    await visit(pacing, "b", crawl_delay=500.0)
    assert pacing.wait("b") == 20.0
    await visit(pacing, "c", latency=None)
    assert pacing.wait("c") == 0.0, "nothing was asked"


async def test_only_so_many_hosts_are_remembered() -> None:
    pacing = make_pacing(VirtualClock(), hosts=2)
    for host in "abc":
        await visit(pacing, host)
    assert [pacing.wait(host) > 0 for host in "abc"] == [False, True, True]


async def test_locks_serve_in_order_and_are_forgotten() -> None:
    locks = KeyedLocks()
    order: list[int] = []

    async def work(number: int) -> None:
        async with locks.hold("key"):
            order.append(number)
            await asyncio.sleep(0)

    cancelled = asyncio.create_task(work(99))
    async with locks.hold("key"):
        tasks = [asyncio.create_task(work(number)) for number in range(3)]
        await asyncio.sleep(0)
        cancelled.cancel()
    await asyncio.gather(cancelled, *tasks, return_exceptions=True)
    assert order == [0, 1, 2]
    assert len(locks) == 0
