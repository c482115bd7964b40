"""Pages with faults: what they do in a child process, and the checks of what came of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from handlers.score_page import ScorePageRules, score_page
from schemas.outcome import DeadReason
from schemas.pages import CrawledPage
from streams.workers.child import JobLimits, Work
from streams.workers.pool import WorkerPool
from tests.rules import shipped_rules
from tools.bench.hostile import (
    JOURNAL,
    REASONS,
    Entry,
    Verdicts,
    hangs_of,
    judge,
    marked,
    read_journal,
    score_or_fail,
)
from tools.bench.pages import Record

RULES = shipped_rules(ScorePageRules)
CPU_SECONDS = 3.0
"""Of one job. A page that takes too much memory must reach that limit first, also on a busy machine."""
BODY = b"<title>A page</title><p>Some text.</p>"


def page_with(mark: str) -> CrawledPage:
    return CrawledPage(url="https://site.example/", html_base64=BODY, content_type="text/html", context=mark)


def score_one(mark: str) -> str:
    """A job."""
    return type(score_or_fail(page_with(mark), RULES)).__name__


def make_work(journal: str) -> Work:
    """For a pool's children. The first look-ups of a process take long."""
    os.environ[JOURNAL] = journal
    score_one("")
    return score_one


def test_one_page_of_each_fault_is_in_each_share() -> None:
    pages: list[Record] = [(b"%d" % number, BODY, []) for number in range(24)]
    kinds = Counter(kind for kind, _ in marked(pages, one_in=8))
    assert kinds == {"page": 15, "hang": 3, "crash": 3, "memory": 3}
    assert {kind for kind, _ in marked(pages, one_in=0)} == {"page"}


def test_an_ordinary_page_is_scored() -> None:
    for mark in ("bench:page", "hang", "bench:"):
        page = page_with(mark)
        assert score_or_fail(page, RULES) == score_page(page, RULES)


@pytest.mark.slow
async def test_each_fault_gets_its_reason_and_the_journal_has_the_hang(tmp_path: Path) -> None:
    limits = JobLimits(CPU_SECONDS, 60.0, 256 << 20)
    async with WorkerPool(partial(make_work, str(tmp_path / "journal")), 1, limits) as pool:
        for kind, reason in REASONS.items():
            failed = await pool.run(f"bench:{kind}")
            assert failed.reason == reason
        assert await pool.run("bench:page") == "Emit"
    journal = read_journal(tmp_path / "journal")
    # A page that ends its process in another way than by its deadline runs twice.
    assert Counter(entry.what for entry in journal if entry.what in REASONS) == {"hang": 1, "crash": 2, "memory": 2}
    [hang] = hangs_of(journal, CPU_SECONDS)
    # The kernel's timer counts ticks, so it may end the process some time before the limit.
    assert hang.seconds > CPU_SECONDS - 0.3
    assert hang.beyond > -0.3


def test_only_a_later_process_replaces_the_hung_one() -> None:
    journal = [
        Entry(1.0, 1, "hang", 0.0),
        Entry(3.0, 2, "first", 0.0),
        Entry(6.0, 1, "hanging", 5.0),
        Entry(6.4, 3, "first", 0.0),
    ]
    [hang] = hangs_of(journal, 5.0)
    assert hang.beyond == pytest.approx(0.4)
    # A limit that comes late is found, whatever the replacement takes.
    journal[2] = Entry(6.3, 1, "hanging", 5.2)
    [hang] = hangs_of(journal, 5.0)
    assert hang.beyond == pytest.approx(0.3)
    assert hangs_of(journal[:3], 5.0) == []


KINDS = {b"a": "page", b"b": "page", b"c": "page", b"h": "hang", b"k": "crash", b"m": "memory"}
SCORED = Counter({"scored": 1})
CLEAN = dict.fromkeys(KINDS, SCORED) | {b"c": Counter({"unreadable_page": 1})}
Results = dict[bytes, Counter[str]]


def mixed() -> Results:
    """The results where everything went well."""
    results = {key: Counter(count) for key, count in CLEAN.items()}
    return results | {key: Counter({REASONS[kind]: 1}) for key, kind in KINDS.items() if kind != "page"}


def test_the_reasons_are_those_of_dead_letters() -> None:
    assert set(REASONS.values()) <= set(DeadReason)


def test_nothing_is_wrong_where_nothing_is() -> None:
    dead = dict.fromkeys(REASONS.values(), 1)
    assert judge(KINDS, CLEAN, mixed()) == Verdicts(processed=3, lost=0, twice=0, dead=dead, wrong=0)
    assert judge(KINDS, CLEAN, mixed()).flawless


def harmed(change: Callable[[Results], object]) -> Verdicts:
    results = mixed()
    change(results)
    return judge(KINDS, CLEAN, results)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda results: results.pop(b"a"), "lost"),
        (lambda results: results.update({b"a": Counter({"crashed": 1})}), "lost"),
        (lambda results: results.pop(b"c"), "lost"),
        (lambda results: results[b"b"].update(["scored"]), "twice"),
        (lambda results: results[b"b"].update(["took_too_long"]), "twice"),
        (lambda results: results.pop(b"h"), "wrong"),
        (lambda results: results[b"k"].update(["crashed"]), "wrong"),
        (lambda results: results.update({b"m": Counter({"crashed": 1})}), "wrong"),
        (lambda results: results.update({b"h": SCORED}), "wrong"),
    ],
)
def test_every_wrong_result_is_found(change: Callable[[Results], object], found: str) -> None:
    verdicts = harmed(change)
    assert not verdicts.flawless
    assert {name: getattr(verdicts, name) for name in ("lost", "twice", "wrong")} == {
        "lost": 0,
        "twice": 0,
        "wrong": 0,
        found: 1,
    }
