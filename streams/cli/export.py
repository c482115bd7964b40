"""``assay export``: writes scored pages as TSV, or editors' marks as JSON lines with the decisions and their inputs."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, closing
from dataclasses import dataclass
from datetime import UTC
from itertools import islice
from pathlib import Path
from typing import Annotated, BinaryIO, Literal

from typer import Argument, Option

from schemas.event import Event
from schemas.pages import ScoredPage
from schemas.review import DecisionReviewed
from streams.cli.command import AsJson, CommandError, Config, load_settings, run_with_kafka
from streams.cli.output import Exact, Refusals, say, say_json
from streams.cli.progress import ProgressLine, read_events
from streams.cli.tail import check_start, partitions_of, taken
from streams.kafka.settings import KafkaSettings
from streams.publish.sources import LineEvent
from streams.publish.tsv import row_of
from streams.runtime.terminal import dumped
from streams.settings.model import Settings
from streams.topology import DECISIONS_REVIEWED, PAGES_SCORED, Topic
from streams.topology.codec import decode, timestamp

Form = Literal["tsv", "reviews"]


@dataclass(kw_only=True)
class Export:
    """The options of an export, and its counts."""

    form: Annotated[Form, Argument(help="Scored pages as tsv, or reviews as JSON lines.")]
    start: Annotated[str, Option("--from", help="earliest, latest, or an offset.")] = "earliest"
    most: Annotated[int | None, Option("--limit", min=1, help="Stop after so many records.")] = None
    output: Annotated[Path | None, Option("--output", "-o", help="Output file; else standard output.")] = None
    newest: Annotated[bool, Option("--latest", help="Only the newest page of each address.")] = False
    source: Annotated[
        Path | None, Option("--input", help="Scored pages, one a line, without Kafka; - for standard input.")
    ] = None
    as_json: AsJson = False
    config: Config = None

    def __post_init__(self) -> None:
        # Progress would appear among rows on a terminal.
        self._quiet = self.output is None and sys.stdout.isatty()
        self._refusals = Refusals("export")
        self._counts = {"exported": 0}
        if self.form == "reviews":
            self._counts |= {"right": 0, "wrong": 0, "without_input": 0}

    def run(self, settings: Settings) -> int:
        self._check()
        began = time.monotonic()
        if self.source is not None:
            self._write_file(self.source)
        elif status := run_with_kafka("export", settings.with_kafka(), self._write_topic(settings.with_kafka().kafka)):
            return status
        counts = self._counts | {"refused": self._refusals.tell_rest()}
        self._print_summary(counts, time.monotonic() - began)
        return 1 if counts["refused"] else 0

    def _check(self) -> None:
        check_start(self.start)
        if self.form == "reviews" and (self.source or self.newest):
            named = "--input" if self.source else "--latest"
            why = "reviews come from their topic, and the newest of each decision counts"
            raise CommandError(f"leave {named} out: {why}", 2)
        if self.source and self.start != "earliest":
            raise CommandError("--from says where in the topic to begin; a file is read from its beginning", 2)

    def _print_summary(self, counts: dict[str, int], seconds: float) -> None:
        file = sys.stdout if self.output else sys.stderr
        if self.as_json:
            say_json({**counts, "seconds": round(seconds, 3)}, to=file)
            return
        where = f" to {self.output}" if self.output else ""
        exported = f"exported {counts['exported']}{where}"
        if self.form == "reviews":
            exported += " ({right} right, {wrong} wrong, {without_input} without their input)".format(**counts)
        say(f"{exported}, refused {counts['refused']}, in {seconds:.1f} s", to=file)
        if self.form == "reviews" and not counts["exported"]:
            todo = "mark decisions on the screen Review of `assay console`"
            say(f"no decision is reviewed yet: {todo}", to=sys.stderr)

    def _write_file(self, source: Path) -> None:
        with self._page_rows() as rows:
            for found in islice(read_events("export", source, PAGES_SCORED, quiet=self._quiet), self.most):
                if isinstance(page := self._event(found), ScoredPage):
                    rows.add(page)

    async def _write_topic(self, kafka: KafkaSettings) -> int:
        from streams.console.reviews import newest_marks

        topic = DECISIONS_REVIEWED if self.form == "reviews" else PAGES_SCORED
        # The output is opened only if the topic can be read.
        name = (await partitions_of(topic.name, kafka))[0].topic
        async with aclosing(self._records(topic, kafka, name)) as records:
            events = (self._event(record) async for record in records)
            if topic is DECISIONS_REVIEWED:
                marks = newest_marks([event async for event in events if isinstance(event, DecisionReviewed)])
                await self._write_reviews(kafka, list(marks.values()))
                return 0
            with self._page_rows() as rows:
                async for event in events:
                    if isinstance(event, ScoredPage):
                        rows.add(event)
        return 0

    async def _records(self, topic: Topic, kafka: KafkaSettings, name: str) -> AsyncGenerator[LineEvent, None]:
        from streams.kafka.log_reader import follow

        with ProgressLine("export", "exporting", quiet=self._quiet) as advance:
            async with aclosing(taken(follow(kafka, [name], self.start, to_end=True), self.most)) as records:
                async for record in records:
                    place = f"{name}/{record.partition}/{record.offset}"
                    at = timestamp(record.timestamp)
                    yield LineEvent(place, decode(topic, record.value, record.headers, at, record.key))
                    advance()

    def _event(self, found: LineEvent) -> Event | None:
        if isinstance(found.event, Event):
            return found.event
        self._refusals.add(f"{found.place}: {found.problem}")
        return None

    @contextlib.contextmanager
    def _page_rows(self) -> Iterator[PageRows]:
        with written(self.output) as target:
            rows = PageRows(target, newest=self.newest)
            yield rows
            self._counts["exported"] = rows.finish()

    async def _write_reviews(self, kafka: KafkaSettings, marks: list[DecisionReviewed]) -> None:
        from streams.console.reviews import joined

        with (
            written(self.output) as target,
            ProgressLine("export", "reading decisions", unit="reviews", quiet=self._quiet) as line,
        ):
            async with aclosing(joined(kafka, marks, line.set)) as rows:
                async for row in rows:
                    target.write(dumped(row).encode() + b"\n")
                    self._counts["exported"] += 1
                    self._counts["right" if row["right"] else "wrong"] += 1
                    self._counts["without_input"] += row["input"] is None or row["input"]["event"] is None


class PageRows:
    """A row for each page; with ``newest`` for each address, whose rows wait on the disk until the newest is known."""

    def __init__(self, target: BinaryIO | Exact, *, newest: bool = False) -> None:
        self._target = target
        self._waiting = sqlite3.connect("") if newest else None  # a temporary file
        if self._waiting is not None:
            self._waiting.execute("CREATE TABLE pages (url BLOB PRIMARY KEY, fetched REAL, place INTEGER, row BLOB)")
        self._count = 0

    def add(self, page: ScoredPage) -> None:
        self._count += 1
        if self._waiting is None:
            self._target.write(row_of(page))
            return
        at = page.fetched_at
        fetched = float("-inf") if at is None else (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
        self._waiting.execute(
            "INSERT INTO pages VALUES (?, ?, ?, ?) ON CONFLICT (url) DO UPDATE SET fetched = excluded.fetched,"
            " place = excluded.place, row = excluded.row WHERE excluded.fetched >= fetched",
            (page.url.encode("utf-8", "replace"), fetched, self._count, row_of(page)),
        )

    def finish(self) -> int:
        """Writes the rows that wait, in the order in which they came; returns the number of all rows."""
        if self._waiting is None:
            return self._count
        with closing(self._waiting) as pages:
            [count] = pages.execute("SELECT count(*) FROM pages").fetchone()
            for (row,) in pages.execute("SELECT row FROM pages ORDER BY place"):
                self._target.write(row)
        return int(count)


def export(options: Export) -> int:
    return options.run(load_settings(options.config))


@contextlib.contextmanager
def written(output: Path | None) -> Iterator[BinaryIO | Exact]:
    """A file, an existing device or pipe, or standard output where None; an exception removes the unfinished file."""
    try:
        if output is None:
            yield Exact()
            sys.stdout.flush()
        elif output.exists() and not output.is_file():
            with output.open("wb") as target:
                yield Exact(target)
        else:
            yield from _replaced(output.resolve())
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CommandError(f"{output or 'standard output'}: {error.strerror or error}") from None


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
