"""Estimates a replay or a backfill: records, bytes, time, and for paid handlers calls, tokens and money.

Paid handlers run dry on every record, so each question is the one that the replay will ask. For free handlers a sample
of the records is enough. A handler's time is that of its slowest part: its own work, a limit of its model, or a rate.
Each figure states its source.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from typing import Any

from schemas.replays import OffsetRange, ReplayPlan, ReplaySelection, ReplayStage
from streams.clock import Clock, SystemClock
from streams.codec import OutputRecord, timestamp
from streams.kafka.log_reader import read_log
from streams.llm.journal import AnswerJournal
from streams.llm.limits import Shares
from streams.llm.sqlite_journal import SqliteJournal, make_journal
from streams.replay.dry_run import DryRun, HandlerDryRun
from streams.replay.plan import closure, handler_of, is_paid, is_root
from streams.replay.ranges import count
from streams.replay.selection import make_selector
from streams.settings import Settings
from streams.topology import HANDLERS, Handler, Topic

AROUND_SECONDS = 0.0004
"""What the pipeline does for a record around its handler: reading, writing, its part of a transaction. A process that
works on 770 pages a second does 590 of them through the pipeline."""


@dataclass(frozen=True, slots=True)
class PaidEstimate:
    """What one handler asks a model.

    Attributes:
        model: Whom it asks.
        calls: Calls to be paid.
        kept: Answers that the journal has already; they cost nothing.
        prompt_tokens: Of the calls to be paid.
        completion_tokens: Of their replies.
        usd: What they cost; None where the model has no price.
        saved_usd: What the kept answers would cost if they were asked for again.
        because: What the tokens rest on.
    """

    model: str
    calls: float
    kept: int
    prompt_tokens: float
    completion_tokens: float
    usd: float | None
    saved_usd: float | None
    because: str


@dataclass(frozen=True, slots=True)
class HandlerEstimate:
    """What one handler will do.

    Attributes:
        handler: Its name.
        records: That it reads.
        bytes: Of their keys and values.
        seconds: That one process takes.
        because: What the time rests on.
        open: Records of which it is not known what comes of them, before somebody has answered; what handlers below it
            will read of that is not counted.
        pages: Pages that it fetches at first; what they lead to is not counted.
        points: Points that it writes into the index.
        offline: Questions that the offline judge answers, for nothing.
        paid: What it asks a model; None where it asks none.
    """

    handler: str
    records: int
    bytes: int
    seconds: float
    because: str
    open: int
    pages: int
    points: int
    offline: int
    paid: PaidEstimate | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a replay or a backfill will take.

    Attributes:
        records: That are taken from outside.
        bytes: Of their keys and values.
        seconds: Of all handlers, one after another in one process.
        usd: What models cost; None where one has no price.
        saved_usd: What answers cost that are kept already.
        sampled: Records that were read for it; None where that is all of them.
        handlers: In the order of the work.
    """

    records: int
    bytes: int
    seconds: float
    usd: float | None
    saved_usd: float | None
    sampled: int | None
    handlers: tuple[HandlerEstimate, ...]

    def to_wire(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)


def figures(
    settings: Settings,
    parts: Mapping[str, HandlerDryRun],
    roots: Sequence[Handler],
    *,
    replaying: bool,
    scale: float = 1.0,
    rate: float | None = None,
    taken: tuple[int, int] | None = None,
) -> Estimate:
    """What a dry_run comes to.

    Args:
        settings: With the models' limits and prices.
        parts: What was counted, by handler.
        roots: Those that read records from outside.
        replaying: Whether models are asked within the limits of replays instead of those of live traffic.
        scale: What to multiply counts by; 1 where everything was read.
        rate: Records a second at most.
        taken: Records and bytes from outside, where several handlers read the same ones.
    """
    shares = _shares(settings, replaying)
    whose = "replays" if replaying else "live traffic"
    handlers = tuple(_handler(part, scale, rate, shares.of(part.handler.name), whose) for part in parts.values())
    names = {handler.name for handler in roots}
    rooted = [its for its in handlers if its.handler in names]
    paid = [its.paid for its in handlers if its.paid is not None]
    records, size = taken or (sum(its.records for its in rooted), sum(its.bytes for its in rooted))
    return Estimate(
        records=records,
        bytes=size,
        seconds=round(sum(its.seconds for its in handlers), 3),
        usd=_sum([its.usd for its in paid]),
        saved_usd=_sum([its.saved_usd for its in paid]),
        sampled=sum(parts[name].records for name in names) if scale != 1.0 else None,
        handlers=handlers,
    )


def _handler(part: HandlerDryRun, scale: float, rate: float | None, share: float, whose: str) -> HandlerEstimate:
    records = round(part.records * scale)
    seconds, because = max(_bounds(part, scale, share, whose))
    if rate is not None and records / rate > seconds:
        seconds, because = records / rate, f"the rate of {rate:g} records/s"
    return HandlerEstimate(
        handler=part.handler.name,
        records=records,
        bytes=round(part.size * scale),
        seconds=round(seconds, 3),
        because=because,
        open=round(part.outcomes["open"] * scale) if part.forecast is not None else 0,
        pages=round(part.pages * scale),
        points=round(part.points * scale),
        offline=round(part.offline * scale),
        paid=_paid(part, scale),
    )


def _bounds(part: HandlerDryRun, scale: float, share: float, whose: str) -> list[tuple[float, str]]:
    """Seconds that one process takes by each thing that may hold it up, and what that is."""
    work = scale * (part.busy + part.records * AROUND_SECONDS)
    bounds = [(work, f"the work on {part.records:,} records, measured now")]
    if (forecast := part.forecast) is None or not (calls := scale * forecast.calls):
        return bounds
    limits = forecast.limits
    for amount, most, what in (
        (calls, limits.requests_per_minute, "requests"),
        (scale * sum(forecast.tokens()), limits.tokens_per_minute, "tokens"),
    ):
        if (minute := most * share) > 0:
            bounds.append((60 * amount / minute, f"{minute:,.0f} {what} a minute of {forecast.model} for {whose}"))
    if (each := forecast.call_seconds()) is not None:
        at_once = max(1, min(int(limits.in_flight * share), part.handler.concurrency))
        bounds.append((calls * each / at_once, f"{at_once} calls at once of {each:.2g} s each, as before"))
    return bounds


def _paid(part: HandlerDryRun, scale: float) -> PaidEstimate | None:
    if (forecast := part.forecast) is None:
        return None
    calls = sum(its.calls for its in forecast.experience)
    prompt, completion = forecast.tokens()
    usd, saved = forecast.usd(), forecast.saved_usd()
    return PaidEstimate(
        model=forecast.model,
        calls=round(forecast.calls * scale, 1),
        kept=round(forecast.kept * scale),
        prompt_tokens=round(prompt * scale),
        completion_tokens=round(completion * scale),
        usd=None if usd is None else usd * scale,
        saved_usd=None if saved is None else saved * scale,
        because=_basis(calls),
    )


def _basis(calls: int) -> str:
    if not calls:
        return "prompts as estimated and the longest replies, one call each"
    return f"{calls:,} earlier call{'' if calls == 1 else 's'}"


def _shares(settings: Settings, replaying: bool) -> Shares:
    models = {name: settings.model_of(name) for name in settings.model_tasks}
    part = settings.models.replay_share if replaying else 1.0 - settings.models.replay_share
    return Shares(models, {name: settings.models.task(name).weight for name in models}, part)


def _sum(amounts: Sequence[float | None]) -> float | None:
    """The sum; None where one of them is not known."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else None


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
        JournalError: The journal can't be read.
        KafkaError: The cluster can't be read.
    """
    stages = [(stage, handler_of(stage)) for stage in plan.stages]
    handlers = [handler for _, handler in stages]
    roots = [(stage, handler) for stage, handler in stages if is_root(stage)]
    below = _by_topic(handler for stage, handler in stages if not is_root(stage))
    span = read = 0
    async with aclosing(_journal(settings)) as journal:
        dry_run = DryRun(settings, handlers, below, journal, clock or SystemClock())
        await dry_run.open()
        for stage, handler in roots:
            means = await make_selector(settings, handler, plan.selection, stage.decisions)
            span += count(stage.ranges)
            for window in _read_of(settings, plan, stage):
                read += count(window)
                async with aclosing(read_log(settings.kafka, stage.topic, window)) as records:
                    async for record in records:
                        advance(1)
                        if means(record):
                            its = record.key, record.value, record.headers, timestamp(record.timestamp)
                            await dry_run.add(handler, *its)
    scale = span / read if read else 1.0
    rooted = [handler for _, handler in roots]
    return figures(settings, dry_run.parts, rooted, replaying=True, scale=scale, rate=plan.rate)


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
        JournalError: The journal can't be read.
    """
    roots = [handler for handler in HANDLERS if handler.consumes == topic]
    handlers = closure(roots)
    below = _by_topic(handler for handler in handlers if handler not in roots)
    taken = size = 0
    async with aclosing(_journal(settings)) as journal:
        dry_run = DryRun(settings, handlers, below, journal, clock or SystemClock())
        await dry_run.open()
        async for record in records:
            taken, size = taken + 1, size + len(record.key or b"") + len(record.value or b"")
            for handler in roots:
                await dry_run.add(handler, record.key, record.value, record.headers, None)
    return figures(settings, dry_run.parts, roots, replaying=False, rate=rate, taken=(taken, size))


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


def _journal(settings: Settings) -> AnswerJournal:
    """The journal to be looked into; an empty one in memory where none has been made yet."""
    llm = settings.llm
    exists = llm.redis_url.get_secret_value() or (llm.cache_path is not None and llm.cache_path.exists())
    return make_journal(llm) if exists else SqliteJournal(None)
