"""Handlers in child processes answer as they do inline, and a record over its limits becomes a dead letter."""

from __future__ import annotations

import asyncio
import os
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from handlers.score_page import ScorePageRules
from schemas.event import Event
from schemas.needs import Ask
from schemas.outcome import Dead, DeadReason, Emit, Outcome, Stage
from schemas.pages import CrawledPage, ScoredPage
from schemas.replies import PagesReply, Reply
from schemas.rules import Rules, Section
from streams.telemetry.metrics import Metrics
from streams.topology import HANDLERS, Handler
from streams.workers.handler_jobs import (
    Answer,
    RawRecord,
    Trials,
    answer_in,
    answer_of,
    forked_pool,
    handler_pool,
    warm_up,
)
from streams.workers.pool import WorkerPool
from streams.workers.settings import WorkersSettings
from tests.contract.worlds import World, broken, generous
from tests.processes import below, running
from tests.rules import shipped_rules
from tests.samples import EXAMPLES, emitted, instance, the_handler
from tests.streams.workers.page_handlers import ASKING, PAGES, NoRules, SomeRules

IN_CHILDREN = tuple(handler for handler in HANDLERS if handler.runs == "process")
RULES: dict[str, Rules] = {
    **{handler.name: shipped_rules(handler.rules) for handler in IN_CHILDREN},
    PAGES.name: NoRules(),
    ASKING.name: SomeRules(minimum=7),
}
SMALL = WorkersSettings(processes=1, cpu_seconds=0.3, wall_seconds=60, memory_mib=300)


class Pooled:
    """A pool, and the event loop on which its answers are awaited."""

    def __init__(self, runner: asyncio.Runner, pool: WorkerPool) -> None:
        self._runner = runner
        self._pool = pool

    def answer(self, handler: Handler, source: Event | RawRecord, *rest: Any) -> Answer:
        """The answer of a child."""
        return self._runner.run(answer_in(self._pool, handler, RULES[handler.name], source, *rest))

    def outcome(self, page: str) -> Outcome | Ask:
        """What the handler of these tests makes of a page."""
        return self.answer(PAGES, RawRecord(crawled(page).to_json(), (), None)).of


def pooled(settings: WorkersSettings, *handlers: tuple[Handler, Rules]) -> Iterator[Pooled]:
    pool = instance(WorkerPool, handler_pool(handlers, settings, Metrics(CollectorRegistry())))
    with asyncio.Runner() as runner:
        runner.run(pool.start())
        yield Pooled(runner, pool)
        runner.run(pool.stop())


@pytest.fixture(scope="module")
def real() -> Iterator[Pooled]:
    """A pool for the handlers of the topology."""
    yield from pooled(WorkersSettings(processes=1), *((handler, RULES[handler.name]) for handler in IN_CHILDREN))


@pytest.fixture(scope="module")
def toys() -> Iterator[Pooled]:
    """A pool with small limits for the handlers of these tests."""
    yield from pooled(SMALL, (PAGES, RULES[PAGES.name]), (ASKING, RULES[ASKING.name]))


def crawled(html: str) -> CrawledPage:
    return CrawledPage(url="https://a.example/1", html=html)


def examples(handler: Handler) -> list[bytes]:
    return [path.read_bytes() for path in sorted((EXAMPLES / handler.consumes.name).glob("*.json"))]


def unpickled(answer: Answer) -> Answer:
    """The answer with the state that a handler gave to it: a child returns its bytes."""
    if not isinstance(answer.of, Ask) or answer.of.state is None:
        return answer
    return Answer(replace(answer.of, state=pickle.loads(answer.of.state)), answer.stage)  # noqa: S301


@pytest.mark.parametrize("world", [generous, broken], ids=["services reply", "services fail"])
@pytest.mark.parametrize("handler", IN_CHILDREN, ids=lambda handler: handler.name)
def test_a_child_answers_examples_as_the_worker_itself_does(handler: Handler, world: World, real: Pooled) -> None:
    asked = 0
    for value in examples(handler):
        record = RawRecord(value, (), None)
        replies: tuple[Reply, ...] = ()
        inline = answer_of(handler, RULES[handler.name], record)
        child = real.answer(handler, record)
        while isinstance(inline.of, Ask):
            asked += 1
            assert unpickled(child) == inline
            replies = (*replies, world(inline.of.need))
            kept = instance(Ask, child.of).state
            inline = answer_of(handler, RULES[handler.name], record, replies, inline.of.state)
            child = real.answer(handler, record, replies, kept)
        assert child == inline
    assert (asked > 0) == bool(handler.asks)


@pytest.mark.parametrize(
    "value", [None, b"\xff{not json", b'{"url": 7}', b"[" * 20_000], ids=["empty", "no JSON", "invalid", "too deep"]
)
def test_an_undecodable_record_has_the_same_refusal_in_a_child(value: bytes | None, toys: Pooled) -> None:
    record = RawRecord(value, (("content-type", b"application/json"),), None)
    answer = toys.answer(PAGES, record)
    assert answer == answer_of(PAGES, NoRules(), record)
    assert answer.stage is Stage.DECODE
    assert instance(Dead, answer.of).reason in (DeadReason.UNDECODABLE, DeadReason.INVALID)


def test_an_ask_carries_its_state_from_child_to_child(toys: Pooled) -> None:
    ask = instance(Ask, toys.answer(ASKING, crawled("ask anything")).of)
    first = unpickled(Answer(ask)).of
    assert isinstance(first, Ask)
    assert toys.outcome("crash") != first, "the child that asked has ended"
    page = emitted(ScoredPage, toys.answer(ASKING, crawled("ask anything"), (PagesReply(()),), ask.state).of)
    value, asked, read, replies = page.content.split()
    assert (value, int(asked), replies) == ("anything", first.state["process"], "1")
    assert len({asked, read, str(os.getpid())}) == 3


def test_warming_up_reads_every_example_of_the_topic() -> None:
    read: list[Event] = []

    def note(event: Event, rules: Rules) -> Outcome:
        read.append(event)
        raise ValueError("an example that fails ends no start")

    warm_up(replace(PAGES, fn=note), NoRules())
    assert [event.to_json() for event in read] == [
        CrawledPage.model_validate_json(value).to_json() for value in examples(PAGES)
    ]


# --- trials -----------------------------------------------------------------------------------------------------------

PAGE_RULES = shipped_rules(ScorePageRules)
SHORT_PAGE = CrawledPage(url="https://a.example/", html="<title>T</title><h2>Part</h2><p>Text about a harbour.</p>")


def points_of_tier_3(points: int) -> dict[str, Section]:
    scores = PAGE_RULES.source_rules.base_scores.model_copy(update={"tier_3": points})
    return {"source_rules": PAGE_RULES.source_rules.model_copy(update={"base_scores": scores})}


def tried(
    settings: WorkersSettings, *jobs: tuple[Event | RawRecord, Mapping[str, Section]]
) -> list[tuple[Outcome, Outcome]]:
    async def work() -> list[tuple[Outcome, Outcome]]:
        async with Trials(the_handler("score_page"), [PAGE_RULES], settings) as trials:
            return [(await trials.outcome(page), await trials.outcome(page, 0, changes)) for page, changes in jobs]

    return asyncio.run(work())


@pytest.mark.parametrize("processes", [0, 1])
def test_a_page_is_scored_under_both_configurations(processes: int) -> None:
    raw = RawRecord(SHORT_PAGE.to_json(), (), None)
    jobs = [(SHORT_PAGE, points_of_tier_3(points)) for points in range(5, 15)]
    found = tried(WorkersSettings(processes=processes), *jobs, (raw, {}), (SHORT_PAGE, points_of_tier_3(5)))
    scores = [[emitted(ScoredPage, outcome).cts_score for outcome in pair] for pair in found]
    assert scores == [*([18, points + 8] for points in range(5, 15)), [18, 18], [18, 13]]
    versions = {emitted(ScoredPage, then).config_version for _, then in found}
    assert len(versions) == 10, "20 points for the third tier are a version, 10 are that of the shipped rules"


def test_a_handler_that_makes_requests_is_refused() -> None:
    with pytest.raises(ValueError, match="makes requests"):
        Trials(ASKING, [shipped_rules(ScorePageRules)], WorkersSettings())


# --- a command's own child -------------------------------------------------------------------------------------------


SHORT = WorkersSettings(processes=1, cpu_seconds=0.3, wall_seconds=3, memory_mib=300)


def made(settings: WorkersSettings = SHORT, handler: Handler = PAGES) -> WorkerPool | None:
    return forked_pool([(handler, NoRules())], settings)


async def test_a_forked_child_is_replaced_and_ends_with_the_pool() -> None:
    before = below(os.getpid())
    async with instance(WorkerPool, made()) as pool:
        started = running(below(os.getpid()) - before)
        assert len(started) == 2, "the template and its child"
        found: list[Any] = []
        for page in ("hang", "any", "crash", "any", "memory 3000000000", "any"):
            answer = await answer_in(pool, PAGES, NoRules(), CrawledPage(url="https://a.example/", html=page))
            found.append(answer.of if isinstance(answer.of, Dead) else type(answer.of))
        replaced = running(below(os.getpid()) - before)
        assert len(replaced) == 2
        assert len(replaced & started) == 1, "the template stays"
    assert found[1::2] == [Emit] * 3
    assert found[::2] == [
        Dead(DeadReason.TOOK_TOO_LONG, "more than 0.3 s of CPU time, or 3 s in all"),
        Dead(DeadReason.CRASHED, "its process ended with status -9"),
        Dead(DeadReason.OUT_OF_MEMORY, "more than 300 MiB of memory"),
    ]
    assert not running(below(os.getpid()) - before)


def test_no_child_is_forked_without_processes_or_for_inline_work() -> None:
    assert made(WorkersSettings(processes=0)) is None
    assert made(handler=replace(PAGES, runs="inline")) is None
