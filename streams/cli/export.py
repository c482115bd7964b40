"""``assay export``: writes scored pages as TSV, or editors' marks as JSON lines with the decisions and their inputs.

An export contains what the topic holds when the command starts. The output file appears as a whole at the end: it is
written beside its place and then moved. Pages that are published again get the same scores (see
``streams.publish.tsv``). A reviewed decision is one row, and its newest mark counts. A row whose decision or input is
gone names that in ``missing``.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, BinaryIO, Literal

import typer
from aiokafka import TopicPartition

from schemas.event import Event
from schemas.pages import ScoredPage
from schemas.review import DecisionReviewed
from streams.cli.errors import run_with_kafka
from streams.cli.file_events import read_events
from streams.cli.options import AsJson, Config, load_settings
from streams.cli.output import Refusals, tell
from streams.cli.progress import ProgressLine
from streams.cli.tail import is_start, partitions_of, seek_to
from streams.console.review_agreement import newest_marks
from streams.console.review_join import joined
from streams.kafka.clients import make_reader, opened
from streams.kafka.log_reader import records_between
from streams.kafka.settings import KafkaSettings
from streams.publish.event_lines import LineEvent
from streams.publish.tsv import row_of
from streams.settings.model import Settings
from streams.topology import DECISIONS_REVIEWED, PAGES_SCORED, Topic
from streams.topology.codec import decode, timestamp

Form = Literal["tsv", "reviews"]


def export(
    form: Annotated[Form, typer.Argument(help="Scored pages as tsv, or reviews as JSON lines.")],
    start: Annotated[str, typer.Option("--from", help="earliest, latest, or an offset.")] = "earliest",
    most: Annotated[int | None, typer.Option("--max", min=1, help="Stop after so many records.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Output file; else standard output.")] = None,
    newest: Annotated[bool, typer.Option("--latest", help="Only the newest page of each address.")] = False,
    source: Annotated[
        Path | None, typer.Option("--input", help="Scored pages, one a line, without Kafka; - for standard input.")
    ] = None,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Write scored pages as TSV, or the reviewed decisions with their inputs as JSON lines."""
    settings = load_settings(config)
    options = ExportOptions(form=form, start=start, most=most, output=output, newest=newest, source=source)
    return run_export(settings if source else settings.with_kafka(), options, as_json=as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """What is exported, and where to; ``start`` is ``earliest``, ``latest`` or an offset."""

    form: Form = "tsv"
    start: str = "earliest"
    most: int | None = None
    output: Path | None = None
    newest: bool = False
    source: Path | None = None


class FileError(Exception):
    """A file can't be read or written; the text says which and why."""


def run_export(settings: Settings, options: ExportOptions, *, as_json: bool = False) -> int:
    """Writes the rows, and the summary to standard error if the rows go to standard output.

    Returns:
        0; 1 if a record is not an event of the topic, and for trouble with Kafka or a file; 2 for wrong usage or a
        missing topic. A file is written only for 0, and for records that are not events.
    """
    if wrong := _wrong_usage(options):
        return tell("export", wrong, 2)
    began = time.monotonic()
    work = _Export(settings.kafka, options)
    try:
        if options.source is not None:
            work.write_file(options.source)
        elif status := run_with_kafka("export", settings, work.write_topic()):
            return status
    except FileError as error:
        return tell("export", str(error), 1)
    refused = work.refusals.tell_rest()
    counts, seconds = work.counts, time.monotonic() - began
    told = sys.stdout if options.output else sys.stderr
    if as_json:
        print(json.dumps(counts | {"refused": refused, "seconds": round(seconds, 3)}), file=told)
        return 1 if refused else 0
    exported = f"{counts['exported']} to {options.output}" if options.output else f"{counts['exported']}"
    if options.form == "reviews":
        exported += (
            f" ({counts['right']} right, {counts['wrong']} wrong, {counts['without_input']} without their input)"
        )
    print(f"exported {exported}, refused {refused}, in {seconds:.1f} s", file=told)
    if options.form == "reviews" and not counts["exported"]:
        print("no decision is reviewed yet: mark decisions on the screen Review of `assay console`", file=sys.stderr)
    return 1 if refused else 0


def _wrong_usage(options: ExportOptions) -> str:
    if not is_start(options.start):
        return f"--from takes earliest, latest or an offset, not {options.start!r}"
    if options.form == "reviews" and (options.source or options.newest):
        named = "--input" if options.source else "--latest"
        return f"leave {named} out: reviews come from their topic, and the newest of each decision counts"
    if options.source and options.start != "earliest":
        return "--from says where in the topic to begin; a file is read from its beginning"
    return ""


class _Export:
    """One export: the rows that it writes, what it counts and what it refuses."""

    def __init__(self, kafka: KafkaSettings, options: ExportOptions) -> None:
        self._kafka = kafka
        self._options = options
        # Progress would appear among rows on a terminal.
        self._quiet = options.output is None and sys.stdout.isatty()
        self.refusals = Refusals("export")
        self.counts = {"exported": 0}

    def write_file(self, source: Path) -> None:
        with self._page_rows() as rows:
            for found in islice(_events_of(source, quiet=self._quiet), self._options.most):
                if isinstance(page := self._event(found), ScoredPage):
                    rows.add(page)

    async def write_topic(self) -> int:
        """Writes every committed record from the start to the current end."""
        topic = DECISIONS_REVIEWED if self._options.form == "reviews" else PAGES_SCORED
        # The output is opened only if the topic can be read.
        partitions = await partitions_of(topic.name, self._kafka)
        async with aclosing(self._records(topic, partitions)) as records:
            events = (self._event(record) async for record in records)
            if topic is DECISIONS_REVIEWED:
                await self._write_reviews([event async for event in events if isinstance(event, DecisionReviewed)])
                return 0
            with self._page_rows() as rows:
                async for event in events:
                    if isinstance(event, ScoredPage):
                        rows.add(event)
        return 0

    async def _records(self, topic: Topic, partitions: list[TopicPartition]) -> AsyncGenerator[LineEvent, None]:
        async with opened(make_reader(self._kafka)) as reader:
            reader.assign(partitions)
            ends = await reader.end_offsets(partitions)
            await seek_to(reader, partitions, ends, self._options.start)
            reader.pause(*partitions)
            spans = {partition: (await reader.position(partition), end) for partition, end in ends.items()}
            left = {partition: max(0, end - start) for partition, (start, end) in spans.items()}
            total, count = sum(left.values()), 0
            # The ends are those of committed records, so only a silent cluster delays them.
            found = records_between(reader, spans, patience_seconds=self._kafka.transaction_timeout_seconds)
            with ProgressLine(
                "export", "exporting", total, at=lambda: total - sum(left.values()), quiet=self._quiet
            ) as advance:
                async with aclosing(found) as records:
                    async for record in records:
                        event = decode(topic, record.value, record.headers, timestamp(record.timestamp))
                        yield LineEvent(f"{record.partition}/{record.offset}", event)
                        partition = TopicPartition(record.topic, record.partition)
                        left[partition] = ends[partition] - record.offset - 1
                        advance()
                        count += 1
                        if count == self._options.most:
                            return

    def _event(self, found: LineEvent) -> Event | None:
        """The event; None for anything else, which is reported."""
        if isinstance(found.event, Event):
            return found.event
        self.refusals.add(f"{found.place}: {found.problem}")
        return None

    @contextlib.contextmanager
    def _page_rows(self) -> Iterator[PageRows]:
        with written(self._options.output) as target:
            rows = PageRows(target, newest=self._options.newest)
            yield rows
            self.counts["exported"] = rows.finish()

    async def _write_reviews(self, reviews: list[DecisionReviewed]) -> None:
        counts = self.counts
        counts |= {"right": 0, "wrong": 0, "without_input": 0}
        with (
            written(self._options.output) as target,
            ProgressLine("export", "reading decisions", unit="reviews", quiet=self._quiet) as line,
        ):
            async with aclosing(joined(self._kafka, list(newest_marks(reviews).values()), line.set)) as rows:
                async for row in rows:
                    target.write(json.dumps(row.to_wire(), ensure_ascii=False).encode("utf-8", "replace") + b"\n")
                    counts["exported"] += 1
                    counts["right" if row.review.right else "wrong"] += 1
                    counts["without_input"] += row.source is None


def _events_of(source: Path, *, quiet: bool) -> Iterator[LineEvent]:
    try:
        yield from read_events("export", source, PAGES_SCORED, quiet=quiet)
    except OSError as error:
        raise FileError(f"{error.filename}: {error.strerror}") from None


class PageRows:
    """A row for each page.

    With ``newest`` there is one row for each address: of the page that was fetched last, as in the index, and of the
    later record among equals. Such rows wait on the disk; in memory there are about 250 bytes for each address.
    """

    def __init__(self, target: BinaryIO, *, newest: bool = False) -> None:
        self._target = target
        self._newest: dict[bytes, tuple[float, int]] = {}
        self._waiting = TemporaryFile() if newest else None  # noqa: SIM115 - it lives until finish
        self._count = 0

    def add(self, page: ScoredPage) -> None:
        if self._waiting is None:
            self._target.write(row_of(page))
            self._count += 1
            return
        address = blake2b(page.url.encode("utf-8", "replace"), digest_size=16).digest()
        fetched = _seconds(page.fetched_at)
        known = self._newest.get(address)
        if known is None or fetched >= known[0]:
            self._newest[address] = fetched, self._waiting.tell()
            self._waiting.write(row_of(page))

    def finish(self) -> int:
        """Writes the rows that wait, in the order in which they came; returns the number of all rows."""
        if self._waiting is None:
            return self._count
        with self._waiting as rows:
            for place in sorted(place for _, place in self._newest.values()):
                rows.seek(place)
                self._target.write(rows.readline())
        return len(self._newest)


def _seconds(fetched_at: datetime | None) -> float:
    if fetched_at is None:
        return float("-inf")
    return (fetched_at if fetched_at.tzinfo else fetched_at.replace(tzinfo=UTC)).timestamp()


@contextlib.contextmanager
def written(output: Path | None) -> Iterator[BinaryIO]:
    """A file, an existing device or pipe, or standard output where None; an exception removes the unfinished file.

    Raises:
        FileError: The output cannot be written.
        BrokenPipeError: The reader of standard output has gone.
    """
    try:
        if output is None:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        elif output.exists() and not output.is_file():
            with output.open("wb") as target:
                yield target
        else:
            yield from _replaced(output.resolve())
    except BrokenPipeError:
        raise
    except OSError as error:
        raise FileError(f"{output or 'standard output'}: {error.strerror or error}") from None


def _replaced(output: Path) -> Iterator[BinaryIO]:
    part = output.with_name(f".{output.name[:200]}.{os.getpid()}.part")
    try:
        with part.open("xb") as target:
            yield target
            target.flush()
            os.fsync(target.fileno())
        part.replace(output)
    finally:
        part.unlink(missing_ok=True)
