"""``assay export``: writes scored pages as TSV, from their topic or from a file; or reviews (``export_reviews``).

An export contains what the topic holds when the command starts. ``--latest`` keeps the newest page of each address. The
output file appears as a whole at the end: it is written beside its place and then moved. Rows that are published again
get the same scores (see ``streams.publish.tsv``).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, BinaryIO, Literal

import typer

from schemas.pages import ScoredPage
from streams.cli.errors import run_with_kafka
from streams.cli.export_intake import (
    ExportOptions,
    FileError,
    Intake,
    refused_start,
    topic_events,
    written,
)
from streams.cli.export_reviews import run_export_reviews
from streams.cli.file_events import read_events
from streams.cli.options import AsJson, Config, load_settings
from streams.cli.output import tell
from streams.cli.tail import partitions_of
from streams.kafka.settings import KafkaSettings
from streams.publish.event_lines import LineEvent
from streams.publish.tsv import row_of
from streams.settings.model import Settings
from streams.topology import PAGES_SCORED


def export(
    form: Annotated[Literal["tsv", "reviews"], typer.Argument(help="Scored pages as tsv, or reviews as JSON lines.")],
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
    options = ExportOptions(start=start, most=most, output=output, newest=newest, source=source)
    if form == "reviews":
        return run_export_reviews(settings.with_kafka(), options, as_json=as_json)
    return run_export(settings if source else settings.with_kafka(), options, as_json=as_json)


class EveryRow:
    """A row for each page."""

    def __init__(self, target: BinaryIO) -> None:
        """Takes where rows go."""
        self._target = target
        self.count = 0

    def add(self, page: ScoredPage) -> None:
        """Writes the page's row."""
        self._target.write(row_of(page))
        self.count += 1

    def finish(self) -> None:
        """Nothing is held back."""


class NewestRows:
    """A row for each address: of the page that was fetched last, as in the index; of the later record among equals.

    Rows wait on the disk; in memory there are about 250 bytes for each address.
    """

    def __init__(self, target: BinaryIO) -> None:
        """Takes where rows go."""
        self._target = target
        self._waiting = TemporaryFile()  # noqa: SIM115 - it lives until finish
        self._newest: dict[bytes, tuple[float, int]] = {}
        self.count = 0

    def add(self, page: ScoredPage) -> None:
        """Keeps the page's row, unless a newer one of its address is known."""
        address = blake2b(page.url.encode("utf-8", "replace"), digest_size=16).digest()
        fetched = _seconds(page.fetched_at)
        known = self._newest.get(address)
        if known is None or fetched >= known[0]:
            self._newest[address] = fetched, self._waiting.tell()
            self._waiting.write(row_of(page))

    def finish(self) -> None:
        """Writes what is the newest, in the order in which it came."""
        with self._waiting as rows:
            for place in sorted(place for _, place in self._newest.values()):
                rows.seek(place)
                self._target.write(rows.readline())
        self.count = len(self._newest)


def _seconds(fetched_at: datetime | None) -> float:
    if fetched_at is None:
        return float("-inf")
    return (fetched_at if fetched_at.tzinfo else fetched_at.replace(tzinfo=UTC)).timestamp()


def run_export(settings: Settings, options: ExportOptions, *, as_json: bool = False) -> int:
    """Writes scored pages as TSV, and the summary to standard error if the rows go to standard output.

    Returns:
        0; 1 if a record is not a scored page, and for trouble with Kafka or a file; 2 for wrong usage or a missing
        topic. A file is written only for 0, and for records that are not scored pages.
    """
    if status := refused_start(options):
        return status
    if options.source is not None and options.start != "earliest":
        return tell("export", "--from says where in the topic to begin; a file is read from its beginning", 2)
    began = time.monotonic()
    rows = _Export(options)
    try:
        if options.source is not None:
            rows.write_file(options.source)
        elif status := run_with_kafka("export", settings, rows.write_topic(settings.kafka)):
            return status
    except FileError as error:
        return tell("export", str(error), 1)
    refused = rows.intake.refusals.tell_rest()
    seconds = time.monotonic() - began
    told = sys.stdout if options.output else sys.stderr
    if as_json:
        print(json.dumps({"exported": rows.count, "refused": refused, "seconds": round(seconds, 3)}), file=told)
    else:
        where = f" to {options.output}" if options.output else ""
        print(f"exported {rows.count}{where}, refused {refused}, in {seconds:.1f} s", file=told)
    return 1 if refused else 0


class _Export:
    """Writes the rows."""

    def __init__(self, options: ExportOptions) -> None:
        self._options = options
        self.intake = Intake(options.most)
        self.count = 0

    def write_file(self, source: Path) -> None:
        with self._rows() as rows:
            for found in _events_of(source, quiet=self._options.quiet):
                self._add(rows, found)
                if self.intake.full:
                    break

    async def write_topic(self, kafka: KafkaSettings) -> int:
        """Writes every committed record from the start to the current end."""
        # The output is opened only if the topic can be read.
        partitions = await partitions_of(PAGES_SCORED.name, kafka)
        with self._rows() as rows:
            async with contextlib.aclosing(topic_events(PAGES_SCORED, kafka, partitions, self._options)) as found:
                async for event in found:
                    self._add(rows, event)
                    if self.intake.full:
                        break
                    await asyncio.sleep(0)  # lets Ctrl-C in while records are at hand
        return 0

    @contextlib.contextmanager
    def _rows(self) -> Iterator[EveryRow | NewestRows]:
        with written(self._options.output) as target:
            rows = NewestRows(target) if self._options.newest else EveryRow(target)
            yield rows
            rows.finish()
            self.count = rows.count

    def _add(self, rows: EveryRow | NewestRows, found: LineEvent) -> None:
        if isinstance(page := self.intake.event(found), ScoredPage):
            rows.add(page)


def _events_of(source: Path, *, quiet: bool) -> Iterator[LineEvent]:
    try:
        yield from read_events("export", source, PAGES_SCORED, quiet=quiet)
    except OSError as error:
        raise FileError(f"{error.filename}: {error.strerror}") from None
