import random
from collections.abc import Callable
from typing import Any

from aiokafka import ConsumerRecord
from prometheus_client import CollectorRegistry

from schemas.dead import dead_letter_topic
from schemas.outcome import Dead, DeadReason, Drop, DropReason, Emit, Outcome, Retry, RetryReason
from streams.pipeline.breaker import Breaker
from streams.pipeline.handler_runner import HandlerRunner
from streams.pipeline.metrics import PipelineMetrics
from streams.pipeline.processor import Done, Pending, RecordProcessor
from streams.replay.pace import ReplayRate
from streams.replay.processor import ReplayProcessor, Route
from streams.settings.model import BreakerSettings, RetrySettings
from streams.telemetry.metrics import Metrics
from tests.samples import instance, scored
from tests.streams.doubles import NoRules, VirtualClock, handler_of, raw_record

RUN = "replay-again-1"
SHADOW = "pages.scored.v1.replay.again"
LETTERS = "pages.crawled.v1.assay.toy.replay.again.dlq"


def emit(page: Any, rules: Any) -> Outcome:
    return Emit((scored(page.url),))


class Bench:
    """A handler's processors, live and in a replay."""

    def __init__(
        self, fn: Callable[[Any, Any], Outcome] = emit, means: Callable[[ConsumerRecord], bool] = lambda _: True
    ) -> None:
        self.metrics = Metrics(CollectorRegistry())
        clock = VirtualClock()
        handler = handler_of(fn)
        observer = PipelineMetrics(self.metrics, "score_page", "replay")
        breaker = Breaker(BreakerSettings(), clock)
        runner = HandlerRunner(handler, NoRules(), RetrySettings(max_attempts=1), None, clock, random.random, breaker)  # type: ignore[arg-type] # no requests
        places = {"pages.scored.v1": SHADOW, dead_letter_topic(handler.consumes.name, handler.group): LETTERS}
        self.pace = ReplayRate(None, clock)
        self.live = RecordProcessor(runner, clock, observer)
        self.replay = ReplayProcessor(
            runner,
            clock,
            observer,
            run=RUN,
            selects=means,
            route=Route(places, LETTERS),
            pace=self.pace,
            metrics=self.metrics,
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
    assert now.pop("assay_run") == RUN
    assert now == was
    assert (context.replay.replayed, context.counted("replayed")) == (1, 1)


def test_the_run_of_an_earlier_backfill_gives_way_to_this_one() -> None:
    record = raw_record(headers=[("ce_id", b"one"), ("assay_run", b"earlier"), ("x", None)])
    [now] = headers(done(Bench().replay.begin(record)))
    assert (now["assay_run"], now["ce_causationid"]) == (RUN, "one")


def test_unselected_record_is_skipped_without_a_turn() -> None:
    context = Bench(means=lambda record: record.key == b"mine")
    assert context.replay.begin(raw_record(key=b"other")) == Done.of()
    assert (context.replay.replayed, context.replay.passed_over, context.counted("passed_over")) == (0, 1, 1)
    assert len(done(context.replay.begin(raw_record(key=b"mine"))).outputs) == 1


def test_dead_letters_go_to_the_plan_s_own_topic_and_are_counted() -> None:
    context = Bench()
    [letter] = done(context.replay.begin(raw_record(value=b"\xff"))).outputs
    assert (letter.topic, letter.value, context.replay.dead) == (LETTERS, b"\xff", 1)
    [refused] = context.replay.refuse(raw_record(), Dead(DeadReason.OUTPUT_TOO_LARGE, "so large")).outputs
    assert refused.topic == LETTERS
    dropping = Bench(lambda _page, _rules: Drop(DropReason.NOTHING_TO_DO))
    assert done(dropping.replay.begin(raw_record())) == Done.of()
    assert (dropping.replay.replayed, dropping.replay.dead) == (1, 0)


async def test_what_waits_for_the_world_ends_in_the_plan_s_topics_too() -> None:
    context = Bench(lambda _page, _rules: Retry(RetryReason.UNAVAILABLE, "down"))
    record = raw_record()
    pending = instance(Pending, context.replay.begin(record))
    [letter] = (await context.replay.complete(pending)).outputs
    assert letter.topic == LETTERS
    assert dict(letter.headers)["x-reason"] == b"retries_exhausted"
    assert dict(letter.headers)["x-run"] == RUN.encode()


def test_what_has_no_place_is_withheld() -> None:
    output = done(Bench().live.begin(raw_record())).outputs[0]
    assert Route({}, LETTERS).of(Done.of(output)) == Done.of()
