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
from streams.topology import DOCUMENTS_INDEXED, Handler
from streams.topology.codec import decode

_BACK = (2, 50, 500)
"""Offsets from a partition's end that are read; the next number applies if all records found are of replays."""
_SECONDS = 20.0
_FURTHER_SECONDS = 3.0
"""The time limit for the second and third number."""


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


async def read_kept_outdated(settings: KafkaSettings) -> tuple[int, int]:
    """Pages whose points are from an older decision than the last one, and all pages that were read. Raises KafkaError.

    Of each partition of indexed pages the last offsets are read. The index refused the last write of such a page, which
    is of the same fetch as the write before it.
    """
    partitions = await existing_partitions(settings, {settings.topic_prefix + DOCUMENTS_INDEXED.name})
    if not partitions:
        return 0, 0
    refused: dict[str, bool] = {}
    fetched: dict[str, object] = {}
    async with paused_reader(settings, partitions, "assay-latest", **RECORD_FETCH) as reader:
        begins, ends = await reader.beginning_offsets(partitions), await reader.end_offsets(partitions)
        spans = {one: (max(begins[one], ends[one] - _BACK[-1]), ends[one]) for one in partitions}
        async for record in records_between(reader, spans, limit_seconds=_SECONDS):
            event = decode(DOCUMENTS_INDEXED, record.value, record.headers, None)
            if isinstance(event, DocumentIndexed) and event.change is not IndexChange.KEPT:
                is_outdated = event.change is IndexChange.OUTDATED
                is_same = fetched.get(event.url, event.fetched_at) == event.fetched_at
                refused[event.url] = is_outdated and is_same
                if not is_outdated:
                    fetched[event.url] = event.fetched_at
    return sum(refused.values()), len(refused)


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
