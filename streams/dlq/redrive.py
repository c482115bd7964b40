"""Sends dead letters again to the topic they came from, each exactly once, or deletes them.

A transaction contains some records for the original topic and, for each, a marker in the partition of its dead letter.
The markers are read after the partition's transactional id has fenced earlier redrives, and after every transaction
that was open then has ended: an open transaction would hide the markers behind it. Therefore a redrive that was killed
can be repeated, and two redrives at the same time double nothing.

Kafka deletes only from the beginning of a partition. A purge therefore deletes up to the first dead letter that is not
selected, and counts the selected ones behind it.
"""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from aiokafka import TopicPartition
from aiokafka.admin import RecordsToDelete

from schemas.dead import REDRIVEN_OF
from schemas.event import Run
from streams.dlq.dead_letters import DeadLetterReader, DeadLetterRecord
from streams.dlq.selection import Selection
from streams.kafka.clients import make_admin, make_producer, opened
from streams.kafka.settings import KafkaSettings
from streams.kafka.transactions import RecordWriter
from streams.pipeline.failures import LETTER_NOTES
from streams.settings.model import Settings
from streams.topology.codec import UNREADABLE_HEADER, OutputRecord

_BATCH_LETTERS = 100
_BATCH_BYTES = 8 * 1024 * 1024
_CUT = ("x-orig-size", "x-orig-key-size", "x-orig-headers-dropped")
"""The notes of a dead letter that does not have all original bytes."""


@dataclass(frozen=True, slots=True)
class RedriveOptions:
    """The options of ``assay dlq redrive``; ``run_id`` is in the headers of every record."""

    run_id: str
    dry_run: bool = False
    again: bool = False
    limit: int | None = None
    rate: float | None = None


@dataclass
class Redriven:
    """The counts of a redrive; ``targets`` has them by handler, reason and target topic."""

    matched: int = 0
    sent: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    targets: Counter[tuple[str, str, str]] = field(default_factory=Counter)


async def redrive(
    settings: Settings,
    selection: Selection,
    options: RedriveOptions,
    advance: Callable[[int], None] = lambda _: None,
) -> Redriven:
    """Sends the selected dead letters again, and calls ``advance`` with the size of each batch.

    Raises KafkaError if the cluster failed, or another redrive took over; what was committed counts.
    """
    result = Redriven()
    async with DeadLetterReader(settings, selection) as letters:
        for handler, partition in letters.partitions:
            if options.limit is not None and result.sent >= options.limit:
                break
            async with _writer(settings.kafka, letters, partition, options) as writer:
                async for batch in _batches(letters, handler, partition, options, result):
                    if writer is not None:
                        # A transaction has both the records and their markers.
                        markers = [_marker(partition, letter, options.run_id) for letter, _ in batch]
                        await writer.write("", [*(record for _, record in batch), *markers], abort_on_error=True)
                    result.targets.update((handler, letter.note.reason, record.topic) for letter, record in batch)
                    result.sent += len(batch)
                    advance(len(batch))
                    if options.rate and writer is not None:
                        await asyncio.sleep(len(batch) / options.rate)
    return result


@asynccontextmanager
async def _writer(
    kafka: KafkaSettings, letters: DeadLetterReader, partition: TopicPartition, options: RedriveOptions
) -> AsyncIterator[RecordWriter | None]:
    """A writer with the partition's transactional id; None for a dry run, so that it fences no other redrive."""
    if options.dry_run:
        yield None
        return
    own_id = f"{partition.topic}.redrive.{partition.partition}"
    writer = RecordWriter(lambda: make_producer(kafka, own_id, "assay.dlq"), kafka.transaction_timeout_seconds)
    try:
        await writer.start()
        await letters.settle(partition)
        yield writer
    finally:
        await writer.stop()


async def _batches(
    letters: DeadLetterReader, handler: str, partition: TopicPartition, options: RedriveOptions, result: Redriven
) -> AsyncIterator[list[tuple[DeadLetterRecord, OutputRecord]]]:
    """The selected dead letters with the records that they become; counts those that match or are skipped."""
    batch: list[tuple[DeadLetterRecord, OutputRecord]] = []
    async for letter in letters.selected(handler, partition):
        if options.limit is not None and result.sent + len(batch) >= options.limit:
            break
        result.matched += 1
        if letter.redriven_by is not None and not options.again:
            result.skipped["redriven_before"] += 1
            continue
        record = revive(letter, options.run_id)
        if isinstance(record, str):
            result.skipped[record] += 1
            continue
        batch.append((letter, record))
        if len(batch) >= _BATCH_LETTERS or sum(record.size for _, record in batch) >= _BATCH_BYTES:
            yield batch
            batch = []
    if batch:
        yield batch


def _marker(partition: TopicPartition, letter: DeadLetterRecord, run_id: str) -> OutputRecord:
    notes = {REDRIVEN_OF: str(letter.record.offset), "x-run": run_id, "x-redriven-at": datetime.now(UTC).isoformat()}
    key = letter.record.key
    headers = tuple((name, text.encode()) for name, text in notes.items())
    return OutputRecord(partition.topic, key, b"" if key is None else None, headers, partition.partition)


def revive(letter: DeadLetterRecord, run_id: str) -> OutputRecord | str:
    """The original record with its identity and the run; or the reason why it cannot be restored."""
    texts = {name: value.decode("utf-8", "replace") for name, value in letter.record.headers if value is not None}
    if any(name in texts for name in _CUT):
        return "cut"
    if UNREADABLE_HEADER in texts:
        return "unreadable"
    if not letter.note.topic:
        return "no_origin"
    headers = [(name, value) for name, value in letter.record.headers if name not in LETTER_NOTES]
    try:
        binary = json.loads(texts.get("x-orig-binary-headers", "{}"))
        headers += [(name, None if value is None else b64decode(value)) for name, value in binary.items()]
    except (ValueError, AttributeError, TypeError, RecursionError):
        return "unreadable"
    # A decision that is old stays so: the order of versions in the index is that of the run that wrote the letter.
    before = Run.of(texts)
    run = Run(run_id, before.began if before else None)
    headers = run.marked([*headers, ("x-root-id", letter.note.root_id.encode())])
    key, value = letter.record.key, letter.record.value
    if "x-tombstone" in texts and key is not None:
        value = None
    return OutputRecord(letter.note.topic, key, value, tuple(headers))


@dataclass
class Purged:
    """The counts of a purge."""

    deleted: int = 0
    not_sent_again: int = 0  # deleted dead letters that were never sent again
    held_back: int = 0  # selected dead letters behind one that is not selected


async def purge(settings: Settings, selection: Selection, *, only_redriven: bool, dry_run: bool) -> Purged:
    """Deletes the selected dead letters as far as Kafka can; ``only_redriven`` spares those never sent again."""
    result = Purged()
    ends: dict[TopicPartition, int] = {}
    async with DeadLetterReader(settings, selection) as letters:
        for handler, partition in letters.partitions:
            kept = False
            async for letter in letters.read(handler, partition):
                selected = selection.means(letter)
                if not selected or (only_redriven and letter.redriven_by is None):
                    kept = True
                elif kept:
                    result.held_back += 1
                else:
                    result.deleted += 1
                    result.not_sent_again += letter.redriven_by is None
                    ends[partition] = letter.record.offset + 1
    if ends and not dry_run:
        async with opened(make_admin(settings.kafka)) as admin:
            await admin.delete_records({at: RecordsToDelete(before_offset=end) for at, end in ends.items()})
    return result
