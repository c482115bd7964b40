"""``assay export``: writes scored pages as TSV, from their topic or from a file.

An export contains what the topic holds when the command starts. ``--latest`` keeps the newest page of each address. The
output file appears as a whole at the end: it is written beside its place and then moved. Rows that are published again
get the same scores (see ``streams.publish.tsv``).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any, BinaryIO, Literal

import typer
from aiokafka import TopicPartition
from pydantic import ValidationError
from pydantic_core import from_json

from schemas.outcome import Dead
from schemas.pages import ScoredPage
from streams.cli import handler_trial
from streams.cli.errors import run_with_kafka
from streams.cli.options import AsJson, Config, load_settings
from streams.cli.output import tell
from streams.cli.progress import with_progress
from streams.cli.tail import is_start, no_topic, partitions_of, seek_to
from streams.codec import decode, refusal, timestamp
from streams.kafka.clients import make_reader, opened
from streams.kafka.log_reader import records_between
from streams.kafka.settings import KafkaSettings
from streams.publish.lines import STANDARD_INPUT, read_lines
from streams.publish.sources import LARGEST_LINE, STANDARD_INPUT_PATH
from streams.publish.tsv import row_of
from streams.settings import Settings
from streams.topology import PAGES_SCORED


def export(
    form: Annotated[Literal["tsv"], typer.Argument(help="The output format.")],  # noqa: ARG001 - there is one so far
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
    """Write scored pages as TSV, for `assay publish` or other tools."""
    settings = load_settings(config)
    what = Export(start, most, output, newest, source)
    return run_export(what, settings if source else settings.with_kafka(), as_json)


class FileError(Exception):
    """A file can't be read or written; the text says which and why."""


@contextlib.contextmanager
def written(output: Path | None) -> Iterator[BinaryIO]:
    """Something to write rows to. What was begun is taken away where the block is left by an exception.

    Args:
        output: A file, or a device or pipe that is there already; standard output where None.

    Raises:
        FileError: It can't be written.
        BrokenPipeError: Nobody reads standard output any more.
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


_SHOWN_REFUSALS = 20
_FORMS = "neither a scored page nor a line of `assay tail --json` or `assay try score_page` that holds one"

Found = tuple[str, ScoredPage | str]
"""Where something stands, and the page that it is, or why it is none."""


@dataclass(frozen=True, slots=True)
class Export:
    """What is exported, and where to.

    Attributes:
        start: ``earliest``, ``latest`` or an offset, in each partition.
        most: Records that are read at most.
        output: A file, which is there as a whole or not at all; standard output where None.
        newest: Of each address the newest page only.
        source: A file of scored pages, one JSON object a line, as they travel or as ``assay tail --json`` and
            ``assay try score_page`` write them; ``-`` is standard input. The topic where None.
    """

    start: str = "earliest"
    most: int | None = None
    output: Path | None = None
    newest: bool = False
    source: Path | None = None


def run_export(export: Export, settings: Settings, as_json: bool = False) -> int:
    """Writes scored pages as TSV.

    Args:
        export: What, and where to.
        settings: The configuration; a Kafka is named in it, unless pages come from a file.
        as_json: End with one line ``{"exported", "refused", "seconds"}``. It goes to standard error where the rows go
            to standard output.

    Returns:
        0; 1 where a record is no scored page, or Kafka or a file failed; 2 for a start that is none, or a topic that
        isn't there; 130 after Ctrl-C. But for 0, and 1 for such records, no file is written.
    """
    if not is_start(export.start):
        tell("export", f"--from takes earliest, latest or an offset, not {export.start!r}")
        return 2
    if export.source is not None and export.start != "earliest":
        tell("export", "--from says where in the topic to begin; a file is read from its beginning")
        return 2
    return run_with_kafka("export", settings, _export(export, settings, as_json))


async def _export(export: Export, settings: Settings, as_json: bool) -> int:
    began = time.monotonic()
    refused = read = 0
    try:
        with written(export.output) as target:
            rows = NewestRows(target) if export.newest else EveryRow(target)
            found = _from_topic(export, settings.kafka) if export.source is None else _from_file(export.source, export)
            async with contextlib.aclosing(found):
                async for place, page in found:
                    if isinstance(page, ScoredPage):
                        rows.add(page)
                    else:
                        refused += 1
                        if refused <= _SHOWN_REFUSALS:
                            tell("export", f"{place}: {page}")
                    read += 1
                    if read == export.most:
                        break
                    await asyncio.sleep(0)  # lets Ctrl-C in, also where nothing else is waited for
            rows.finish()
    except FileError as error:
        tell("export", str(error))
        return 1
    except _UsageError as error:
        tell("export", str(error))
        return 2
    if refused > _SHOWN_REFUSALS:
        tell("export", f"and {refused - _SHOWN_REFUSALS} more refused")
    _summarize(rows.count, refused, time.monotonic() - began, export.output, as_json)
    return 1 if refused else 0


class _UsageError(Exception):
    """What was asked for is not there; the text says what to do."""


def _summarize(exported: int, refused: int, seconds: float, output: Path | None, as_json: bool) -> None:
    told = sys.stdout if output else sys.stderr
    if as_json:
        print(json.dumps({"exported": exported, "refused": refused, "seconds": round(seconds, 3)}), file=told)
    else:
        where = f" to {output}" if output else ""
        print(f"exported {exported}{where}, refused {refused}, in {seconds:.1f} s", file=told)


async def _from_topic(export: Export, kafka: KafkaSettings) -> AsyncGenerator[Found, None]:
    """Every committed record from the start to the end as it is now."""
    name = PAGES_SCORED.name
    partitions = await partitions_of(name, kafka)
    if not partitions:
        raise _UsageError(no_topic(name, kafka))
    async with opened(make_reader(kafka)) as reader:
        reader.assign(partitions)
        ends = await reader.end_offsets(partitions)
        await seek_to(reader, partitions, ends, export.start)
        reader.pause(*partitions)
        spans = {partition: (await reader.position(partition), end) for partition, end in ends.items()}
        left = {partition: max(0, end - start) for partition, (start, end) in spans.items()}
        # The end is that of what is committed, so nothing but a cluster that fell silent holds it back.
        patience = kafka.transaction_timeout_seconds
        with _progress(sum(left.values()), export.output) as at:
            async with contextlib.aclosing(records_between(reader, spans, patience_seconds=patience)) as records:
                async for record in records:
                    event = decode(PAGES_SCORED, record.value, record.headers, timestamp(record.timestamp))
                    yield f"{record.partition}/{record.offset}", _page_or_why(event)
                    partition = TopicPartition(record.topic, record.partition)
                    left[partition] = ends[partition] - record.offset - 1
                    at(sum(left.values()))


async def _from_file(source: Path, export: Export) -> AsyncGenerator[Found, None]:
    name, number = "standard input" if source == STANDARD_INPUT_PATH else str(source), 0
    try:
        async for line in _lines_of(source, export):
            number += 1
            if line is None:
                yield f"{name}:{number}", f"the line is longer than {LARGEST_LINE} bytes"
            elif line.strip():
                for value in _values(line):
                    yield f"{name}:{number}", value
    except OSError as error:
        raise FileError(f"{name}: {error.strerror or error}") from None


async def _lines_of(source: Path, export: Export) -> AsyncGenerator[bytes | None, None]:
    """The lines of a file or of standard input; None for one that is too long."""
    if source == STANDARD_INPUT_PATH:
        async for line in read_lines(STANDARD_INPUT, LARGEST_LINE):
            yield line
        return
    shown = source if _shows_progress(export.output) else None
    with source.open("rb") as opened, with_progress(opened, shown) as watched:
        for read in handler_trial.read_lines(watched):
            yield None if isinstance(read, Dead) else read


def _values(line: bytes) -> Iterator[ScoredPage | str]:
    """The pages of a line, whichever of the forms it has."""
    try:
        document: Any = from_json(line)
    except ValueError as error:
        yield f"no JSON: {error}"
        return
    events = document.get("events", [document]) if isinstance(document, dict) else None
    if not isinstance(events, list) or not events:
        yield _FORMS
        return
    for event in events:
        try:
            yield ScoredPage.model_validate(event.get("value", event) if isinstance(event, dict) else event)
        except ValidationError as error:
            yield refusal(error).detail


def _page_or_why(event: object) -> ScoredPage | str:
    if isinstance(event, Dead):
        return f"{event.reason}: {event.detail}"
    return event if isinstance(event, ScoredPage) else _FORMS


def _shows_progress(output: Path | None) -> bool:
    """Only where it is seen, and not among the rows."""
    return sys.stderr.isatty() and (output is not None or not sys.stdout.isatty())


@contextlib.contextmanager
def _progress(total: int, output: Path | None) -> Iterator[Callable[[int], None]]:
    """Something to tell how many records are left."""
    if not _shows_progress(output):
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(f"exporting {PAGES_SCORED.name}", total=total)
        yield lambda left: progress.update(task, completed=total - left)
