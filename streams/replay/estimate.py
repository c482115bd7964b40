"""Estimates a replay or a backfill: records, bytes, time, and for paid handlers calls, tokens and money.

Paid handlers run dry on every record, so each question is the one that the replay will ask. For free handlers a sample
of the records is enough. A handler's time is that of its bottleneck: its own work, a limit of its model, or a rate.
Each figure states its basis.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from typing import Any

from schemas.replays import OffsetRange, ReplayPlan
from streams.pipeline.services import shares_of
from streams.replay.dry_run import Forecast, HandlerDryRun, open_dry_run
from streams.replay.plan import EVERYTHING, handler_of, is_paid, stage_of
from streams.replay.ranges import count
from streams.replay.selection import raw_record, read_selected
from streams.settings.model import Settings
from streams.topology import HANDLERS, Handler, Topic
from streams.topology.codec import OutputRecord
from streams.workers.handler_jobs import RawRecord

AROUND_SECONDS = 0.0004
"""The pipeline's own work on a record: reading, writing, its part of a transaction. A process that scores 770 pages a
second passes 590 of them through the pipeline."""


@dataclass(frozen=True, slots=True)
class PaidEstimate:
    """What one handler asks a model: calls to be paid, and kept questions, whose answers the journal has.

    A model without a price has no costs. ``because`` is the basis of the tokens.
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
    """What one handler will do."""

    handler: str
    records: int
    bytes: int
    seconds: float  # in one process; ``because`` is their basis
    because: str
    open: int  # records whose outcome depends on an unknown answer; what handlers below read of them is not counted
    pages: int  # pages that it fetches at first; further pages that they lead to are not counted
    points: int
    offline: int  # questions that the offline judge answers
    paid: PaidEstimate | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a replay or a backfill will take."""

    records: int  # records from outside
    bytes: int
    seconds: float  # of all handlers, one after another in one process
    usd: float | None  # cost of models; None if one has no price
    saved_usd: float | None
    sampled: int | None  # records that were read for the estimate; None if all were read
    handlers: tuple[HandlerEstimate, ...]

    def to_wire(self) -> dict[str, Any]:
        return asdict(self)


def _estimated(
    settings: Settings, part: HandlerDryRun, rate: float | None, *, replaying: bool, scale: float = 1.0
) -> HandlerEstimate:
    """The estimate of a handler.

    ``scale`` is the number of all records for each record that was read. Only free handlers are sampled, so money is
    never scaled.
    """
    bounds = [
        (scale * (part.busy + part.records * AROUND_SECONDS), f"the work on {part.records:,} records, measured now")
    ]
    if rate is not None:
        bounds.append((round(part.records * scale) / rate, f"the rate of {rate:g} records/s"))
    if part.forecast is not None and part.forecast.calls:
        bounds += _model_bounds(settings, part.handler, part.forecast, replaying)
    seconds, because = max(bounds)
    return HandlerEstimate(
        handler=part.handler.name,
        records=round(part.records * scale),
        bytes=round(part.size * scale),
        seconds=round(seconds, 3),
        because=because,
        open=part.open if part.forecast is not None else 0,
        pages=round(part.pages * scale),
        points=round(part.points * scale),
        offline=round(part.offline * scale),
        paid=None if part.forecast is None else _paid(part.forecast),
    )


def _model_bounds(
    settings: Settings, handler: Handler, forecast: Forecast, replaying: bool
) -> Iterator[tuple[float, str]]:
    """Seconds in one process by each limit of the handler's model, with its name."""
    share = shares_of(settings, replaying=replaying).of(handler.name)
    users = "replays" if replaying else "live traffic"
    limits = forecast.limits
    for amount, most, what in (
        (forecast.calls, limits.requests_per_minute, "requests"),
        (sum(forecast.tokens()), limits.tokens_per_minute, "tokens"),
    ):
        if (minute := most * share) > 0:
            yield 60 * amount / minute, f"{minute:,.0f} {what} a minute of {forecast.model} for {users}"
    if (seconds := forecast.call_seconds()) is not None:
        at_once = max(1, min(int(limits.in_flight * share), handler.concurrency))
        yield forecast.calls * seconds / at_once, f"{at_once} calls at once of {seconds:.2g} s each, as before"


def _paid(forecast: Forecast) -> PaidEstimate:
    prompt, completion = forecast.tokens()
    earlier = sum(row.answered for row in forecast.earlier)
    because = "prompts as estimated and the longest replies, one call each"
    return PaidEstimate(
        model=forecast.model,
        calls=round(forecast.calls, 1),
        kept=forecast.kept,
        prompt_tokens=round(prompt),
        completion_tokens=round(completion),
        usd=forecast.usd(),
        saved_usd=forecast.saved_usd(),
        because=f"{earlier:,} earlier call{'' if earlier == 1 else 's'}" if earlier else because,
    )


def _summed(handlers: Sequence[HandlerEstimate], records: int, size: int, sampled: int | None) -> Estimate:
    paid = [handler.paid for handler in handlers if handler.paid is not None]
    return Estimate(
        records=records,
        bytes=size,
        seconds=round(sum(handler.seconds for handler in handlers), 3),
        usd=_sum([asked.usd for asked in paid]),
        saved_usd=_sum([asked.saved_usd for asked in paid]),
        sampled=sampled,
        handlers=tuple(handlers),
    )


def _sum(amounts: Sequence[float | None]) -> float | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else None


SAMPLE_RECORDS = 1000  # records of a sample, if no handler is paid
_WINDOWS = 8  # parts of each partition that a sample is taken from


async def estimate(settings: Settings, plan: ReplayPlan, advance: Callable[[int], None] = lambda _: None) -> Estimate:
    """Estimates a plan that has its ranges; ``advance`` is called for each record that is read.

    Raises:
        ReplayError: A handler has nothing that the selection asks for.
        JournalError: The journal can't be read.
    """
    handler, parts = handler_of(plan), _parts_of(settings, plan)
    async with (
        open_dry_run(settings, [handler], [handler]) as dry_run,
        aclosing(read_selected(settings, plan, parts, advance)) as records,
    ):
        async for record in records:
            await dry_run.add(handler, record.key, raw_record(record))
    span, read = count(stage_of(plan).ranges), sum(map(count, parts))
    scale = span / read if read else 1.0
    part = dry_run.parts[handler.name]
    found = _estimated(settings, part, plan.rate, replaying=True, scale=scale)
    return _summed([found], found.records, found.bytes, part.records if scale != 1.0 else None)


def offsets_read(settings: Settings, plan: ReplayPlan) -> int:
    return sum(map(count, _parts_of(settings, plan)))


async def estimate_source(
    settings: Settings, topic: Topic, records: AsyncIterable[OutputRecord], *, rate: float | None = None
) -> Estimate:
    """Estimates the work of all handlers on records of a topic that are not on Kafka yet. Raises JournalError.

    The limits are those of live traffic; ``rate`` is in records a second.
    """
    roots = [handler for handler in HANDLERS if handler.consumes == topic]
    taken = size = 0
    async with open_dry_run(settings, _with_downstream(roots), roots) as dry_run:
        async for record in records:
            taken, size = taken + 1, size + len(record.key or b"") + len(record.value or b"")
            for handler in roots:
                await dry_run.add(handler, record.key, RawRecord(record.value, record.headers, None))
    found = [_estimated(settings, part, rate, replaying=False) for part in dry_run.parts.values()]
    return _summed(found, taken, size, None)


def _with_downstream(handlers: Sequence[Handler]) -> tuple[Handler, ...]:
    """Handlers and all their downstream handlers, each once, without those that are never replayed (`fetch_page`).

    >>> from streams.topology import handler_named
    >>> [handler.name for handler in _with_downstream([handler_named("score_page")])]
    ['score_page', 'index_page']
    """
    found = list(handlers)
    for handler in found:
        below = [other for other in HANDLERS if other.consumes in handler.emits and other.replay != "never"]
        found += [other for other in below if other not in found]
    return tuple(found)


def windows(ranges: Sequence[OffsetRange], most: int) -> list[tuple[OffsetRange, ...]]:
    """Parts of ranges with about ``most`` records, spread evenly; the ranges themselves if they have no more.

    >>> windows([OffsetRange(partition=0, start=0, end=800)], 80)[1]
    (OffsetRange(partition=0, start=100, end=110),)
    """
    if count(ranges) <= most:
        return [tuple(ranges)]
    part = most / count(ranges)

    def window(span: OffsetRange, number: int) -> OffsetRange:
        step = (span.end - span.start) / _WINDOWS
        start = span.start + round(number * step)
        end = min(span.end, start + max(1, round(step * part)))
        return OffsetRange(partition=span.partition, start=start, end=end)

    return [tuple(window(span, number) for span in ranges if span.end > span.start) for number in range(_WINDOWS)]


def _parts_of(settings: Settings, plan: ReplayPlan) -> list[tuple[OffsetRange, ...]]:
    """The parts of a plan's ranges that are read: a sample if the handler is free and every record is selected."""
    ranges = stage_of(plan).ranges
    if plan.selection != EVERYTHING or is_paid(handler_of(plan), settings):
        return [tuple(ranges)]
    return windows(ranges, SAMPLE_RECORDS)
