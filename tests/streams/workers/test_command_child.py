"""The child of a command: it is forked on first use, replaced when it ends, and never outlives the command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from schemas.outcome import Dead, DeadReason, Emit
from schemas.pages import CrawledPage
from streams.topology import Handler
from streams.workers.handler_jobs import answer_in, forked_pool
from streams.workers.pool import WorkerPool
from streams.workers.settings import WorkersSettings
from tests.processes import below, running, wait_for_end
from tests.samples import environment, instance
from tests.streams.workers.page_handlers import PAGES, NoRules

SMALL = WorkersSettings(processes=1, cpu_seconds=0.3, wall_seconds=3, memory_mib=300)
TRY = [sys.executable, "-c", "from streams.cli.main import main; main()", "try", "score_page"]
END_SECONDS = 10.0


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


@contextmanager
def trying() -> Iterator[tuple[subprocess.Popen[str], set[int]]]:
    """``assay try`` after its first line, and its child."""
    started = subprocess.Popen(
        TRY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment(ASSAY_WORKERS__PROCESSES="1"), start_new_session=True,
    )  # fmt: skip
    with started:
        try:
            assert started.stdin is not None
            assert started.stdout is not None
            started.stdin.write(CrawledPage(url="https://a.example/", html="<p>Text.").to_json().decode() + "\n")
            started.stdin.flush()
            assert json.loads(started.stdout.readline())["outcome"] == "emit"
            children = below(started.pid)
            assert len(children) == 2, "the template and its child"
            yield started, children
        finally:
            started.kill()


@pytest.mark.parametrize(
    ("number", "to_all"),
    [(signal.SIGKILL, False), (signal.SIGTERM, True), (signal.SIGINT, True)],
    ids=["killed", "terminated", "interrupted"],
)
def test_a_command_that_ends_leaves_no_child(number: signal.Signals, to_all: bool) -> None:
    with trying() as (command, children):
        (os.killpg if to_all else os.kill)(command.pid, number)
        command.wait(END_SECONDS)
        assert not wait_for_end(children, END_SECONDS)
        assert command.stderr is not None
        assert "Traceback" not in command.stderr.read()
