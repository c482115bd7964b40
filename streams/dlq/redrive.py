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
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from aiokafka import TopicPartition
from aiokafka.admin import RecordsToDelete

from schemas.dead import REDRIVEN_OF
from schemas.event import RUN_HEADER
from streams.codec import UNREADABLE_HEADER, OutputRecord
from streams.dlq.dead_letters import DeadLetterReader, DeadLetterRecord, Selection
from streams.kafka.clients import make_admin, make_producer, opened
from streams.kafka.transactions import RecordWriter
from streams.pipeline.failures import LETTER_NOTES
from streams.settings import Settings

_BATCH_LETTERS = 100
_BATCH_BYTES = 8 * 1024 * 1024
_CUT = ("x-orig-size", "x-orig-key-size", "x-orig-headers-dropped")
"""Notes of a letter that is not whole."""


@dataclass
class Redriven:
    """What a redrive came to."""

    matched: int = 0
    sent: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    targets: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Letters by handler, reason and the topic they go to."""


async def redrive(
    settings: Settings,
    selection: Selection,
    run_id: str,
    *,
    dry_run: bool = False,
    again: bool = False,
    limit: int | None = None,
    rate: float | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> Redriven:
    """Sends the selected letters again.

    Args:
        settings: The configuration.
        selection: Which letters.
        run_id: Goes into the header ``assay_run`` of every record.
        dry_run: Only counts.
        again: Also letters that were sent again before.
        limit: At most so many.
        rate: Letters a second at most.
        advance: Told how many more were sent.

    Raises:
        KafkaError: The cluster failed, or another redrive took over; what was committed counts.
    """
    result = Redriven()
    async with DeadLetterReader(settings, selection) as letters:
        for handler, partition in letters.partitions:
            if limit is not None and result.sent >= limit:
                break
            drive = _PartitionDrive(settings, selection, run_id, again, limit, rate, advance, result)
            await drive.run(letters, handler, partition, dry_run)
    return result


def revive(letter: DeadLetterRecord, run_id: str) -> OutputRecord | str:
    """The record as it was before it died, with its identity and the run; or why it can't be had."""
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
    headers = [(name, value) for name, value in headers if name != RUN_HEADER]
    headers += [("x-root-id", letter.note.root_id.encode()), (RUN_HEADER, run_id.encode())]
    key, value = letter.record.key, letter.record.value
    if "x-tombstone" in texts and key is not None:
        value = None
    return OutputRecord(letter.note.topic, key, value, tuple(headers))


class _PartitionDrive:
    """One partition's letters, in transactions of its own transactional id."""

    def __init__(
        self,
        settings: Settings,
        selection: Selection,
        run_id: str,
        again: bool,
        limit: int | None,
        rate: float | None,
        advance: Callable[[int], None],
        result: Redriven,
    ) -> None:
        self._settings = settings
        self._selection = selection
        self._run_id = run_id
        self._again = again
        self._limit = limit
        self._rate = rate
        self._advance = advance
        self._result = result

    async def run(self, letters: DeadLetterReader, handler: str, partition: TopicPartition, dry_run: bool) -> None:
        """Sends what is selected; a dry run opens no transaction, and so fences nobody."""
        if dry_run:
            await self._go(letters, handler, partition, None)
            return
        kafka = self._settings.kafka
        own_id = f"{partition.topic}.redrive.{partition.partition}"
        writer = RecordWriter(lambda: make_producer(kafka, own_id, "assay.dlq"), kafka.transaction_timeout_seconds)
        try:
            await writer.start()
            await letters.settle(partition)
            await self._go(letters, handler, partition, writer)
        finally:
            await writer.stop()

    async def _go(
        self, letters: DeadLetterReader, handler: str, partition: TopicPartition, writer: RecordWriter | None
    ) -> None:
        runs = await letters.redriven(partition)
        batch: list[tuple[DeadLetterRecord, OutputRecord]] = []
        async for letter in letters.read(handler, partition, runs):
            if not self._selection.means(handler, letter.record.key, letter.note):
                continue
            if self._limit is not None and self._result.sent + len(batch) >= self._limit:
                break
            self._result.matched += 1
            if letter.redriven_by is not None and not self._again:
                self._result.skipped["redriven_before"] += 1
                continue
            record = revive(letter, self._run_id)
            if isinstance(record, str):
                self._result.skipped[record] += 1
                continue
            batch.append((letter, record))
            if len(batch) >= _BATCH_LETTERS or sum(one.size for _, one in batch) >= _BATCH_BYTES:
                await self._send(partition, writer, batch)
                batch = []
        if batch:
            await self._send(partition, writer, batch)

    async def _send(
        self,
        partition: TopicPartition,
        writer: RecordWriter | None,
        batch: list[tuple[DeadLetterRecord, OutputRecord]],
    ) -> None:
        if writer is not None:
            # Records and their markers, or neither.
            records = [record for _, record in batch]
            markers = [self._marker(partition, letter) for letter, _ in batch]
            await writer.write("", [*records, *markers], abort_on_error=True)
        for letter, record in batch:
            self._result.targets[letter.handler, letter.note.reason, record.topic] += 1
        self._result.sent += len(batch)
        self._advance(len(batch))
        if self._rate and writer is not None:
            await asyncio.sleep(len(batch) / self._rate)

    def _marker(self, partition: TopicPartition, letter: DeadLetterRecord) -> OutputRecord:
        """The record that says beside a dead letter that it was sent again."""
        notes = {
            REDRIVEN_OF: str(letter.record.offset),
            "x-run": self._run_id,
            "x-redriven-at": datetime.now(UTC).isoformat(),
        }
        key = letter.record.key
        headers = tuple((name, text.encode()) for name, text in notes.items())
        return OutputRecord(partition.topic, key, b"" if key is None else None, headers, partition.partition)


@dataclass
class Purged:
    """What a purge came to, or would come to."""

    deleted: int = 0
    not_sent_again: int = 0
    """Of those, letters that were never sent again."""
    held_back: int = 0
    """Letters that are meant and stand behind one that is not."""


async def purge(settings: Settings, selection: Selection, only_redriven: bool, dry_run: bool) -> Purged:
    """Deletes the selected letters as far as Kafka can.

    Args:
        settings: The configuration.
        selection: Which letters.
        only_redriven: Of those only what was sent again.
        dry_run: Only counts.
    """
    result = Purged()
    ends: dict[TopicPartition, int] = {}
    async with DeadLetterReader(settings, selection) as letters:
        for handler, partition in letters.partitions:
            runs = await letters.redriven(partition)
            kept = False
            async for letter in letters.read(handler, partition, runs):
                meant = selection.means(handler, letter.record.key, letter.note)
                meant = meant and (letter.redriven_by is not None or not only_redriven)
                if not meant:
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
