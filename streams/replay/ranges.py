"""Turns the bounds that an operator types (``7d``, ``2026-11-21T08:00``) into offset ranges of every partition.

The ranges are fixed when the plan is made: records that are written later do not belong to the replay.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import TopicAuthorizationFailedError

from schemas.replays import OffsetRange
from streams.kafka.clients import make_admin, make_reader, opened
from streams.kafka.groups import read_topics
from streams.kafka.topics import no_topic
from streams.replay.plan import ReplayError
from streams.runtime.clock import instant_of
from streams.settings.model import Settings

_NAMED = 6  # partitions that a message names


@dataclass(frozen=True, slots=True)
class Bound:
    """The start or the end of a replay; exactly one attribute is set."""

    edge: str = ""  # ``earliest`` or ``latest``
    at: datetime | None = None  # the first record at that instant or later
    offset: int | None = None  # an offset for every partition
    offsets: Mapping[int, int] | None = None  # an offset for each of these partitions


EARLIEST, LATEST = Bound("earliest"), Bound("latest")


def bounds_of(start: str, end: str, since: str, now: datetime) -> tuple[Bound, Bound]:
    """The bounds that the options name; by default the whole topic.

    ``start`` and ``end`` are ``earliest``, ``latest``, an instant, an offset, or ``PARTITION:OFFSET,…``. ``since`` is
    an instant, or how long ago it starts, such as ``90m`` or ``7d``. Raises ReplayError: an option is invalid,
    ``--from`` and ``--since`` are both given, or the start is in the future or after the end.
    """
    if start and since:
        raise ReplayError("--from and --since both say where to start; give one of them")
    option, given = ("--since", since) if since else ("--from", start)
    first = _bound(option, given, now) if given else EARLIEST
    last = _bound("--to", end, now) if end else LATEST
    if first.at is not None and first.at > now:
        raise ReplayError(f"{option} {given} is in the future, and a replay reads the records that a topic has now")
    if _is_before(last, first):
        raise ReplayError(f"--to {end} is before {option} {given}: there is nothing between them")
    return first, last


@dataclass(frozen=True, slots=True)
class Found:
    """Offset ranges, one for each partition, and what the cluster has deleted of what was asked for."""

    ranges: tuple[OffsetRange, ...]
    gone: str = ""  # in words; "" if nothing is known to be gone
    wanted: bool = False  # whether the bounds name what is gone; false for a topic from its first record on


async def find_ranges(settings: Settings, topic: str, start: Bound = EARLIEST, end: Bound = LATEST) -> Found:
    """The present offsets between two bounds that can be read now, one range for each partition of a topic.

    ``topic`` is before the prefix. If ``start`` names partitions, the others have empty ranges.
    Raises ReplayError if there is no such topic or partition.
    """
    name = settings.kafka.topic_prefix + topic
    async with opened(make_admin(settings.kafka)) as admin:
        # A reader of a missing topic would wait for it.
        if name not in await admin.list_topics():
            raise ReplayError(no_topic(name))
        aged = start.at is not None and await _is_older_than_kept(admin, name, start.at)
    async with opened(make_reader(settings.kafka, name, client_id="assay-replay")) as reader:
        places = [TopicPartition(name, number) for number in sorted(reader.partitions_for_topic(name) or ())]
        if not places:
            raise ReplayError(no_topic(name))
        begins, ends = await reader.beginning_offsets(places), await reader.end_offsets(places)
        firsts, lasts = await _found(reader, places, start), await _found(reader, places, end)
    numbers = {place.partition for place in places}
    for bound in (start, end):
        if strangers := sorted((bound.offsets or {}).keys() - numbers):
            raise ReplayError(f"there is no partition {strangers[0]}; there are 0 to {len(numbers) - 1}")
    ranges, deleted = list[OffsetRange](), list[OffsetRange]()
    for place in places:
        log = Log(place.partition, begins[place], ends[place])
        bounds = (start, firsts[place]), (end, lasts[place])
        ranges.append(range_between(log, *bounds))
        deleted += filter(None, [deleted_before(log, *bounds, aged=aged)])
    if not deleted:
        return Found(tuple(ranges))
    perhaps = ", which may belong to the range" if start.at is not None else ""
    words = f"{count(deleted):,} offsets of {topic} are deleted (retention){perhaps}: {places_of(deleted)}"
    return Found(tuple(ranges), words, wanted=not start.edge)


async def _is_older_than_kept(admin: AIOKafkaAdminClient, name: str, at: datetime) -> bool:
    """Whether a topic may have deleted records of that time by their age; false if its retention can't be read."""
    with contextlib.suppress(TopicAuthorizationFailedError):
        kept = (await read_topics(admin, [name]))[name].retention_seconds
        return kept is not None and (datetime.now(UTC) - at).total_seconds() > kept
    return False


@dataclass(frozen=True, slots=True)
class Log:
    """What a partition contains: offsets from ``begin``, the end excluded."""

    partition: int
    begin: int
    end: int


def range_between(log: Log, start: tuple[Bound, int | None], end: tuple[Bound, int | None]) -> OffsetRange:
    """The part of a partition between two bounds.

    Each bound comes with the offset of the first record at or after its instant; None if there is no such record or no
    instant.
    """
    first = min(max(_offset(log, *start), log.begin), log.end)
    return OffsetRange(partition=log.partition, start=first, end=max(first, min(_offset(log, *end), log.end)))


def deleted_before(
    log: Log, start: tuple[Bound, int | None], end: tuple[Bound, int | None], *, aged: bool
) -> OffsetRange | None:
    """The offsets between two bounds that a partition no longer has; bounds as of ``range_between``.

    The offsets of deleted records of an instant are not known: if ``aged``, all before the first record are meant.
    """
    bound, found = start
    if bound.at is not None:
        first = 0 if aged and found in (None, log.begin) else log.begin
    else:
        first = 0 if bound.edge == "earliest" else _offset(log, bound, found)
    last = min(log.begin, log.begin if end[0].at is not None else _offset(log, *end))
    return OffsetRange(partition=log.partition, start=first, end=last) if first < last else None


def _offset(log: Log, bound: Bound, found: int | None) -> int:
    if bound.at is not None:
        # Every record of the partition is older.
        return log.end if found is None else found
    if bound.offsets is not None:
        return bound.offsets.get(log.partition, log.end)
    if bound.offset is not None:
        return bound.offset
    return log.begin if bound.edge == "earliest" else log.end


async def _found(
    reader: AIOKafkaConsumer, places: list[TopicPartition], bound: Bound
) -> dict[TopicPartition, int | None]:
    if bound.at is None:
        return dict.fromkeys(places)
    found = await reader.offsets_for_times(dict.fromkeys(places, int(bound.at.timestamp() * 1000)))
    return {place: None if found[place] is None else found[place].offset for place in places}


def count(ranges: Iterable[OffsetRange]) -> int:
    """Offsets in the ranges. Transaction markers have offsets, so there are a little fewer records."""
    return sum(span.end - span.start for span in ranges)


def places_of(ranges: Sequence[OffsetRange]) -> str:
    named = [f"partition {span.partition} from {span.start} to {span.end - 1}" for span in ranges[:_NAMED]]
    return ", ".join([*named, *([f"{len(ranges) - _NAMED} more partitions"] if len(ranges) > _NAMED else [])])


def _is_before(former: Bound, other: Bound) -> bool:
    if former.at is not None and other.at is not None:
        return former.at < other.at
    if former.offset is not None and other.offset is not None:
        return former.offset < other.offset
    return (former.edge, other.edge) == ("earliest", "latest")


def _bound(option: str, text: str, now: datetime) -> Bound:
    if text in ("earliest", "latest"):
        return Bound(text)
    if re.fullmatch(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(\d{4}|\d{6})?", text):
        raise ReplayError(
            f"{option} {text} may be a date or an offset: write {text[:4]}-{text[4:6]}-{text[6:8]} for the date, or "
            f"PARTITION:{text},… for the offset"
        )
    if re.fullmatch(r"\d{1,18}", text):
        return Bound(offset=int(text))
    if re.fullmatch(r"\d{1,6}:\d{1,18}(,\d{1,6}:\d{1,18})*", text):
        pairs = (pair.split(":") for pair in text.split(","))
        return Bound(offsets={int(partition): int(offset) for partition, offset in pairs})
    if (instant := instant_of(text, now)) is not None:
        return Bound(at=instant)
    raise ReplayError(
        f"{option} takes a time such as 2026-11-21T08:00 (UTC), how long ago (90m, 7d), earliest, latest, an "
        f"offset, or PARTITION:OFFSET,…; not {text!r}"
    )
