"""The child of a command: it is forked on first use, replaced when it ends, and never outlives the command."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from schemas.outcome import Dead, DeadReason, Emit
from schemas.pages import CrawledPage
from streams.topology import Handler
from streams.workers.handler_jobs import answer_in, forked_pool
from streams.workers.pool import WorkerPool
from streams.workers.settings import WorkersSettings
from tests.processes import below, running
from tests.samples import instance
from tests.streams.workers.page_handlers import PAGES, NoRules

SMALL = WorkersSettings(processes=1, cpu_seconds=0.3, wall_seconds=3, memory_mib=300)


def made(settings: WorkersSettings = SMALL, handler: Handler = PAGES) -> WorkerPool | None:
    return forked_pool([(handler, NoRules())], settings)


async def test_a_forked_child_is_replaced_and_ends_with_the_pool() -> None:
    before = below(os.getpid())
    async with instance(WorkerPool, made()) as pool:
        started = running(below(os.getpid()) - before)
        assert len(started) == 2, "the template and its child"
        found: list[Any] = []
        for page in ("hang", "any", "crash", "any", "memory 3000000000", "any"):
            answer = await answer_in(pool, PAGES, NoRules(), CrawledPage(url="https://a.example/", html=page))
            found.append(answer.of.reason if isinstance(answer.of, Dead) else type(answer.of))
        replaced = running(below(os.getpid()) - before)
        assert len(replaced) == 2
        assert len(replaced & started) == 1, "the template stays"
    assert found == [DeadReason.TOOK_TOO_LONG, Emit, DeadReason.CRASHED, Emit, DeadReason.OUT_OF_MEMORY, Emit]
    assert not running(below(os.getpid()) - before)


def test_no_child_is_forked_without_processes_or_for_inline_work() -> None:
    assert made(WorkersSettings(processes=0)) is None
    assert made(handler=replace(PAGES, runs="inline")) is None
