"""Estimates over records that are not on Kafka: records, kept answers, costs, and the bottleneck."""

from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import pytest

from schemas.event import Event
from schemas.llm import CallOutcome
from schemas.needs import Ask, AskModel, Message
from schemas.pages import CrawledPage
from schemas.replays import OffsetRange
from streams.llm.journal import DayCalls, StoredAnswer, answer_key
from streams.llm.sqlite_journal import SqliteJournal
from streams.replay.dry_run import Forecast
from streams.replay.estimate import Estimate, HandlerEstimate, PaidEstimate, estimate_source, windows
from streams.settings.model import Settings, load_settings
from streams.topology import CLAIMS_EXTRACTED, PAGES_CRAWLED, RELEVANCE_REQUESTED, RETRIEVAL_BATCHES, Topic
from streams.topology.codec import OutputRecord
from tests.samples import instance
from tests.streams.llm.judges import input_of, judge_of, rules_of
from tests.streams.llm.questions import FREE, question

TASK, MODEL = "judge_relevance", "judge"


def priced(folder: Path, **limits: Any) -> Settings:
    llm = {"base_url": "http://127.0.0.1:9/v1", "model": MODEL, "cache_path": str(folder / "llm.sqlite")}
    default = {"requests_per_minute": 6000, "tokens_per_minute": 10**9, "price_in": 1.0, "price_out": 2.0, **limits}
    return load_settings(llm=llm, models={"limits": {"default": default}})


async def records(topic: Topic, events: Iterable[Event]) -> AsyncIterator[OutputRecord]:
    for event in events:
        yield OutputRecord(topic.name, topic.key(event).encode(), event.to_json(), ())


async def foreseen(settings: Settings, topic: Topic, *events: Event, rate: float | None = None) -> Estimate:
    return await estimate_source(settings, topic, records(topic, events), rate=rate)


def of(found: Estimate, handler: str) -> HandlerEstimate:
    [its] = [its for its in found.handlers if its.handler == handler]
    return its


def paid(found: Estimate, handler: str) -> PaidEstimate:
    asked = of(found, handler).paid
    assert asked is not None
    return asked


def asked_about(number: int) -> AskModel:
    handler = judge_of(TASK)
    return instance(AskModel, instance(Ask, handler.fn(input_of(TASK, number), rules_of(handler.rules))).need)


async def keep(settings: Settings, need: AskModel, text: str, *calls: DayCalls) -> None:
    assert settings.llm.cache_path is not None
    store = SqliteJournal(settings.llm.cache_path)
    key = answer_key(need, MODEL, settings.llm.base_url)
    kept = StoredAnswer(text=text, outcome=CallOutcome.OK, prompt_tokens=100, completion_tokens=5)
    await store.keep(key, kept.model_dump_json(), 0.0, 10**11, ["2025-01-02"], 0.0)
    await store.count(calls)
    await store.aclose()


def used(answered: int, estimated: int, prompt: int, completion: int, milliseconds: int) -> DayCalls:
    amounts = (answered, estimated, prompt, completion, milliseconds)
    return DayCalls("2025-01-02", MODEL, 0, 0, 0, 0.0, TASK, True, *amounts)


async def test_handlers_and_what_hangs_below_them(tmp_path: Path) -> None:
    """Pages are scored and indexed without writes and requests."""
    pages = [
        CrawledPage(
            url=f"https://a.example/{n}", html="<title>T</title><p>Rain falls on the old harbour and the mill.</p>"
        )
        for n in range(5)
    ]
    found = await foreseen(priced(tmp_path), PAGES_CRAWLED, *pages)
    assert [its.handler for its in found.handlers] == ["score_page", "index_page"]
    assert found.records == of(found, "score_page").records == of(found, "index_page").records == 5
    assert found.bytes == of(found, "score_page").bytes < of(found, "index_page").bytes
    assert of(found, "index_page").points >= 5
    assert (found.usd, found.sampled) == (0, None)
    assert found.to_wire()["handlers"][0]["paid"] is None
    assert not (tmp_path / "llm.sqlite").exists(), "an estimate makes no journal"


async def test_a_record_that_several_handlers_read_is_counted_once(tmp_path: Path) -> None:
    found = await foreseen(priced(tmp_path), RETRIEVAL_BATCHES, input_of("evaluate_search"))
    assert found.records == 1
    names = ["classify_results", "evaluate_search", "evaluate_retrieval"]
    assert sorted(its.handler for its in found.handlers if its.records) == sorted(names)
    assert paid(found, "evaluate_search").calls == paid(found, "evaluate_retrieval").calls == 1


async def test_estimate_without_earlier_calls_uses_the_bounds(tmp_path: Path) -> None:
    found = await foreseen(priced(tmp_path), RELEVANCE_REQUESTED, *(input_of(TASK, n) for n in range(3)))
    asked = paid(found, TASK)
    assert (asked.calls, asked.kept, asked.completion_tokens) == (3, 0, 3 * asked_about(0).max_tokens)
    assert asked.because == "prompts as estimated and the longest replies, one call each"
    assert of(found, TASK).open == 3
    assert found.usd == asked.usd == pytest.approx((asked.prompt_tokens + 2 * asked.completion_tokens) / 1e6, rel=0.01)


async def test_estimate_uses_earlier_calls_and_kept_answers_are_free(tmp_path: Path) -> None:
    settings = priced(tmp_path)
    first = asked_about(0)
    await keep(settings, first, "Relevant", used(10, 1000, 1500, 30, 20_000))
    events = [input_of(TASK, number) for number in (0, 1, 2, 2)]
    found = await foreseen(settings, RELEVANCE_REQUESTED, *events)
    asked = paid(found, TASK)
    assert (asked.calls, asked.kept) == (2, 2), "the same question twice is paid once"
    plain = paid(await foreseen(priced(tmp_path / "none"), RELEVANCE_REQUESTED, *events[1:]), TASK)
    assert asked.prompt_tokens == pytest.approx(1.5 * plain.prompt_tokens, abs=1)
    assert asked.completion_tokens == 2 * 3
    assert asked.because == "10 earlier calls"
    assert found.saved_usd == pytest.approx(110e-6)
    assert of(found, TASK).open == 3


async def test_offline_judge_is_free_and_an_unpriced_model_unknown(tmp_path: Path) -> None:
    offline = load_settings(llm={"base_url": "", "api_key": ""})
    found = await foreseen(offline, RELEVANCE_REQUESTED, *(input_of(TASK, n) for n in range(3)))
    its = of(found, TASK)
    assert (its.offline, its.open, its.paid, found.usd) == (3, 0, None, 0)
    found = await foreseen(priced(tmp_path, price_in=None), RELEVANCE_REQUESTED, input_of(TASK))
    assert (found.usd, paid(found, TASK).usd, paid(found, TASK).calls) == (None, None, 1)


async def test_what_holds_it_up_most_is_what_its_time_is(tmp_path: Path) -> None:
    events = [input_of(TASK, number) for number in range(4)]
    few = await foreseen(priced(tmp_path, requests_per_minute=1), RELEVANCE_REQUESTED, *events)
    assert "requests a minute of judge for live traffic" in of(few, TASK).because
    assert few.seconds > 240
    narrow = await foreseen(priced(tmp_path, tokens_per_minute=10), RELEVANCE_REQUESTED, *events)
    assert "tokens a minute" in of(narrow, TASK).because
    slow = await foreseen(priced(tmp_path), RELEVANCE_REQUESTED, *events, rate=0.01)
    assert (of(slow, TASK).seconds, of(slow, TASK).because) == (400, "the rate of 0.01 records/s")
    settings = priced(tmp_path, requests_per_minute=10**6)
    await keep(settings, question(), "x", used(1, 100, 100, 5, 10**6))
    calls = await foreseen(settings, RELEVANCE_REQUESTED, *events)
    assert "calls at once of 1e+03 s each, as before" in of(calls, TASK).because


async def test_records_that_can_t_be_read_are_counted(tmp_path: Path) -> None:
    async def broken() -> AsyncIterator[OutputRecord]:
        yield OutputRecord(CLAIMS_EXTRACTED.name, None, b"{", ())
        yield OutputRecord(CLAIMS_EXTRACTED.name, b"k", None, ())

    found = await estimate_source(priced(tmp_path), CLAIMS_EXTRACTED, broken())
    assert (found.records, found.bytes, paid(found, "decontextualize_claim").calls) == (2, 2, 0)


def forecast(openings: DayCalls, followups: DayCalls) -> Forecast:
    return Forecast(MODEL, "", FREE, SqliteJournal(None), (openings, followups), 0.0)


async def test_conversations_are_as_long_as_those_before_them() -> None:
    """Of ten, five went on once; a question that goes on with one has used a part of that."""
    its = forecast(used(10, 1000, 1000, 100, 0), used(5, 1000, 1000, 200, 0))
    await its.ask(question("one"), 0)
    assert its.calls == pytest.approx(1.5)
    later = question("two", messages=(Message("user", "two"), Message("assistant", "?"), Message("user", "!")))
    await its.ask(later, 0)
    assert (its.openings.count, its.followups.count) == (1, 1)
    assert its.calls == pytest.approx(2.5)
    prompt, completion = its.tokens()
    assert completion == pytest.approx(10 + 40 + 0.5 * 40)
    assert prompt == pytest.approx(its.openings.estimated + its.followups.estimated + 0.5 * 200)
    await its.journal.aclose()


@pytest.mark.parametrize("most", [1, 10, 100, 1000, 5000])
def test_a_sample_is_spread_over_every_partition(most: int) -> None:
    ranges = [OffsetRange(partition=number, start=100 * number, end=100 * number + 1000) for number in range(3)]
    found = windows(ranges, most)
    taken = sum(its.end - its.start for window in found for its in window)
    assert taken == 3000 if most >= 3000 else 0.9 * most <= taken <= max(1.3 * most, 24)
    for window in found:
        assert {its.partition for its in window} == {0, 1, 2}
        assert all(100 * its.partition <= its.start < its.end <= 100 * its.partition + 1000 for its in window)


def test_ranges_of_nothing_have_no_sample() -> None:
    assert windows([OffsetRange(partition=0, start=5, end=5)], 10) == [(OffsetRange(partition=0, start=5, end=5),)]
