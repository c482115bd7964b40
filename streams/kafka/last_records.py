"""Reads the last records of topics: the configuration of each handler's decisions, and future dates.

Of each partition the last two offsets are read: the last record and the marker of its transaction. If a replay or a
backfill wrote them, a bounded number of earlier records is read.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from aiokafka import ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaTimeoutError

from schemas.documents import DocumentIndexed, IndexChange
from schemas.event import RUN_HEADER
from streams.kafka.groups import RECORD_FETCH, paused_reader
from streams.kafka.log_reader import existing_partitions, records_between
from streams.kafka.settings import KafkaSettings
from streams.topology import DOCUMENTS_INDEXED, PAGES_SCORED, Handler
from streams.topology.codec import decode

_BACK = (2, 50, 500)
"""Offsets from a partition's end that are read; the next number applies if all records found are of replays."""
_SECONDS = 20.0
_FURTHER_SECONDS = 3.0  # the time limit for the second and third number


@dataclass(frozen=True, slots=True)
class Decision:
    """The rules of a handler's last decision, and its record's timestamp."""

    config_version: str
    at: datetime


@dataclass(frozen=True, slots=True)
class LatestDecisions:
    """The last decisions on live records.

    Attributes:
        of: By the handler's name.
        only_replayed: Handlers with records of replays and backfills only, in the offsets that were read.
    """

    of: Mapping[str, Decision]
    only_replayed: tuple[str, ...] = ()


async def read_latest_decisions(settings: KafkaSettings, handlers: Sequence[Handler]) -> LatestDecisions:
    """The newest decision of each handler among the last records of its topics. Raises KafkaError.

    Records of replays and backfills do not count, because they may be made under other rules. If they are at the end of
    a partition, up to 500 offsets are read.
    """
    prefix = settings.topic_prefix
    topics = {prefix + topic.name for handler in handlers for topic in handler.emits}
    sources = {f"assay/{handler.name}": handler.name for handler in handlers}
    latest: dict[str, Decision] = {}
    replayed: set[str] = set()
    partitions = await existing_partitions(settings, topics)
    if not partitions:
        return LatestDecisions({})
    async with paused_reader(settings, partitions, "assay-latest", **RECORD_FETCH) as reader:
        async for record in _last_records(reader, partitions):
            headers = {name: value.decode("utf-8", "replace") for name, value in record.headers if value is not None}
            handler = sources.get(headers.get("ce_source", ""))
            version = _config_version(record.value)
            if handler is None or version is None:
                continue
            if RUN_HEADER in headers:
                replayed.add(handler)
                continue
            at = datetime.fromtimestamp(record.timestamp / 1000, UTC)
            if handler not in latest or latest[handler].at < at:
                latest[handler] = Decision(version, at)
    return LatestDecisions(latest, tuple(h.name for h in handlers if h.name in replayed and h.name not in latest))


async def read_outdated_points(settings: KafkaSettings) -> tuple[int, int]:
    """Pages with points of another decision than their last one, and all pages that were read. Raises KafkaError.

    The last offsets of scored and of indexed pages are read. Each indexed page names the decision that it was made of.
    A decision after the last write is not indexed yet, and points of a later fetch are no older ones.
    """
    topics = {settings.topic_prefix + topic.name for topic in (PAGES_SCORED, DOCUMENTS_INDEXED)}
    partitions = await existing_partitions(settings, topics)
    last: dict[bytes | None, tuple[bytes | None, int]] = {}
    of_points: dict[bytes | None, bytes | None] = {}
    written: dict[bytes | None, int] = {}
    fetched: dict[bytes | None, datetime | None] = {}
    if not partitions:
        return 0, 0
    async with paused_reader(settings, partitions, "assay-latest", **RECORD_FETCH) as reader:
        begins, ends = await reader.beginning_offsets(partitions), await reader.end_offsets(partitions)
        spans = {place: (max(begins[place], ends[place] - _BACK[1]), ends[place]) for place in partitions}
        async for record in records_between(reader, spans, limit_seconds=_SECONDS):
            headers = dict(record.headers)
            if record.topic.endswith(PAGES_SCORED.name):
                last[record.key] = headers.get("ce_id"), record.timestamp
                continue
            event, cause = decode(DOCUMENTS_INDEXED, record.value, record.headers, None), headers.get("ce_causationid")
            if isinstance(event, DocumentIndexed):
                written[record.key], fetched[cause] = record.timestamp, event.fetched_at
                if event.change is not IndexChange.OUTDATED:
                    of_points[record.key] = cause
    both = [key for key, (_, at) in last.items() if key in of_points and at <= written[key]]
    outdated = [key for key in both if of_points[key] != last[key][0]]
    same = [key for key in outdated if last[key][0] in fetched and fetched[last[key][0]] == fetched[of_points[key]]]
    return len(same), len(both)


async def read_dated_after(settings: KafkaSettings, topics: Collection[str], moment: datetime) -> dict[str, datetime]:
    """Topics with records dated after a moment (UTC), and the date of such a record. Raises KafkaError.

    The names have the prefix; topics that do not exist are left out.
    """
    partitions = await existing_partitions(settings, topics)
    if not partitions:
        return {}
    async with paused_reader(settings, partitions, "assay-latest", **RECORD_FETCH) as reader:
        found = await reader.offsets_for_times(dict.fromkeys(partitions, int(1000 * moment.timestamp())))
    dated: dict[str, datetime] = {}
    for partition, at in found.items():
        if at is not None:
            date = datetime.fromtimestamp(at.timestamp / 1000, UTC)
            dated[partition.topic] = max(date, dated.get(partition.topic, date))
    return dated


async def _last_records(reader: Any, partitions: Sequence[TopicPartition]) -> AsyncIterator[ConsumerRecord]:
    """The last records of each partition, and earlier ones if no live record is among them."""
    begins, ends = await reader.beginning_offsets(partitions), await reader.end_offsets(partitions)
    unknown, seen = set(partitions), 0
    for back in _BACK:
        spans = {
            partition: (max(begins[partition], ends[partition] - back), ends[partition] - seen)
            for partition in unknown
            if begins[partition] < ends[partition] - seen
        }
        limit = _FURTHER_SECONDS if seen else _SECONDS
        try:
            async for record in records_between(reader, spans, limit_seconds=limit):
                yield record
                if RUN_HEADER not in dict(record.headers):
                    unknown.discard(TopicPartition(record.topic, record.partition))
        except KafkaTimeoutError:
            if not seen:
                raise
            return
        seen = back


def _config_version(value: bytes | None) -> str | None:
    try:
        event = json.loads(value or b"")
    except (ValueError, RecursionError):
        return None
    version = event.get("config_version") if isinstance(event, Mapping) else None
    return version if isinstance(version, str) else None
