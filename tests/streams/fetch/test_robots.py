"""RFC 9309, case by case."""

from __future__ import annotations

import pytest

from schemas.outcome import FetchFailure, FetchRefused
from streams.fetch.client import Response, Wanted
from streams.fetch.guard import Target
from streams.fetch.robots import Robots, rules_for
from streams.fetch.settings import FetchSettings
from tests.streams.fetch.virtual import VirtualTime

Answer = Response | FetchRefused


def text(body: str, status: int = 200) -> Response:
    return Response(status, {}, body.encode(), 0.1)


def refused(reason: FetchFailure) -> FetchRefused:
    return FetchRefused("http://a.example/robots.txt", reason)


class Site:
    """Answers with what it is told to, and counts."""

    def __init__(self, *answers: Answer, **settings: object) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.time = VirtualTime()
        self.settings = FetchSettings.model_validate({"user_agent": "AssayBot/1.0", **settings})
        self.robots = Robots(self.settings, self.time.clock, self.get)

    async def get(self, url: str, wanted: Wanted) -> Answer:
        assert wanted.cut
        self.asked.append(url)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    async def refusal(self, path: str = "/x", host: str = "a.example") -> FetchFailure | None:
        return (await self.robots.permission(Target("http", host, 80, path))).refusal


@pytest.mark.parametrize(
    ("rules", "path", "allowed"),
    [
        ("", "/x", True),
        ("User-agent: *\nDisallow: /", "/x", False),
        ("User-agent: *\nDisallow:", "/x", True),
        ("User-agent: other\nDisallow: /", "/x", True),
        ("User-agent: assaybot\nAllow: /\n\nUser-agent: *\nDisallow: /", "/x", True),
        ("user-AGENT: AssayBot\ndisallow: /x", "/x", False),
        ("User-agent: a\nUser-agent: AssayBot\nDisallow: /x", "/x", False),
        ("User-agent: AssayBot\nDisallow: /x\nUser-agent: b\nDisallow: /y", "/y", True),
        ("User-agent: *\nDisallow: /x\nAllow: /x/public", "/x/public/1", True),
        ("User-agent: *\nAllow: /x\nDisallow: /x", "/x", True),
        ("User-agent: *\nDisallow: /*.pdf$", "/a.pdf", False),
        ("User-agent: *\nDisallow: /*.pdf$", "/a.pdf?x", True),
        ("User-agent: *\nDisallow: /a%3Cb", "/a%3cb", False),
        ("# all\n\nUser-agent: * # everybody\nDisallow: /x # secret", "/x", False),
        ("\ufeffUser-agent: *\nDisallow: /x", "/x", False),
        ("<html><body>No such page</body></html>", "/x", True),
        ("User-agent: *\nDisallow: /", "/robots.txt", True),
    ],
)
async def test_rules(rules: str, path: str, allowed: bool) -> None:
    assert await Site(text(rules)).refusal(path) is (None if allowed else FetchFailure.ROBOTS)


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
async def test_rules_that_are_not_there_allow_and_those_that_cannot_be_had_forbid(
    answer: Answer, expected: FetchFailure | None
) -> None:
    assert await Site(answer).refusal() is expected


async def test_rules_are_believed_for_a_while_by_origin() -> None:
    site = Site(text("User-agent: *\nDisallow: /x"), robots_ttl_seconds=100)
    assert [await site.refusal(), await site.refusal("/y")] == [FetchFailure.ROBOTS, None]
    await site.refusal(host="b.example")
    site.time.seconds = 101
    await site.refusal()
    assert site.asked == [f"http://{host}.example/robots.txt" for host in "aba"]


async def test_a_host_is_given_another_chance() -> None:
    site = Site(refused(FetchFailure.UNREACHABLE), text(""), robots_failure_ttl_seconds=10)
    assert await site.refusal() is await site.refusal() is FetchFailure.UNREACHABLE
    site.time.seconds = 11
    assert await site.refusal() is None


async def test_only_so_many_origins_are_remembered() -> None:
    site = Site(text(""), hosts=1)
    for host in ("a.example", "b.example", "a.example"):
        await site.refusal(host=host)
    assert len(site.asked) == 3


async def test_crawl_delay_and_switching_it_all_off() -> None:
    site = Site(text("User-agent: *\nCrawl-delay: 2.5\nDisallow: /"))
    assert (await site.robots.permission(Target("http", "a.example", 80, "/x"))).crawl_delay == 2.5
    site = Site(text("User-agent: *\nDisallow: /"), robots=False)
    assert await site.refusal() is None
    assert site.asked == []


def test_other_agents_become_one() -> None:
    many = "\n".join(f"User-agent: bot{number}" for number in range(1000))
    assert rules_for("assaybot", f"{many}\nDisallow: /\nUser-agent: assay*\nAllow: /") == (
        "User-agent: -\nDisallow: /\nUser-agent: assay\nAllow: /"
    )
