"""``assay publish``: publishes events or pages from files or standard input, as live traffic or as a backfill.

``--check`` and ``--dry-run`` validate and estimate, and send nothing.

Examples:
    assay publish pages.crawled.v1 pages.jsonl
    assay publish pages.crawled.v1 crawl-2026-11/ --run-id november --rate 200 --refused refused.jsonl
    assay publish pages.crawled.v1 crawl-2026-11/ --resume november
    assay publish pages.crawled.v1 pages.tsv --check
    assay publish claims.extracted.v1 claims.jsonl --dry-run --rate 50
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Annotated, Any

import typer
from aiokafka.errors import KafkaError

from streams.cli.errors import run_with_kafka
from streams.cli.options import AsJson, Config, load_settings
from streams.cli.output import tell
from streams.cli.publish_input import Input, Publication, refusals_problem
from streams.cli.publish_run import Backfill, Sending, command_of
from streams.kafka.clients import make_producer, opened
from streams.kafka.topics import create_topics
from streams.llm.journal import JournalError
from streams.publish.entries import SourceError
from streams.publish.sources import Format, check_source
from streams.replay.estimate import Estimate
from streams.settings.model import Settings
from streams.topology import DECISIONS_REVIEWED, TOPICS, no_such, topic_named
from streams.topology.codec import OutputRecord
from streams.views.amounts import in_time


def publish(
    topic: Annotated[str, typer.Argument(help="Such as pages.crawled.v1.")],
    paths: Annotated[
        list[Path], typer.Argument(help="JSON lines, TSV, a page folder, cases.jsonl; - for standard input.")
    ],
    rate: Annotated[float | None, typer.Option(help="Maximum records a second.")] = None,
    run_id: Annotated[
        str | None, typer.Option("--run-id", help="Publish as a backfill with this id, which can be resumed.")
    ] = None,
    resume: Annotated[str | None, typer.Option("--resume", help="Resume this run; it must exist.")] = None,
    refused: Annotated[Path | None, typer.Option("--refused", help="A file for refused entries.")] = None,
    lines: Annotated[
        Format | None, typer.Option("--format", help="Format; derived from the file name by default.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Only validate; nothing is sent, and no Kafka is needed.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Validate, and estimate the time and the costs of handlers.")
    ] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Publish events or pages, as live traffic or as a backfill that can be resumed."""
    if resume is not None and run_id is not None and resume != run_id:
        raise typer.BadParameter(f"--run-id {run_id} is another run", param_hint="'--resume'")
    if (found := topic_named(topic)) is None:
        return tell("publish", no_such("topic", topic, [known.name for known in TOPICS]), 2)
    if found is DECISIONS_REVIEWED:
        return tell("publish", f"only the console writes {topic}: see `assay console`, screen Review", 2)
    asked = Publication(
        topic=found,
        paths=paths,
        run=run_id if resume is None else resume,
        resume=resume is not None,
        stated=lines,
        refused=refused,
        rate=rate,
        config=config,
        mode="estimate" if dry_run else "check" if check else "send",
        as_json=as_json,
    )
    settings = load_settings(config)
    return run_publish(settings.with_kafka() if asked.mode == "send" else settings, asked)


def run_publish(settings: Settings, asked: Publication) -> int:
    """Publishes every record of every path, or only checks them, which needs no Kafka (C-33).

    Returns:
        0; 1 if a record was refused, Kafka failed, or another copy of the run took over; 2 for wrong usage, an
        unreadable path, and a source that has changed since the run read it; 130 after Ctrl-C.
    """
    if wrong := _wrong(asked):
        return tell("publish", wrong, 2)
    if asked.mode != "send":
        return run_with_kafka("publish", settings, _check(Input(asked), settings))
    if asked.run is None:
        return run_with_kafka("publish", settings, _publish(Input(asked), settings))
    return run_with_kafka("publish", settings, Backfill(asked, asked.run, settings).go())


_RUN_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")


def _wrong(asked: Publication) -> str | None:
    if asked.rate is not None and not 0 < asked.rate < math.inf:
        return f"--rate takes a number above 0, not {asked.rate:g}"
    if asked.run is not None and not _RUN_ID.fullmatch(asked.run):
        return f"a run id is 1 to 100 letters, digits, dots, underscores or hyphens, not {asked.run!r}"
    try:
        if (wrong := refusals_problem(asked)) is not None:
            return wrong
        for path in asked.paths:
            check_source(path, asked.topic, asked.stated)
    except SourceError as error:
        return str(error)
    return None


async def _check(source: Input, settings: Settings) -> int:
    """Reads and validates everything, and in the mode "estimate" also estimates what its handlers would do and cost."""
    checked, status = _Checked(source), 0
    estimate: Estimate | None = None
    began = time.monotonic()
    try:
        with source.progress(f"checking for {source.asked.topic.name}") as advance:
            async with aclosing(checked.records(advance)) as records:
                if source.asked.mode == "estimate":
                    from streams.replay.estimate import estimate_source

                    estimate = await estimate_source(settings, source.asked.topic, records, rate=source.asked.rate)
                else:
                    async for _ in records:
                        pass
    except SourceError as error:
        tell("publish", str(error))
        status = 2
    except JournalError as error:
        tell("publish", f"the journal of answers can't be read: {error}")
        status = 1
    finally:
        source.tell_rest()
        checked.summarize(time.monotonic() - began, estimate)
    return status or (1 if source.refusals.count else 0)


class _Checked:
    """Counts the records that would be sent."""

    def __init__(self, source: Input) -> None:
        self._source = source
        self._valid = 0
        self._bytes = 0

    async def records(self, advance: Callable[[], None]) -> AsyncGenerator[OutputRecord, None]:
        async for record in self._source.records():
            if record is not None:
                self._valid += 1
                self._bytes += record.size
                advance()
                yield record

    def summarize(self, seconds: float, estimate: Estimate | None) -> None:
        asked, refused = self._source.asked, self._source.refusals.count
        at_rate = self._valid / asked.rate if asked.rate else None
        if asked.as_json:
            told: dict[str, Any] = {"published": 0, "valid": self._valid, "refused": refused}
            told |= {"seconds": round(seconds, 3), "bytes": self._bytes, "seconds_at_rate": at_rate}
            print(json.dumps(told | ({"estimate": estimate.to_wire()} if estimate is not None else {})))
            return
        long = f", {in_time(at_rate)} at {asked.rate:g} a second" if at_rate is not None else ""
        print(
            f"{self._valid} valid for {asked.topic.name} ({self._bytes:,} bytes{long}), {refused} refused, in "
            f"{seconds:.1f} s; nothing was sent"
        )
        if estimate is not None and estimate.handlers:
            from streams.cli.replay_reports import show_estimate

            print("\nwhat its handlers would do:")
            show_estimate(estimate)


async def _publish(source: Input, settings: Settings) -> int:
    topic, rate = source.asked.topic.name, source.asked.rate
    if settings.kafka.create_topics:
        await create_topics(settings.kafka)
    async with opened(make_producer(settings.kafka, None, "assay.publish")) as producer:
        sending = Sending(producer, settings.kafka.topic_prefix, settings.kafka.transaction_timeout_seconds)
        status = 0
        interrupted = False
        began = time.monotonic()
        try:
            with source.progress(f"publishing to {topic}") as advance:
                async for record in source.records():
                    if record is None:
                        continue
                    await sending.send(record)
                    advance()
                    if rate:
                        await asyncio.sleep(max(0.0, sending.sent / rate - (time.monotonic() - began)))
        except SourceError as error:
            tell("publish", str(error))
            status = 2
        except KafkaError as error:
            sending.failure = error
        except asyncio.CancelledError:
            interrupted = True
            raise
        finally:
            # Also after Ctrl-C: wait for the records that were sent, and print the summary.
            await sending.stop()
            source.tell_rest()
            seconds, refused = round(time.monotonic() - began, 3), source.refusals.count
            if source.asked.as_json:
                print(json.dumps({"published": sending.acknowledged, "refused": refused, "seconds": seconds}))
            else:
                print(f"published {sending.acknowledged} to {topic}, refused {refused}, in {seconds:.1f} s")
            if interrupted:
                tell("publish", _repeated(source.asked, sending.acknowledged))
    if sending.failure is not None:
        raise sending.failure
    return status or (1 if source.refusals.count else 0)


def _repeated(asked: Publication, published: int) -> str:
    """What a second start does after Ctrl-C, and how a run that can be resumed is begun."""
    again = f"a second start publishes {published} records again, under the same ids: readers that ignore known ids "
    return f"interrupted; {again}skip them. To be able to resume: {command_of(asked, '--run-id', 'NAME')}"
