"""What a replay or a backfill will take: records, bytes, time, and for what is paid calls, tokens and money.

A plan goes in, or records that are not on Kafka yet; figures come out, each with what it rests on. Paid handlers are
rehearsed on every record, so that each question is the very one that the replay will ask and is looked up in the
journal; for what costs nothing but time, a sample of the records is enough.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Sequence
from contextlib import aclosing

from schemas.replays import OffsetRange, ReplayPlan, ReplaySelection, ReplayStage
from streams.clock import Clock, SystemClock
from streams.codec import OutputRecord, timestamp
from streams.llm.cache import SqliteStore, make_store
from streams.llm.store import AnswerStore
from streams.replay.figures import Estimate, figures
from streams.replay.plan import closure, handler_of, is_paid, is_root
from streams.replay.ranges import count
from streams.replay.rehearsal import Rehearsal
from streams.replay.selection import make_selector
from streams.replay.source import read_range
from streams.settings import Settings
from streams.topology import HANDLERS, Handler, Topic

SAMPLE_RECORDS = 1000
"""Records that are enough for what costs nothing but time."""
_WINDOWS = 8
"""Places of each partition that a sample is taken from."""

Advance = Callable[[int], None]


async def estimate(
    settings: Settings,
    plan: ReplayPlan,
    *,
    advance: Advance = lambda _: None,
    clock: Clock | None = None,
) -> Estimate:
    """What a replay will take.

    Args:
        settings: The configuration that the handlers decide under.
        plan: With the ranges, and the ends of earlier decisions, of the stages that read live topics.
        advance: Told of offsets that were passed, for a bar.
        clock: Time; the system's by default.

    Raises:
        ReplayError: The selection asks for what a handler does not have.
        StoreError: The journal can't be read.
        KafkaError: The cluster can't be read.
    """
    stages = [(stage, handler_of(stage)) for stage in plan.stages]
    handlers = [handler for _, handler in stages]
    roots = [(stage, handler) for stage, handler in stages if is_root(stage)]
    below = _by_topic(handler for stage, handler in stages if not is_root(stage))
    span = read = 0
    async with aclosing(_journal(settings)) as journal:
        rehearsal = Rehearsal(settings, handlers, below, journal, clock or SystemClock())
        await rehearsal.open()
        for stage, handler in roots:
            means = await make_selector(settings, handler, plan.selection, stage.decisions)
            span += count(stage.ranges)
            for window in _read_of(settings, plan, stage):
                read += count(window)
                async with aclosing(read_range(settings, stage.topic, window)) as records:
                    async for record in records:
                        advance(1)
                        if means(record):
                            its = record.key, record.value, record.headers, timestamp(record.timestamp)
                            await rehearsal.add(handler, *its)
    scale = span / read if read else 1.0
    rooted = [handler for _, handler in roots]
    return figures(settings, rehearsal.parts, rooted, replaying=True, scale=scale, rate=plan.rate)


def offsets_read(settings: Settings, plan: ReplayPlan) -> int:
    """How many offsets ``estimate`` passes, for a bar."""
    roots = [stage for stage in plan.stages if is_root(stage)]
    return sum(count(window) for stage in roots for window in _read_of(settings, plan, stage))


async def estimate_source(
    settings: Settings,
    topic: Topic,
    records: AsyncIterable[OutputRecord],
    *,
    rate: float | None = None,
    clock: Clock | None = None,
) -> Estimate:
    """What comes of records that are not on Kafka yet: in the handlers that read the topic, and in all below them.

    Models are asked within the limits of live traffic. What is fetched is not followed.

    Args:
        settings: The configuration that the handlers decide under.
        topic: What the records would be published to.
        records: All of them.
        rate: Records a second at most.
        clock: Time; the system's by default.

    Raises:
        StoreError: The journal can't be read.
    """
    roots = [handler for handler in HANDLERS if handler.consumes == topic]
    handlers = closure(roots)
    below = _by_topic(handler for handler in handlers if handler not in roots)
    taken = size = 0
    async with aclosing(_journal(settings)) as journal:
        rehearsal = Rehearsal(settings, handlers, below, journal, clock or SystemClock())
        await rehearsal.open()
        async for record in records:
            taken, size = taken + 1, size + len(record.key or b"") + len(record.value or b"")
            for handler in roots:
                await rehearsal.add(handler, record.key, record.value, record.headers, None)
    return figures(settings, rehearsal.parts, roots, replaying=False, rate=rate, taken=(taken, size))


def windows(ranges: Sequence[OffsetRange], most: int) -> list[tuple[OffsetRange, ...]]:
    """Parts of ranges that come to about ``most`` records, spread evenly; the ranges themselves where that is all.

    >>> windows([OffsetRange(partition=0, start=0, end=800)], 80)[1]
    (OffsetRange(partition=0, start=100, end=110),)
    """
    if count(tuple(ranges)) <= most:
        return [tuple(ranges)]
    part = most / count(tuple(ranges))

    def window(its: OffsetRange, number: int) -> OffsetRange:
        step = (its.end - its.start) / _WINDOWS
        start = its.start + round(number * step)
        return OffsetRange(partition=its.partition, start=start, end=min(its.end, start + max(1, round(step * part))))

    return [tuple(window(its, number) for its in ranges if its.end > its.start) for number in range(_WINDOWS)]


def _read_of(settings: Settings, plan: ReplayPlan, stage: ReplayStage) -> list[tuple[OffsetRange, ...]]:
    """What is read of a stage's ranges: everything where each record counts, else a sample."""
    handlers = [handler_of(other) for other in plan.stages]
    if plan.selection != ReplaySelection() or any(is_paid(handler, settings) for handler in handlers):
        return [tuple(stage.ranges)]
    return windows(stage.ranges, SAMPLE_RECORDS // sum(map(is_root, plan.stages)))


def _by_topic(handlers: Iterable[Handler]) -> dict[str, list[Handler]]:
    found: dict[str, list[Handler]] = {}
    for handler in handlers:
        found.setdefault(handler.consumes.name, []).append(handler)
    return found


def _journal(settings: Settings) -> AnswerStore:
    """The journal to be looked into; an empty one in memory where none has been made yet."""
    path, redis = settings.llm.cache_path, settings.llm.redis_url.get_secret_value()
    return make_store(path, redis) if redis or (path is not None and path.exists()) else SqliteStore(None)
