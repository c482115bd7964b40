"""Records of a replay differ from live ones in topic and run; its rate; requests beyond the cost limit wait."""

import asyncio
import random
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from aiokafka import ConsumerRecord
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from schemas.dead import dead_letter_topic
from schemas.event import Run
from schemas.needs import Need
from schemas.outcome import Dead, DeadReason, Drop, DropReason, Emit, Outcome, Retry, RetryReason
from schemas.replies import ModelUnavailable, Reply
from streams.kafka.groups import GroupLag
from streams.llm.accounting import CostAccount
from streams.pipeline.breaker import Breaker
from streams.pipeline.handler_runner import HandlerRunner
from streams.pipeline.metrics import PipelineMetrics
from streams.pipeline.processor import Done, Pending, RecordProcessor
from streams.replay.processor import CostLimitedServices, ReplayPace, ReplayProcessor, ReplayProgress, is_late
from streams.settings.model import BreakerSettings, RetrySettings
from streams.telemetry.metrics import Metrics
from tests.samples import instance, scored
from tests.streams.doubles import NoRules, VirtualClock, handler_of, raw_record
from tests.streams.llm.questions import question

RUN = Run("replay-again-1", datetime(2026, 11, 29, tzinfo=UTC))
SHADOW = "pages.scored.v1.replay.again"
LETTERS = "pages.crawled.v1.assay.toy.replay.again.dlq"


def emit(page: Any, rules: Any) -> Outcome:
    return Emit((scored(page.url),))


class Bench:
    """A handler's processors, live and in a replay."""

    def __init__(
        self,
        fn: Callable[[Any, Any], Outcome] = emit,
        means: Callable[[ConsumerRecord], bool] = lambda _: True,
        places: Mapping[str, str] = {"pages.scored.v1": SHADOW},
    ) -> None:
        self.metrics = Metrics(CollectorRegistry())
        clock = VirtualClock()
        handler = handler_of(fn)
        observer = PipelineMetrics(self.metrics, "score_page", "replay")
        breaker = Breaker(BreakerSettings(), clock)
        runner = HandlerRunner(handler, NoRules(), RetrySettings(max_attempts=1), None, clock, random.random, breaker)  # type: ignore[arg-type] # no requests
        self.pace = ReplayPace(None, clock)
        self.live = RecordProcessor(runner, clock, observer)
        self.replay = ReplayProcessor(
            runner,
            clock,
            observer,
            run=RUN,
            selects=means,
            routes={**places, dead_letter_topic(handler.consumes.name, handler.group): LETTERS},
            pace=self.pace,
            metrics=self.metrics,
            progress=ReplayProgress(),
        )

    def counted(self, outcome: str) -> float:
        value = self.metrics.registry.get_sample_value(
            "assay_replay_records_total", {"handler": "toy", "outcome": outcome}
        )
        return value or 0.0


def done(begun: Done | Pending) -> Done:
    assert isinstance(begun, Done)
    return begun


def headers(result: Done) -> list[dict[str, str]]:
    return [{name: (value or b"").decode() for name, value in output.headers} for output in result.outputs]


def test_replayed_results_differ_only_in_topic_and_run() -> None:
    context = Bench()
    record = raw_record()
    [live], [again] = done(context.live.begin(record)).outputs, done(context.replay.begin(record)).outputs
    assert (again.topic, again.key, again.value) == (SHADOW, live.key, live.value)
    [was], [now] = headers(Done.of(live)), headers(Done.of(again))
    assert (now.pop("assay_run"), now.pop("assay_run_began")) == (RUN.name, "2026-11-29T00:00:00+00:00")
    assert now == was
    assert (context.replay.progress.replayed, context.counted("replayed")) == (1, 1)


def test_the_run_of_an_earlier_backfill_gives_way_to_this_one() -> None:
    record = raw_record(headers=[("ce_id", b"one"), ("assay_run", b"earlier"), ("x", None)])
    [now] = headers(done(Bench().replay.begin(record)))
    assert (now["assay_run"], now["ce_causationid"]) == (RUN.name, "one")


def test_unselected_record_is_skipped_without_a_turn() -> None:
    context = Bench(means=lambda record: record.key == b"mine")
    assert context.replay.begin(raw_record(key=b"other")) == Done.of()
    assert (context.replay.progress.replayed, context.replay.progress.passed_over, context.counted("passed_over")) == (
        0,
        1,
        1,
    )
    assert len(done(context.replay.begin(raw_record(key=b"mine"))).outputs) == 1


def test_dead_letters_go_to_the_plan_s_own_topic_and_are_counted() -> None:
    context = Bench()
    [letter] = done(context.replay.begin(raw_record(value=b"\xff"))).outputs
    assert (letter.topic, letter.value, context.replay.progress.dead) == (LETTERS, b"\xff", 1)
    [refused] = context.replay.refuse(raw_record(), Dead(DeadReason.OUTPUT_TOO_LARGE, "so large")).outputs
    assert refused.topic == LETTERS
    dropping = Bench(lambda _page, _rules: Drop(DropReason.NOTHING_TO_DO))
    assert done(dropping.replay.begin(raw_record())) == Done.of()
    assert (dropping.replay.progress.replayed, dropping.replay.progress.dead) == (1, 0)


async def test_what_waits_for_the_world_ends_in_the_plan_s_topics_too() -> None:
    context = Bench(lambda _page, _rules: Retry(RetryReason.UNAVAILABLE, "down"))
    record = raw_record()
    pending = instance(Pending, context.replay.begin(record))
    [letter] = (await context.replay.complete(pending)).outputs
    assert letter.topic == LETTERS
    assert dict(letter.headers)["x-reason"] == b"retries_exhausted"
    assert dict(letter.headers)["x-run"] == RUN.name.encode()


def test_what_has_no_place_is_withheld() -> None:
    assert done(Bench(places={}).replay.begin(raw_record())) == Done.of()


DOWN = ModelUnavailable("no answer")


class Down:
    """Services that are down: they answer after a while."""

    def __init__(self) -> None:
        self.answers = asyncio.Event()

    async def answer(self, need: Need, run: Run | None) -> Reply:  # noqa: ARG002
        await self.answers.wait()
        return DOWN


async def test_a_request_beyond_the_cost_limit_is_not_answered() -> None:
    down, account = Down(), CostAccount("spring", 1.0)
    services = CostLimitedServices(down, account)
    asked = asyncio.create_task(services.answer(question(), None))
    await asyncio.sleep(0)
    assert (services.asking, services.is_spent) == (1, False)
    account.reached.set()
    assert (services.asking, services.is_spent) == (1, True), "the request is still in flight"
    down.answers.set()
    done, held = await asyncio.wait({asked}, timeout=0.05)
    assert (done, services.asking) == (set(), 0)
    [it] = held
    it.cancel()
    with pytest.raises(asyncio.CancelledError):
        await it


async def test_below_the_limit_the_reply_is_passed_on() -> None:
    for its in (CostAccount("spring", 1.0), None):
        down = Down()
        down.answers.set()
        services = CostLimitedServices(down, its)
        assert await services.answer(question(), None) == DOWN
        assert (services.asking, services.is_spent) == (0, False)


def started(pace: ReplayPace, clock: VirtualClock, seconds: float, step: float = 0.01) -> int:
    """How many records start within a time, with a look at every step."""
    count = 0
    for _ in range(round(seconds / step)):
        while count < 100_000 and pace.seconds() == 0:
            pace.took()
            count += 1
        clock.seconds += step
    return count


def lag(seconds: float, members: int = 1, delay: int = 0) -> GroupLag:
    return GroupLag("toy", "toys.v1", "assay.toy", True, 5, seconds, None, members, delay_seconds=delay)


@given(st.floats(1, 500), st.integers(1, 6))
def test_process_rate_is_its_share_of_the_partitions(rate: float, held: int) -> None:
    clock = VirtualClock()
    pace = ReplayPace(rate, clock)
    pace.assigned(held, 6)
    share = rate * held / 6
    assert started(pace, clock, 20) == pytest.approx(20 * share, abs=2 + 0.2 * share)


def test_rate_after_a_pause_has_no_burst() -> None:
    clock = VirtualClock()
    pace = ReplayPace(100, clock)
    pace.assigned(6, 6)
    assert started(pace, clock, 1) == pytest.approx(100, abs=12)
    pace.waiting = True
    assert started(pace, clock, 30) == 0
    pace.waiting = False
    assert started(pace, clock, 1) == pytest.approx(100, abs=12)


def test_pace_that_is_shut_or_has_no_partitions_starts_nothing() -> None:
    clock = VirtualClock()
    assert started(ReplayPace(100, clock), clock, 2) == 0
    pace = ReplayPace(None, clock)
    assert pace.seconds() == 0, "without a rate nothing waits"
    pace.shut = True
    for waiting in (True, False):
        pace.waiting = waiting
        assert started(pace, clock, 1) == 0


def test_replay_yields_to_live_lag_of_half_the_objective() -> None:
    assert is_late(lag(31), slo_seconds=60)
    assert not is_late(lag(29), slo_seconds=60)
    assert not is_late(lag(500, members=0), slo_seconds=60), "the group has no consumer"
    assert not is_late(lag(500, delay=600), slo_seconds=60), "those wait on purpose"
