"""``assay publish``: publishes events or pages from files or standard input, as live traffic or as a backfill."""

from __future__ import annotations

import asyncio
import math
import re
import shlex
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, BadParameter, Option

from schemas.event import Run
from streams.cli.command import AsJson, CommandError, Config, find_topic, load_settings, run_with_kafka
from streams.cli.output import Refusals, say, show, tell
from streams.cli.progress import ProgressLine
from streams.publish.entries import Refused
from streams.publish.sources import Format, check_source
from streams.publish.walk import ChangedError, Position, RefusedFile, Walk
from streams.runtime.amounts import in_kinds, in_time
from streams.settings.model import Settings
from streams.topology import DECISIONS_REVIEWED
from streams.topology.codec import OutputRecord

if TYPE_CHECKING:
    from streams.publish.sending import Sending
    from streams.replay.estimate import Estimate


def publish(asked: Publication) -> int:
    settings = load_settings(asked.config)
    return run_publish(settings.with_kafka() if asked.sends else settings, asked)


def run_publish(settings: Settings, asked: Publication) -> int:
    return run_with_kafka("publish", settings, (_send if asked.sends else _check)(asked, settings))


_RUN_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")


@dataclass(kw_only=True)
class Publication:
    """What is published, and its entries in order; counts and keeps the refused ones, and reports the first of them.

    Raises BadParameter, CommandError, SourceError: the options contradict each other, or a path can't be used.
    """

    topic: Annotated[str, Argument(help="Such as pages.crawled.v1.")]
    paths: Annotated[list[Path], Argument(help="JSON lines, TSV, a page folder, cases.jsonl; - for standard input.")]
    rate: Annotated[float | None, Option(help="Maximum records a second.")] = None
    run_id: Annotated[str | None, Option(help="Publish as a backfill with this id, which can be resumed.")] = None
    resume: Annotated[str | None, Option(help="Resume this run; it must exist.")] = None
    refused: Annotated[Path | None, Option(help="A file for refused entries.")] = None
    lines: Annotated[
        Format | None,
        Option("--format", help="By default by the file name; removed: addresses of pages that are gone."),
    ] = None
    check: Annotated[bool, Option("--check", help="Only validate; nothing is sent, and no Kafka is needed.")] = False
    dry_run: Annotated[bool, Option("--dry-run", help="Validate, and estimate the time and the costs of handlers.")] = (
        False
    )
    as_json: AsJson = False
    config: Config = None

    def __post_init__(self) -> None:
        if self.resume is not None and self.run_id is not None and self.resume != self.run_id:
            raise BadParameter(f"--run-id {self.run_id} is another run", param_hint="'--resume'")
        if self.rate is not None and not 0 < self.rate < math.inf:
            raise CommandError(f"--rate takes a number above 0, not {self.rate:g}", 2)
        self.run = self.run_id if self.resume is None else self.resume
        if self.run is not None and not _RUN_ID.fullmatch(self.run):
            wrong = f"a run id is 1 to 100 letters, digits, dots, underscores or hyphens, not {self.run!r}"
            raise CommandError(wrong, 2)
        self.to = find_topic(self.topic)
        if self.to is DECISIONS_REVIEWED:
            raise CommandError(f"only the console writes {self.topic}: see `assay console`, screen Review", 2)
        if self.lines == "removed" and not self.to.raw_pages:
            raise BadParameter(f"{self.topic} does not take pages", param_hint="'--format'")
        self.sends = not (self.check or self.dry_run)
        self.file = RefusedFile(self.refused)
        self.file.check(self.paths)
        for path in self.paths:
            check_source(path, self.to, self.lines)
        self._began = Run(self.run, datetime.now(UTC)) if self.run else None
        self.refusals = Refusals("publish")
        self.walk = Walk(self.paths, self.to, self.lines)
        self._entries = self.walk.entries()

    def progress(self, doing: str) -> ProgressLine:
        return ProgressLine("publish", doing, self.walk.total, at=lambda: self.walk.done)

    async def pass_over(self, position: Position) -> None:
        with self.progress("finding the place") as advance:
            await self.walk.pass_over(self._entries, position, advance)
        self.file.kept = position.kept

    async def records(self) -> AsyncIterator[OutputRecord | None]:
        """The record of each entry; None for a refused entry, which is in the file of refused entries by then."""
        with self.file.opened():
            async for entry in self._entries:
                await asyncio.sleep(0)  # lets Ctrl-C in, also if nothing else is awaited
                record = entry.record(self.to, self._began)
                if isinstance(record, Refused):
                    self.refusals.add(f"{record.place}: {record.reason}")
                    self.file.add(record)
                    record = None
                yield record

    def summarize(self, document: dict[str, Any], line: str, seconds: float, end: str = "") -> None:
        self.refusals.tell_rest("refused" if self.refused else "refused; --refused FILE keeps them all")
        kinds = in_kinds(self.walk.passed)
        document = document | {"passed_over": dict(self.walk.passed), "seconds": round(seconds, 3)}
        show(self.as_json, document, f"{line}{f', {kinds}' if kinds else ''}, in {seconds:.1f} s{end}")

    def command(self, *run: str) -> str:
        """The command line that publishes the same as another run, or goes on with this one."""
        rate = None if self.rate is None else f"{self.rate:g}"
        options = {"--format": self.lines, "--rate": rate, "--refused": self.refused, "--config": self.config}
        given = [str(word) for pair in options.items() if pair[1] is not None for word in pair]
        return shlex.join(["assay", "publish", self.topic, *map(str, self.paths), *run, *given])


async def _check(asked: Publication, settings: Settings) -> int:
    valid = size = 0
    estimate: Estimate | None = None
    began = time.monotonic()

    async def valid_records(advance: Callable[[int], None]) -> AsyncGenerator[OutputRecord, None]:
        nonlocal valid, size
        async for record in asked.records():
            if record is not None:
                valid, size = valid + 1, size + record.size
                yield record
            advance(record is not None)

    try:
        with asked.progress(f"checking for {asked.topic}") as advance:
            async with aclosing(valid_records(advance)) as records:
                if asked.dry_run:
                    from streams.replay.estimate import estimate_source

                    estimate = await estimate_source(settings, asked.to, records, rate=asked.rate)
                else:
                    async for _ in records:
                        pass
    finally:
        _summarize_checked(asked, valid, size, time.monotonic() - began, estimate)
    return 1 if asked.refusals.count else 0


def _summarize_checked(asked: Publication, valid: int, size: int, seconds: float, estimate: Estimate | None) -> None:
    refused = asked.refusals.count
    at_rate = valid / asked.rate if asked.rate else None
    document: dict[str, Any] = {"published": 0, "valid": valid, "refused": refused, "bytes": size}
    document |= {"seconds_at_rate": at_rate} | ({"estimate": estimate.to_wire()} if estimate else {})
    long = f", {in_time(at_rate)} at {asked.rate:g} a second" if at_rate is not None else ""
    counts = f"{valid} valid for {asked.topic} ({size:,} bytes{long}), {refused} refused"
    asked.summarize(document, counts, seconds, "; nothing was sent")
    if estimate and estimate.handlers and not asked.as_json:
        from streams.cli.replay_run import show_estimate

        say("", "what its handlers would do:")
        show_estimate(estimate)


async def _send(asked: Publication, settings: Settings) -> int:
    from streams.kafka.clients import make_producer, opened
    from streams.kafka.topics import create_topics
    from streams.publish.sending import LiveLog, Sending

    if settings.kafka.create_topics:
        await create_topics(settings.kafka)
    if (run := asked.run) is not None:
        return await _send_run(asked, run, settings)
    async with opened(make_producer(settings.kafka, None, "assay.publish")) as producer:
        log = LiveLog(producer, settings.kafka.topic_prefix, settings.kafka.transaction_timeout_seconds)
        return await _pass_on(asked, Sending(log, Position(), settings.pipeline), Position())


async def _send_run(asked: Publication, run: str, settings: Settings) -> int:
    from streams.publish.sending import RunLog, RunTakenError, Sending

    log = RunLog(settings, asked.to, run)
    if asked.resume is not None and await log.read() is None:
        kept = "a run that has not moved for as long as Kafka keeps offsets, 7 days by default, is forgotten"
        raise CommandError(f"Kafka knows no run {run!r} for {asked.topic}; begin it with --run-id {run} ({kept})", 2)
    try:
        if (position := await log.open()) is not None:
            await asked.pass_over(position)
            before = f"{position.published} published, {position.refused} refused before"
            tell("publish", f"resuming run {run}: {before}")
        position = position or Position()
        return await _pass_on(asked, Sending(log, position, settings.pipeline), position)
    except ChangedError as error:
        again = "publish what it is now as another run, under another --run-id"
        raise CommandError(f"run {run} can't go on: {error}; {again}", 2) from None
    except RunTakenError:
        raise CommandError(f"another copy of run {run} has taken over, so this one ends") from None
    finally:
        await log.close()


async def _pass_on(asked: Publication, sending: Sending, before: Position) -> int:
    from aiokafka.errors import KafkaError

    from streams.publish.sending import RunTakenError

    taken = 0
    began = time.monotonic()
    try:
        with asked.progress(f"publishing to {asked.topic}") as advance:
            async for record in asked.records():
                taken += record is not None
                counts = {"published": before.published + taken, "refused": before.refused + asked.refusals.count}
                counts["kept"] = asked.file.kept
                await sending.passed(record, asked.walk.tracker.at(before.model_copy(update=counts)))
                advance(record is not None)
                if asked.rate and record is not None:
                    await asyncio.sleep(max(0.0, taken / asked.rate - (time.monotonic() - began)))
    except (KafkaError, RunTakenError, TimeoutError) as error:
        sending.failure = sending.failure or error
    except asyncio.CancelledError:
        await sending.stop()
        tell("publish", _interrupted(asked, sending.committed.published))
        raise
    finally:
        # Also after Ctrl-C: waits for the records that were sent, and prints the summary.
        await sending.stop()
        _summarize_sent(asked, before, sending.committed, time.monotonic() - began)
    if sending.failure is not None:
        if asked.run is not None and not isinstance(sending.failure, RunTakenError):
            tell("publish", f"to resume later: {asked.command('--resume', asked.run)}")
        raise sending.failure
    return 1 if sending.committed.refused else 0


def _summarize_sent(asked: Publication, before: Position, after: Position, seconds: float) -> None:
    document: dict[str, Any] = {name: getattr(after, name) - getattr(before, name) for name in ("published", "refused")}
    line, end = f"published {document['published']} to {asked.topic}, refused {document['refused']}", ""
    if asked.run is not None:
        document |= {"run": asked.run, "run_published": after.published, "run_refused": after.refused}
        end = f"; run {asked.run} in all: {after.published} published, {after.refused} refused"
    asked.summarize(document, line, seconds, end)


def _interrupted(asked: Publication, published: int) -> str:
    if asked.run is not None:
        return f"stopped; to resume: {asked.command('--resume', asked.run)}"
    again = f"a second start publishes {published} records again, under the same ids: readers that ignore known ids "
    return f"interrupted; {again}skip them. To be able to resume: {asked.command('--run-id', 'NAME')}"
