"""Hostile pages end with an outcome or with the limit that they exceeded, and no other page is affected."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial

import pytest

from handlers.score_page import ScorePageRules, score_page
from schemas.outcome import DeadReason, Emit, Outcome
from schemas.pages import MAX_PAGE_BYTES, CrawledPage
from streams.workers.child import JobLimits, Work
from streams.workers.pool import WorkerPool
from tests.handlers.html.hostile import ORDINARY, SHAPES
from tests.rules import shipped_rules
from tests.samples import instance

EXCEEDED = ("took_too_long", "out_of_memory")
SOME = ("one tag", "div", "span li", "formatting again", "compared", "long link", "comments in a table", "headings")


def make_scorer() -> Work:
    """Takes pages, and returns the outcome of ``score_page``."""
    rules = shipped_rules(ScorePageRules)
    score_page(crawled(ORDINARY(10_000)), rules)
    return partial(_score, rules)


def _score(rules: ScorePageRules, page: CrawledPage) -> Outcome:
    return score_page(page, rules)


def crawled(body: bytes) -> CrawledPage:
    return CrawledPage(url="https://hostile.example/", html_base64=body)


async def check(limits: JobLimits, size: int, names: Iterable[str]) -> None:
    """Each shape has an end that is allowed, and an ordinary page after each has its verdict."""
    ordinary = crawled(ORDINARY(50_000))
    exceeded = 0
    async with WorkerPool(make_scorer, 1, limits) as pool:
        verdict = instance(Emit, await pool.run(ordinary))
        for name in names:
            page = crawled(SHAPES[name](size)[:MAX_PAGE_BYTES])
            end, after = await asyncio.gather(pool.run(page), pool.run(ordinary))
            if not isinstance(end, Emit):
                assert end.reason in (*EXCEEDED, DeadReason.TOO_COMPLEX, DeadReason.UNREADABLE_PAGE), name
                exceeded += end.reason in EXCEEDED
            assert after == verdict, name
    assert exceeded


async def test_hostile_pages_end_and_others_are_scored() -> None:
    await check(JobLimits(cpu_seconds=0.3, wall_seconds=60, memory_bytes=512 << 20), 150_000, SOME)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("size", "names"), [(200_000, SHAPES), (MAX_PAGE_BYTES, SOME[:4])], ids=["all", "largest"])
async def test_every_shape_ends(size: int, names: Iterable[str]) -> None:
    await check(JobLimits(cpu_seconds=0.3, wall_seconds=60, memory_bytes=1 << 30), size, names)


async def test_a_parser_without_memory_is_out_of_memory() -> None:
    """The parser has an error of its own for it, which must not count as an error of the handler."""
    limits = JobLimits(cpu_seconds=10, wall_seconds=60, memory_bytes=100 << 20)
    async with WorkerPool(make_scorer, 1, limits) as pool:
        found = await pool.run(crawled(SHAPES["tags of 4"](3_000_000)))
    assert found.reason == "out_of_memory"
