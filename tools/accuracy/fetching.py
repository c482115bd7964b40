"""Fetching, tested with addresses that must not be reached and real robots.txt files.

Nothing here opens a connection or looks a name up: the resolver is made up.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

from protego import Protego

from schemas.replies import FetchFailure, FetchRefused
from streams.fetch.guard import Admitted, admit
from streams.fetch.robots import RobotsRules, rules_for
from streams.fetch.settings import FetchSettings
from streams.runtime.backoff import retry_after
from tools import labelled
from tools.accuracy.measure import markdown

ADDRESSES, ROBOTS, WAITS = "ssrf_urls", "robots_txt", "retry_after_values"
PUBLIC, PRIVATE = "93.184.216.34", "10.0.0.7"
AGENT = "assaybot"
CONTROLS = (
    "http://example.com/", "https://example.com:8443/a?b=c#d", "http://EXAMPLE.com./", "http://10news.example/",
    "http://127.example.org/", "http://1password.example/", "http://127.0.0.1.example.org/", "http://0x7f.example/",
    "http://localhost.example.org/", "http://internal.example.com/", "http://metadata.example.com/latest/meta-data/",
    "http://93.184.216.34/", "http://8.8.8.8:8080/", "http://[2606:4700::1111]/", "http://[::ffff:8.8.8.8]/",
    "https://münchen.example/straße", "https://例え.example/", "http://xn--mnchen-3ya.example/",
    "http://example.com/http://127.0.0.1/", "http://example.com/?u=http://169.254.169.254/", "http://example.com/@a",
    "http://a.b.c.d.example/%2e%2e/", "http://under_score.example/", "http://172.32.0.1/", "http://100.128.0.1/",
)  # fmt: skip
"""Addresses that anybody may visit, written here for the purpose; some only look as if one might not."""

_AGENT = re.compile(r"(?im)^[ \t]*user-agent[ \t]*:[ \t]*([^\s#]+)")


@dataclass(slots=True)
class Measured:
    """Rows of (what, right, of how many), and what was wrong."""

    rows: list[tuple[str, int, int]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def add(self, what: str, verdicts: dict[str, bool]) -> None:
        """Takes the verdicts on single cases."""
        right = sum(verdicts.values())
        self.rows.append((what, right, len(verdicts)))
        self.wrong += [f"{what}: {case}" for case, is_right in verdicts.items() if not is_right]

    def table(self) -> str:
        """Markdown."""
        return markdown("### Fetching", ["what", "right", "of"], self.rows)


def measure() -> Measured:
    """Measures each set that is present."""
    measured = Measured()
    if labelled.has(ADDRESSES):
        asyncio.run(_addresses(measured))
    if labelled.has(ROBOTS):
        _robots(measured)
    if labelled.has(WAITS):
        _waits(measured)
    return measured


async def _addresses(measured: Measured) -> None:
    async def judge(url: str, *answers: str) -> tuple[Admitted | FetchRefused, bool]:
        """What becomes of an address, and whether its name was looked up."""
        asked: list[str] = []

        async def resolver(host: str, port: int) -> Sequence[str]:
            asked.append(host)
            return answers

        return await admit(url, FetchSettings(), resolver), bool(asked)

    by_kind: dict[str, dict[str, bool]] = {}
    for case in labelled.cases(ADDRESSES):
        url, kind = case["url"], case["expect"]
        found, was_asked = await judge(url, PUBLIC)
        refused = isinstance(found, FetchRefused)
        if kind == "block":
            right = refused and not was_asked
        elif kind == "invalid":
            right = isinstance(found, FetchRefused) and found.reason is FetchFailure.INVALID_URL and not was_asked
        elif kind == "canonicalise_then_check_ip":
            right = refused and not was_asked
        else:
            # A public name that resolves to a private address: the address decides.
            inside, _ = await judge(url, PUBLIC, PRIVATE)
            right = isinstance(inside, FetchRefused)
        by_kind.setdefault(kind, {})[f"{case['id']} {url}"] = right
    for kind, verdicts in sorted(by_kind.items()):
        measured.add(f"addresses, {kind.replace('_', ' ')}", verdicts)
    controls = {url: isinstance((await judge(url, PUBLIC))[0], Admitted) for url in CONTROLS}
    measured.add("addresses that anybody may visit", controls)


def _robots(measured: Measured) -> None:
    raised: dict[str, bool] = {}
    sitemaps: dict[str, bool] = {}
    delays: dict[str, bool] = {}
    for case in labelled.cases(ROBOTS):
        text, name = case["text"], case["id"]
        try:
            rules = RobotsRules(AGENT, text)
            for path in ("/", "/robots.txt", "/search?q=1", "/a/b/c.html", "/%E3%81%82"):
                rules.allows(f"https://{case['domain']}{path}")
            raised[name] = rules.crawl_delay >= 0
        except Exception as error:
            raised[f"{name}: {error!r}"] = False
            continue
        sitemaps[name] = len(list(Protego.parse(rules_for(AGENT, text)).sitemaps)) == case["sitemaps"]
        if case["crawl_delay"]:
            agents = {AGENT, *(token.partition("/")[0].lower() for token in _AGENT.findall(text))}
            found = {RobotsRules(agent, text).crawl_delay for agent in agents}
            delays[f"{name} {case['crawl_delay']}"] = {float(delay) for delay in case["crawl_delay"]} <= found
    measured.add("robots.txt files that were read", raised)
    measured.add("robots.txt, as many sitemaps as labelled", sitemaps)
    measured.add("robots.txt, each labelled Crawl-delay is some agent's", delays)


def _waits(measured: Measured) -> None:
    verdicts = {}
    for case in labelled.cases(WAITS):
        now = parsedate_to_datetime(case["now"].replace("UTC", "GMT"))
        found = retry_after({"retry-after": case["header"]}, now)
        # The set says "no wait" for what is past and for what is malformed alike; ours are 0 and none.
        expected = case["expected_seconds"] or (None if case["invalid"] else 0.0)
        verdicts[f"{case['id']} {case['header']}"] = found == expected
    measured.add("Retry-After values", verdicts)
