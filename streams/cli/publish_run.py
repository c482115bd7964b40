"""Reads and sends what is published: a resumable backfill with ``--run-id``, or live traffic without it.

A backfill commits its records and its position in the sources together, so the same command continues after a kill.
Live traffic is sent as it is read, and counted as the cluster acknowledges it.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from aiokafka.errors import KafkaError

from streams.cli.output import Refusals, tell
from streams.cli.progress import ProgressLine
from streams.kafka.clients import make_producer, opened
from streams.kafka.topics import create_topics
from streams.publish.entries import Refused, SourceError
from streams.publish.live import Sending
from streams.publish.refused_file import RefusedFile
from streams.publish.run_log import RunLog, RunSending, RunTakenError
from streams.publish.sources import Format
from streams.publish.walk import ChangedError, Position, Walk
from streams.settings.model import Settings
from streams.topology import Topic
from streams.topology.codec import OutputRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """What is published, and how.

    Attributes:
        run: The id of the backfill; None for live traffic.
        resume: The run must exist.
        stated: The format of lines; None derives it from the file's name.
        rate: Maximum records a second.
        config: The file of ``--config``, for the command that resumes the run.
        mode: "check" only validates; "estimate" also estimates the work of the handlers.
    """

    topic: Topic
    paths: Sequence[Path]
    run: str | None = None
    stated: Format | None = None
    refused: Path | None = None
    rate: float | None = None
    config: Path | None = None
    resume: bool = False
    mode: Literal["send", "check", "estimate"] = "send"
    as_json: bool = False


class Input:
    """The entries of a publication in order; counts and keeps the refused ones, and reports the first of them.

    Attributes:
        refusals: Entries of this call that were refused.
    """

    def __init__(self, asked: Publication) -> None:
        self.asked = asked
        self.refusals = Refusals("publish")
        self.file = RefusedFile(asked.refused)
        self.walk = Walk(asked.paths, asked.topic, asked.stated)
        self._entries = self.walk.entries()

    def progress(self, doing: str) -> ProgressLine:
        """Counts records, and takes the share and the time left from the bytes that were read."""
        return ProgressLine("publish", doing, self.walk.total, at=lambda: self.walk.done)

    async def resume(self, position: Position) -> int:
        """Skips to the position of a run; returns its entries up to there. Raises as ``Walk.pass_over``."""
        with self.progress("finding the place") as advance:
            passed = await self.walk.pass_over(self._entries, position, advance)
        self.file.kept = position.kept
        return passed

    async def records(self) -> AsyncIterator[OutputRecord | None]:
        """The record of each entry; None for a refused entry, which is in the file of refused entries by then.

        Raises:
            SourceError: With what to do.
        """
        with self.file.opened():
            async for entry in self._entries:
                await asyncio.sleep(0)  # lets Ctrl-C in, also if nothing else is awaited
                record = entry.record(self.asked.topic, self.asked.run)
                if isinstance(record, Refused):
                    self.refusals.add(f"{record.place}: {record.reason}")
                    self.file.add(record)
                    record = None
                yield record

    def tell_rest(self) -> None:
        """Reports how many more entries were refused than were reported one by one."""
        self.refusals.tell_rest("refused" if self.asked.refused else "refused; --refused FILE keeps them all")


async def send(source: Input, settings: Settings) -> int:
    """Publishes live traffic, or what a run has not published yet; returns as ``streams.cli.publish.run_publish``.

    Raises:
        KafkaError, TimeoutError: Kafka failed; the command that resumes a run was printed.
    """
    if settings.kafka.create_topics:
        await create_topics(settings.kafka)
    try:
        if (run := source.asked.run) is not None:
            return await _send_run(source, run, settings)
        async with opened(make_producer(settings.kafka, None, "assay.publish")) as producer:
            sending = Sending(producer, settings.kafka.topic_prefix, settings.kafka.transaction_timeout_seconds)
            return await _pass_on(source, sending, Position())
    except SourceError as error:
        return tell("publish", str(error), 2)


async def _send_run(source: Input, run: str, settings: Settings) -> int:
    topic = source.asked.topic
    log = RunLog(settings, topic, run)
    if source.asked.resume and await log.read() is None:
        return tell(
            "publish",
            f"Kafka knows no run {run!r} for {topic.name}; begin it with --run-id {run} (a run that has not moved for "
            "as long as Kafka keeps offsets, 7 days by default, is forgotten)",
            2,
        )
    try:
        entries = 0
        if (position := await log.open()) is not None:
            entries = await source.resume(position)
            before = f"{position.published} published, {position.refused} refused before"
            tell("publish", f"resuming run {run}: {before}")
        position = position or Position()
        return await _pass_on(source, RunSending(log, position, entries, settings.pipeline), position)
    except ChangedError as error:
        again = "publish what it is now as another run, under another --run-id"
        return tell("publish", f"run {run} can't go on: {error}; {again}", 2)
    except RunTakenError:
        return tell("publish", f"another copy of run {run} has taken over, so this one ends", 1)
    finally:
        await log.close()


async def _pass_on(source: Input, sending: Sending | RunSending, before: Position) -> int:
    """Sends what is behind the position, and prints the summary."""
    asked, taken = source.asked, 0
    began = time.monotonic()
    try:
        with source.progress(f"publishing to {asked.topic.name}") as advance:
            async for record in source.records():
                taken += record is not None
                counts = {
                    "published": before.published + taken,
                    "refused": before.refused + source.refusals.count,
                    "kept": source.file.kept,
                }
                await sending.passed(record, source.walk.tracker.at(before.model_copy(update=counts)))
                if record is not None:
                    advance()
                    if asked.rate:
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
        source.tell_rest()
        _summarize(asked, before, sending.committed, time.monotonic() - began)
    if sending.failure is not None:
        if asked.run is not None and not isinstance(sending.failure, RunTakenError):
            tell("publish", f"to resume later: {_command(asked, '--resume', asked.run)}")
        raise sending.failure
    return 1 if sending.committed.refused else 0


def _summarize(asked: Publication, before: Position, after: Position, seconds: float) -> None:
    published, refused = after.published - before.published, after.refused - before.refused
    document = {"published": published, "refused": refused, "seconds": round(seconds, 3)}
    line = f"published {published} to {asked.topic.name}, refused {refused}, in {seconds:.1f} s"
    if asked.run is not None:
        document |= {"run": asked.run, "run_published": after.published, "run_refused": after.refused}
        line += f"; run {asked.run} in all: {after.published} published, {after.refused} refused"
    print(json.dumps(document) if asked.as_json else line)


def _interrupted(asked: Publication, published: int) -> str:
    """What a second start does after Ctrl-C, and how a run that can be resumed is begun."""
    if asked.run is not None:
        return f"stopped; to resume: {_command(asked, '--resume', asked.run)}"
    again = f"a second start publishes {published} records again, under the same ids: readers that ignore known ids "
    return f"interrupted; {again}skip them. To be able to resume: {_command(asked, '--run-id', 'NAME')}"


def _command(asked: Publication, *run: str) -> str:
    """The command that publishes the same, with the options of a run."""
    rate = None if asked.rate is None else f"{asked.rate:g}"
    options = {"--format": asked.stated, "--rate": rate, "--refused": asked.refused, "--config": asked.config}
    words = ["assay", "publish", asked.topic.name, *map(str, asked.paths), *run]
    for option, value in options.items():
        words += [] if value is None else [option, str(value)]
    return shlex.join(words)
