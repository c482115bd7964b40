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
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from aiokafka.errors import KafkaError

from streams.cli.errors import run_with_kafka
from streams.cli.options import AsJson, Config, load_settings
from streams.cli.output import in_time, tell
from streams.cli.publish_input import Input, Publication, refusals_problem
from streams.cli.publish_progress import publish_progress
from streams.cli.publish_run import Backfill, Sending
from streams.codec import OutputRecord
from streams.kafka.clients import make_producer, opened
from streams.kafka.topics import create_topics
from streams.llm.journal import JournalError
from streams.publish.entries import SourceError
from streams.publish.sources import Format, check_source
from streams.replay.estimate import Estimate
from streams.settings import Settings
from streams.topology import TOPICS, no_such, topic_named


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
        Literal["jsonl", "tsv"] | None,
        typer.Option("--format", help="Format; derived from the file name by default."),
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
    """Publish events or pages, as live traffic or as a backfill that can be left alone."""
    if resume is not None and run_id is not None and resume != run_id:
        raise typer.BadParameter(f"--run-id {run_id} is another run", param_hint="'--resume'")
    settings = load_settings(config)
    return run_publish(
        topic,
        paths,
        settings if check or dry_run else settings.with_kafka(),
        as_json,
        rate,
        run_id if resume is None else resume,
        stated=lines,
        check_only=check,
        dry_run=dry_run,
        resume=resume is not None,
        refused=refused,
        config=config,
    )


async def check(source: Input, settings: Settings, as_json: bool, estimating: bool) -> int:
    """Reads and validates everything; no Kafka is needed (C-33).

    Args:
        source: What would be published.
        settings: The configuration that handlers would decide under.
        as_json: End with one JSON object.
        estimating: Also say what the handlers that read the topic, and those below them, would do and cost.

    Returns:
        0; 1 where something would be refused, or the journal of answers can't be read; 2 where a path can't be read.
    """
    checked, status = _Checked(source), 0
    estimate: Estimate | None = None
    began = time.monotonic()
    try:
        with publish_progress(f"checking for {source.asked.topic.name}", source.walk) as advance:
            async with aclosing(checked.records(advance)) as records:
                if estimating:
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
        checked.tell(time.monotonic() - began, estimate, as_json)
    return status or (1 if source.refused else 0)


class _Checked:
    """The records that would be sent, counted as they are read."""

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

    def tell(self, seconds: float, estimate: Estimate | None, as_json: bool) -> None:
        asked, refused = self._source.asked, self._source.refused
        at_rate = self._valid / asked.rate if asked.rate else None
        if as_json:
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

            print("\nwhat comes of it:")
            show_estimate(estimate)


_RUN_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")


def run_publish(
    topic: str,
    paths: Sequence[Path],
    settings: Settings,
    as_json: bool,
    rate: float | None = None,
    run_id: str | None = None,
    stated: Format | None = None,
    check_only: bool = False,
    dry_run: bool = False,
    resume: bool = False,
    refused: Path | None = None,
    config: Path | None = None,
) -> int:
    """Publishes every record of every path, or only says what of it could be.

    Args:
        topic: Logical name.
        paths: See ``streams.publish.sources.read_source``; ``-`` is standard input.
        settings: The configuration; a Kafka is named in it, unless nothing is to be sent.
        as_json: End with one line ``{"published", "refused", "seconds"}``, of a run with its figures in all.
        rate: Records a second at most.
        run_id: Marks the records as a backfill (R-009). A run that was begun goes on where it was.
        stated: How lines are written; as a file's name says, and JSON on standard input, where None.
        check_only: Read and validate everything, and send nothing; no Kafka is needed (C-33).
        dry_run: The same, and say what handlers would do with it and what that would cost.
        resume: The run must have been begun.
        refused: A file that keeps whatever is refused, one JSON object a line.
        config: The file that the settings were read from, for the command that goes on with a run.

    Returns:
        0 when all was published; 1 where something was refused, Kafka failed or another copy of the run took over; 2
        for an unknown topic or run, a rate that is none, a path that can't be read, does not go with the topic or is
        not what the run read before; 130 after Ctrl-C.
    """
    found = topic_named(topic)
    if found is None:
        tell("publish", no_such("topic", topic, [known.name for known in TOPICS]))
        return 2
    asked = Publication(topic=found, paths=paths, run=run_id, stated=stated, refused=refused, rate=rate, config=config)
    if wrong := _wrong(asked):
        tell("publish", wrong)
        return 2
    if check_only or dry_run:
        return run_with_kafka("publish", settings, check(Input(asked), settings, as_json, dry_run))
    if run_id is None:
        return run_with_kafka("publish", settings, _publish(Input(asked), settings, as_json))
    return run_with_kafka("publish", settings, Backfill(asked, run_id, settings, as_json).go(resume))


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


async def _publish(source: Input, settings: Settings, as_json: bool) -> int:
    topic, rate = source.asked.topic.name, source.asked.rate
    if settings.kafka.create_topics:
        await create_topics(settings.kafka)
    async with opened(make_producer(settings.kafka, None, "assay.publish")) as producer:
        sending = Sending(producer, settings.kafka.topic_prefix, settings.kafka.transaction_timeout_seconds)
        status = 0
        began = time.monotonic()
        try:
            with publish_progress(f"publishing to {topic}", source.walk) as advance:
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
        finally:
            # Also after Ctrl-C: what was sent is waited for, and told.
            await sending.stop()
            source.tell_rest()
            seconds = round(time.monotonic() - began, 3)
            if as_json:
                print(json.dumps({"published": sending.acknowledged, "refused": source.refused, "seconds": seconds}))
            else:
                print(f"published {sending.acknowledged} to {topic}, refused {source.refused}, in {seconds:.1f} s")
    if sending.failure is not None:
        raise sending.failure
    return status or (1 if source.refused else 0)
