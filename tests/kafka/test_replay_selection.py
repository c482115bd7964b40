"""Ranges read back, records chosen by contents and earlier decisions, and what another configuration would change."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from datetime import UTC, datetime

import pytest
from aiokafka import ConsumerRecord

from schemas.outcome import Dead, DeadReason, Outcome
from schemas.pages import CrawledPage
from schemas.relevance import RelevanceRequested
from schemas.replays import OffsetRange, ReplaySelection, ReplayState, TopicRanges
from schemas.rules import Rules
from streams.cli.replay_run import tell_diff
from streams.dlq.redrive import RedriveOptions, redrive
from streams.dlq.selection import Selection
from streams.kafka.clients import make_producer
from streams.kafka.log_reader import committed_ranges, read_log
from streams.replay.admin import resolved
from streams.replay.plan import ReplayRequest, make_plan
from streams.replay.processor import ReplayProgress
from streams.replay.ranges import EARLIEST, LATEST, find_ranges
from streams.replay.selection import decision_ranges, make_selector
from streams.settings.model import load_settings
from streams.topology import RELEVANCE_JUDGED as JUDGED
from streams.topology import REPLAYS, Handler
from tests.kafka.installation import (
    CRAWLED,
    PARTITIONS,
    SCORED,
    Installation,
    Installing,
    handlers_named,
    install,
    page,
    scored,
    scorer,
)
from tests.kafka.replays import Watched, carried_out, planned
from tests.samples import instance
from tests.streams.llm.judges import input_of, judge_of
from tests.streams.llm.model_server import Behaviour, Wire, model_server, says, status

SOURCES = "relevance.requested.v1"
JUDGE = judge_of("judge_relevance")
COUNT = 24
[SCORER] = handlers_named("score_page")


async def read(place: Installation, topic: str, ranges: Sequence[OffsetRange]) -> list[ConsumerRecord]:
    async with aclosing(read_log(place.settings.kafka, topic, ranges)) as records:
        return [record async for record in records]


async def whole(place: Installation, topic: str) -> tuple[OffsetRange, ...]:
    return (await find_ranges(place.settings, topic)).ranges


async def test_a_range_ends_before_what_is_not_committed(installing: Installing, topic_prefix: str) -> None:
    place = await installing()
    await place.feed([page(number) for number in range(10)])
    producer = make_producer(place.settings.kafka, f"{topic_prefix}open", "open")
    await producer.start()
    await producer.begin_transaction()
    for number in range(10, 20):
        await producer.send_and_wait(topic_prefix + CRAWLED, page(number)[1], key=page(number)[0])
    try:
        beyond = [OffsetRange(partition=number, start=0, end=1000) for number in range(PARTITIONS)]
        assert len(await read(place, CRAWLED, beyond)) == 10
        [its] = await committed_ranges(place.settings.kafka, [CRAWLED, "no.such.topic"])
        assert sum(each.end for each in its.ranges) == 10
    finally:
        await producer.abort_transaction()
        await producer.stop()
    ranges = await whole(place, CRAWLED)
    assert sum(its.end for its in ranges) > 20, "they contain aborted records and markers"
    assert len(await read(place, CRAWLED, ranges)) == 10


def by_number(wire: Wire) -> Behaviour:
    """Every question of a kind is answered in its own way, told apart by the number in its source's address."""
    text = " ".join(str(message.get("content")) for message in wire.asked.messages)
    number = next(number for number in range(COUNT) if f"({number})" in text)
    return (says("Relevant"), says("irrelevant"), status(400), says("Certainly!"))[number % 4]


async def answer(wire: Wire) -> None:
    await by_number(wire)(wire)


@pytest.fixture
async def judged(installing: Installing) -> AsyncIterator[Installation]:
    """Sources of which each fourth is relevant, irrelevant, in error, and not understood."""
    async with model_server(answer) as server:
        place = await installing(
            [JUDGE],
            [REPLAYS],
            llm={"base_url": server.base_url, "model": "m", "cache_path": None},
            models={"limits": {"default": {"requests_per_minute": 60_000, "tokens_per_minute": 10**8}}},
        )
        await place.feed([source(number) for number in range(COUNT)], SOURCES)
        await place.drain(JUDGE)
        yield place


def source(number: int) -> tuple[bytes, bytes]:
    event = instance(RelevanceRequested, input_of("judge_relevance", number))
    its = event.model_copy(update={"query": f"{event.query} [{number}]"})
    return f"request-{number}".encode(), its.to_json()


async def chosen(place: Installation, handler: Handler, until: Sequence[TopicRanges], **selection: object) -> list[int]:
    """The numbers of the records that a selection means."""
    means = await make_selector(place.settings, handler, ReplaySelection.model_validate(selection), until)
    records = await read(place, handler.consumes.name, await whole(place, handler.consumes.name))
    return sorted(int((record.key or b"").decode().rpartition("-")[2]) for record in records if means(record))


async def until_now(place: Installation, handler: Handler, **selection: object) -> Sequence[TopicRanges]:
    return await decision_ranges(place.settings, handler, ReplaySelection.model_validate(selection))


async def test_only_inputs_whose_last_decision_ended_so(judged: Installation) -> None:
    """Records of other producers have no id: their decisions name topic, partition and offset."""
    failed = {"outcomes": ["error", "timeout"]}
    until = await until_now(judged, JUDGE, **failed)
    assert await chosen(judged, JUDGE, until, **failed) == [number for number in range(COUNT) if number % 4 == 2]
    assert await chosen(judged, JUDGE, until, outcomes=["unparsed"]) == list(range(3, COUNT, 4))
    assert await chosen(judged, JUDGE, until, outcomes=["error", "relevant=true"]) == []
    assert await chosen(judged, JUDGE, until, outcomes=["relevant=true"]) == list(range(0, COUNT, 4))
    assert await chosen(judged, JUDGE, until, outcomes=["llm.outcome=ok"], judged_by="model") != []
    assert await chosen(judged, JUDGE, until, judged_by="offline") == []
    assert await chosen(judged, JUDGE, until, outcomes=["error"], keys=["request-2", "request-3"]) == [2]


async def test_stop_interrupts_the_reading_of_earlier_decisions(judged: Installation) -> None:
    """Hundreds of thousands of them take a while, so the run shows progress and can be stopped."""
    offline = judged.settings.model_copy(update={"llm": load_settings().llm})
    await planned(offline, "judge_relevance", selection=ReplaySelection(outcomes=("relevant",)))
    stop, watched = asyncio.Event(), Watched()

    def tell(progress: ReplayProgress) -> None:
        watched(progress)
        stop.set()

    plan = await carried_out(offline, stop=stop, report=tell)
    assert (plan.state, plan.detail) == (ReplayState.PAUSED, "stopped")
    assert len(watched.notes) == 1
    assert re.fullmatch(r"reads earlier decisions: 0 of \d+", watched.notes.pop())
    assert (await carried_out(offline)).state is ReplayState.FINISHED
    assert len(await judged.read(f"{JUDGED.name}.replay.again")) == COUNT // 4


def every_fourth_alive(crawled: CrawledPage, rules: Rules) -> Outcome:
    """Of four pages one meets a bug and one can't be read."""
    number = int(crawled.url.rpartition("-")[2])
    if number % 4 == 1:
        raise RuntimeError("a bug")
    return Dead(DeadReason.UNREADABLE_PAGE, "looks like nothing") if number % 4 == 3 else scored(crawled, rules)


def numbered(number: int, host: str = "site.example") -> tuple[bytes, bytes]:
    event = CrawledPage(url=f"https://{host}/page-{number}", html="<p>a page</p>")
    return event.url.encode(), event.to_json()


async def test_inputs_without_a_decision_and_dead_ones(installing: Installing) -> None:
    place = await installing()
    await place.feed([numbered(number) for number in range(40)])
    await place.drain(scorer(every_fourth_alive))
    await place.feed([numbered(number) for number in range(40, 44)])
    both = {"outcomes": ["none", "dead"]}
    until = await until_now(place, SCORER, **both)
    assert await chosen(place, SCORER, until, outcomes=["dead"]) == list(range(1, 40, 2))
    assert await chosen(place, SCORER, until, outcomes=["none"]) == list(range(40, 44))
    assert await chosen(place, SCORER, until, **both) == [*range(1, 40, 2), *range(40, 44)]
    assert await chosen(place, SCORER, until, outcomes=["C"]) == list(range(0, 40, 2))
    assert await chosen(place, SCORER, until, outcomes=["A", "none"]) == list(range(40, 44))
    # What was sent again and decided on is dead no longer, and is still the input that it was.
    await redrive(place.settings, Selection(reasons=("handler_bug",)), RedriveOptions("again"))
    await place.drain(scorer())
    until = await until_now(place, SCORER, **both)
    again = await chosen(place, SCORER, until, outcomes=["dead"])
    assert again == list(range(3, 40, 4))


LISTED = "https://health.gov.tw/"
"""The pages of this host are in tier B, by 40 points for their source alone; the others are in tier C."""
HTML = "<title>Page</title><p>Some text that is in every page.</p>"
PAGES = [CrawledPage(url=f"{host}{n}", html=HTML) for n in range(20) for host in (LISTED, "https://site.example/")]


@pytest.mark.usefixtures("children")
async def test_diff_counts_the_pages_that_a_threshold_moves(
    installing: Installing, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pages in two transactions, and one record that is no page."""
    place = await installing()
    records = [(page.url.encode(), page.to_json()) for page in PAGES]
    for some in (records[:15], records[15:]):
        await place.feed(some, transactional=True)
    await place.feed([(b"broken", b"{")])
    wishes = ReplayRequest(plan="diff", handler="score_page")
    plan = await resolved(place.settings, make_plan(wishes, place.settings, datetime.now(UTC)), (EARLIEST, LATEST))
    kafka = place.settings.kafka
    then = install(kafka.bootstrap_servers, kafka.topic_prefix, tiered_indexing={"tier_b": {"min_cts": 45}})
    assert await tell_diff(place.settings, then, plan, len(PAGES), as_json=True) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["pages"], told["moved_count"]) == (len(PAGES) + 1, 20)
    assert {move["url"] for move in told["moved"]} == {f"{LISTED}{n}" for n in range(20)}
    assert {(move["now"]["decision"], move["then"]["decision"]) for move in told["moved"]} == {("B", "C")}
    assert told["dead"] == {"now": {"undecodable": 1}, "then": {"undecodable": 1}}
    assert await place.read(SCORED) == [], "nothing is written"
