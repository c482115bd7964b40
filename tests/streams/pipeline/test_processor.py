import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from aiokafka import ConsumerRecord
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from schemas.event import Envelope, Event, OutputIds, Run
from schemas.needs import Ask, Need
from schemas.outcome import Dead, DeadReason, Drop, DropReason, Emit, Outcome, Retry, RetryReason
from schemas.pages import CrawledPage
from schemas.replies import PagesReply, Reply
from streams.pipeline.breaker import Breaker
from streams.pipeline.handler_runner import HandlerRunner
from streams.pipeline.metrics import PipelineMetrics
from streams.pipeline.processor import Done, Pending, RecordProcessor
from streams.settings.model import BreakerSettings, RetrySettings
from streams.telemetry.metrics import Metrics
from streams.topology import PAGES_CRAWLED, PAGES_SCORED, TOPIC_BYTES, Handler, RetryTopic
from streams.topology.codec import OutputRecord
from tests.samples import instance, scored
from tests.streams.doubles import PAGE, START, NoRules, VirtualClock, handler_of, raw_record

PATIENCE = RetrySettings(max_attempts=2, first_seconds=1.0, max_seconds=1.0)
DEAD_LETTERS = "pages.crawled.v1.assay.toy.dlq"
PLACE = "pages.crawled.v1/3/17"  # the identity of ``raw_record()``, which brings none of its own


class EmptyWorld:
    async def answer(self, need: Need, run: Run | None) -> Reply:  # noqa: ARG002
        await asyncio.sleep(0)
        return PagesReply(())


class Bench:
    """Work on one handler, with its clock and its metrics."""

    def __init__(self, handler: Handler | Callable[..., Outcome | Ask], tier: RetryTopic | None = None) -> None:
        self.clock = VirtualClock()
        self.registry = CollectorRegistry()
        self.observer = observer = PipelineMetrics(Metrics(self.registry), "toy")
        self.runner = HandlerRunner(
            handler if isinstance(handler, Handler) else handler_of(handler),
            NoRules(),
            PATIENCE,
            EmptyWorld(),
            self.clock,
            lambda: 1.0,
            Breaker(BreakerSettings(), self.clock),
            lambda again, replayed: observer.retried(again.reason, replayed),
        )
        self.work = RecordProcessor(self.runner, self.clock, observer, tier)

    def outputs(self, record: ConsumerRecord | None = None) -> Sequence[OutputRecord]:
        done = instance(Done, self.work.begin(record or raw_record()))
        return done.outputs

    def only(self, record: ConsumerRecord | None = None) -> OutputRecord:
        [output] = self.outputs(record)
        return output

    def count(self, name: str, **labels: str) -> float:
        self.observer.flush()
        return self.registry.get_sample_value(f"assay_{name}", {"handler": "toy", **labels}) or 0.0


def emits(*events: Event) -> Callable[..., Outcome]:
    return lambda *_: Emit(events)


def texts(record: OutputRecord) -> dict[str, str]:
    return {name: value.decode() for name, value in record.headers if value is not None}


# --- outputs ---------------------------------------------------------------------------------------------------------


def test_envelope_states_source_time_and_cause() -> None:
    headers = [("ce_id", b"input"), ("ce_correlationid", b"first"), ("traceparent", b"00-1"), ("assay_run", b"run-7")]
    output = Bench(emits(scored())).only(raw_record(headers=headers))
    own_id = OutputIds("toy", 1, NoRules().config_version).of("input", 0)
    envelope = Envelope(own_id, "assay/toy", START, "first", "input", "00-1", Run("run-7"))
    assert dict(output.headers) == dict(envelope.headers("pages.scored.v1", "https://a.example/1"))


def test_output_ids_repeat_for_the_same_record() -> None:
    bench = Bench(emits(scored("https://a.example/1"), scored("https://a.example/2")))
    once = [texts(output)["ce_id"] for output in bench.outputs()]
    bench.clock.seconds += 3600
    again = [texts(output)["ce_id"] for output in bench.outputs()]
    assert once == again
    assert len(set(once)) == 2
    other = [texts(output)["ce_id"] for output in bench.outputs(raw_record(offset=18))]
    assert not set(once) & set(other)


def test_a_page_without_a_fetch_time_has_that_of_its_record() -> None:
    seen: list[CrawledPage] = []

    def look(event: CrawledPage, rules: Any) -> Outcome:
        seen.append(event)
        return Drop(DropReason.NOTHING_TO_DO)

    Bench(look).outputs(raw_record(timestamp=int(START.timestamp() * 1000)))
    assert seen[0].fetched_at == START


# --- dead letters ----------------------------------------------------------------------------------------------------


def refused(bench: Bench, record: ConsumerRecord | None = None) -> tuple[str, str, str]:
    """The reason, stage and words of the one dead letter that a record causes."""
    record = record or raw_record()
    letter = bench.only(record)
    assert letter.topic == DEAD_LETTERS
    assert (letter.key, letter.value) == (record.key, record.value), "the original is kept"
    notes = texts(letter)
    assert notes["x-root-id"] == PLACE
    return notes["x-reason"], notes["x-stage"], notes["x-error-message"]


GOOD = scored()
UNWRITABLE = [GOOD.model_copy(update=half) for half in ({"title": "\ud800"}, {"url": "https://a.example/\ud800"})]


@pytest.mark.parametrize(
    ("fn", "record", "expected"),
    [
        (emits(GOOD), raw_record(b"\xff{"), ("undecodable", "decode", "")),
        (emits(GOOD), raw_record(b"{}"), ("invalid", "decode", "")),
        (emits(GOOD), raw_record(None, key=b""), ("undecodable", "decode", "")),
        (emits(GOOD), raw_record(b"x" * (TOPIC_BYTES + 1)), ("too_large", "decode", "")),
        (lambda *_: Dead(DeadReason.UNREADABLE_PAGE, "deep"), raw_record(), ("unreadable_page", "handle", "deep")),
        (lambda *_: 1 / 0, raw_record(), ("handler_bug", "handle", "")),
        (lambda *_: None, raw_record(), ("handler_bug", "handle", "")),
        (emits(GOOD, PAGE), raw_record(), ("output_invalid", "encode", "toy does not emit CrawledPage")),
        (
            emits(GOOD, scored(content="字" * (TOPIC_BYTES // 3))),
            raw_record(),
            ("output_too_large", "encode", "pages.scored.v1: "),
        ),
        *((emits(event), raw_record(), ("output_invalid", "encode", "")) for event in UNWRITABLE),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_what_dies_says_where_and_why(fn: Any, record: ConsumerRecord, expected: tuple[str, str, str]) -> None:
    bench = Bench(fn)
    reason, stage, words = refused(bench, record)
    assert (reason, stage, words.startswith(expected[2])) == (*expected[:2], True)
    assert bench.count("dead_events_total", reason=reason, stage=stage, lane="live") == 1


def test_what_the_broker_refuses_later_dies_at_encoding() -> None:
    bench = Bench(emits(scored()))
    done = bench.work.refuse(raw_record(), Dead(DeadReason.OUTPUT_TOO_LARGE, "the broker says so"))
    assert texts(done.outputs[0])["x-stage"] == "encode"
    assert done.size == done.outputs[0].size > 0


# --- work that waits -------------------------------------------------------------------------------------------------


async def complete(bench: Bench, record: ConsumerRecord | None = None) -> OutputRecord:
    record = record or raw_record()
    pending = instance(Pending, bench.work.begin(record))
    [output] = (await bench.work.complete(pending)).outputs
    return output


async def test_a_fault_while_completing_is_a_dead_letter_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any) -> Any:
        raise LookupError("ours")

    bench = Bench(lambda *_: Retry(RetryReason.UNAVAILABLE))
    monkeypatch.setattr(bench.runner, "finish", broken)
    assert texts(await complete(bench))["x-error-message"] == "LookupError: ours"


# --- retry topics ----------------------------------------------------------------------------------------------------


def patient(*delays: int) -> Handler:
    retry = Retry(RetryReason.UNAVAILABLE, "no answer")
    return replace(handler_of(lambda *_: retry), ordered_by_key=False, retry_later=delays)


async def from_tier(number: int, handler: Handler, before: OutputRecord) -> tuple[Bench, OutputRecord]:
    """What becomes of a retried record in a retry topic."""
    bench = Bench(handler, handler.retry_topics[number])
    record = raw_record(before.value, before.headers, before.key, offset=4)
    return bench, await complete(bench, replace(record, topic=before.topic, partition=0, timestamp=1))


async def test_each_retry_topic_tries_once_before_the_dead_letter() -> None:
    handler = patient(10, 60)
    first = await complete(Bench(handler))
    bench, second = await from_tier(0, handler, first)
    assert second.topic == "pages.crawled.v1.assay.toy.retry.1m"
    assert bench.clock.pauses == [], "one try, and no pause"
    bench, letter = await from_tier(1, handler, second)
    notes = texts(letter)
    assert letter.topic == DEAD_LETTERS
    assert notes["x-error-message"] == "unavailable after 4 tries: no answer"
    assert [notes[f"x-orig-{name}"] for name in ("topic", "partition", "offset", "ts")] == [
        "pages.crawled.v1",
        "3",
        "17",
        "1700000000000",
    ]
    assert (notes["x-root-id"], "x-not-before" in notes) == (PLACE, False)


async def test_notes_on_a_record_from_elsewhere_are_not_believed() -> None:
    forged = [("x-orig-topic", b"other"), ("x-orig-partition", b"9"), ("x-orig-offset", b"9"), ("x-attempt", b"99")]
    notes = texts(await complete(Bench(patient(10)), raw_record(headers=forged)))
    assert (notes["x-orig-topic"], notes["x-attempt"]) == ("pages.crawled.v1", "2")


# --- what is counted -------------------------------------------------------------------------------------------------


def test_every_outcome_is_counted_once_by_reason_and_lane() -> None:
    bench, dead = Bench(emits(scored())), list[bool]()
    bench.work.on_done = dead.append
    bench.outputs()
    bench.outputs(raw_record(headers=[("assay_run", b"backfill")]))
    bench.outputs(raw_record(b"{"))
    assert dead == [False, False, True]
    assert bench.count("handler_events_total", outcome="emit", reason="", lane="live") == 1
    assert bench.count("handler_events_total", outcome="emit", reason="", lane="replay") == 1
    assert bench.count("handler_events_total", outcome="dead", reason="undecodable", lane="live") == 1
    assert bench.count("handler_duration_seconds_count", lane="live") == 2
    assert bench.count("handler_duration_seconds_count", lane="replay") == 1
    for lane in ("live", "replay"):
        labels = {"tier": "C", "trust_label": "LOW", "lane": lane}
        assert bench.registry.get_sample_value("assay_pages_scored_total", labels) == 1
    assert bench.count("event_age_seconds_count") == 2, "a backfill is late for nobody"


def test_record_age_counts_from_its_timestamp_down_to_zero() -> None:
    bench = Bench(emits(scored()))
    now = int(START.timestamp() * 1000)
    bench.outputs(raw_record(timestamp=now - 2000))
    bench.outputs(raw_record(timestamp=now + 60_000))
    assert bench.count("event_age_seconds_sum") == 2.0


# --- anything --------------------------------------------------------------------------------------------------------


@given(
    st.none() | st.binary(max_size=200),
    st.none() | st.binary(max_size=20),
    st.lists(st.tuples(st.text(max_size=10), st.none() | st.binary(max_size=30)), max_size=5),
    st.integers(-(2**63), 2**63 - 1),
)
def test_any_record_has_an_output_or_a_dead_letter(
    value: bytes | None, key: bytes | None, headers: list[tuple[str, bytes | None]], timestamp: int
) -> None:
    bench = Bench(handler_of(emits(scored()), consumes=PAGES_CRAWLED))
    output = bench.only(raw_record(value, headers, key, timestamp=timestamp))
    assert output.topic in (PAGES_SCORED.name, DEAD_LETTERS)
