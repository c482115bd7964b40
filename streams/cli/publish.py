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

import json
import math
import re
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Annotated, Any

import typer

from streams.cli.errors import run_with_kafka
from streams.cli.options import AsJson, Config, load_settings
from streams.cli.output import tell
from streams.cli.publish_run import Input, Publication, send
from streams.llm.journal import JournalError
from streams.publish.entries import SourceError
from streams.publish.refused_file import RefusedFile
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
    source = Input(asked)
    return run_with_kafka("publish", settings, (send if asked.mode == "send" else _check)(source, settings))


_RUN_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")


def _wrong(asked: Publication) -> str | None:
    if asked.rate is not None and not 0 < asked.rate < math.inf:
        return f"--rate takes a number above 0, not {asked.rate:g}"
    if asked.run is not None and not _RUN_ID.fullmatch(asked.run):
        return f"a run id is 1 to 100 letters, digits, dots, underscores or hyphens, not {asked.run!r}"
    try:
        if (wrong := RefusedFile(asked.refused).problem(asked.paths)) is not None:
            return wrong
        for path in asked.paths:
            check_source(path, asked.topic, asked.stated)
    except SourceError as error:
        return str(error)
    return None


async def _check(source: Input, settings: Settings) -> int:
    """Reads and validates everything, and in the mode "estimate" also estimates what its handlers would do and cost."""
    asked = source.asked
    valid = size = status = 0
    estimate: Estimate | None = None
    began = time.monotonic()

    async def valid_records(advance: Callable[[], None]) -> AsyncGenerator[OutputRecord, None]:
        nonlocal valid, size
        async for record in source.records():
            if record is not None:
                valid, size = valid + 1, size + record.size
                advance()
                yield record

    try:
        with source.progress(f"checking for {asked.topic.name}") as advance:
            async with aclosing(valid_records(advance)) as records:
                if asked.mode == "estimate":
                    from streams.replay.estimate import estimate_source

                    estimate = await estimate_source(settings, asked.topic, records, rate=asked.rate)
                else:
                    async for _ in records:
                        pass
    except SourceError as error:
        status = tell("publish", str(error), 2)
    except JournalError as error:
        status = tell("publish", f"the journal of answers can't be read: {error}", 1)
    finally:
        source.tell_rest()
        _summarize(source, valid, size, time.monotonic() - began, estimate)
    return status or (1 if source.refusals.count else 0)


def _summarize(source: Input, valid: int, size: int, seconds: float, estimate: Estimate | None) -> None:
    asked, refused = source.asked, source.refusals.count
    at_rate = valid / asked.rate if asked.rate else None
    if asked.as_json:
        document: dict[str, Any] = {"published": 0, "valid": valid, "refused": refused}
        document |= {"seconds": round(seconds, 3), "bytes": size, "seconds_at_rate": at_rate}
        print(json.dumps(document | ({"estimate": estimate.to_wire()} if estimate is not None else {})))
        return
    long = f", {in_time(at_rate)} at {asked.rate:g} a second" if at_rate is not None else ""
    print(
        f"{valid} valid for {asked.topic.name} ({size:,} bytes{long}), {refused} refused, in {seconds:.1f} s; "
        "nothing was sent"
    )
    if estimate is not None and estimate.handlers:
        from streams.cli.replay_reports import show_estimate

        print("\nwhat its handlers would do:")
        show_estimate(estimate)
