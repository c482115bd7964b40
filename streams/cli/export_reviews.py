"""``assay export reviews``: writes editors' marks as JSON lines, each with the decision and its input.

A decision is one row: its newest mark counts. A row whose decision or input is gone names that in ``missing``.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from contextlib import aclosing

from schemas.review import DecisionReviewed
from streams.cli.errors import run_with_kafka
from streams.cli.export_intake import (
    ExportOptions,
    FileError,
    Intake,
    refused_start,
    topic_events,
    written,
)
from streams.cli.output import tell
from streams.cli.progress import ProgressLine
from streams.cli.tail import partitions_of
from streams.console.review_agreement import newest_marks
from streams.console.review_join import joined
from streams.settings.model import Settings
from streams.topology import DECISIONS_REVIEWED


def run_export_reviews(settings: Settings, options: ExportOptions, *, as_json: bool = False) -> int:
    """Writes a row for each reviewed decision, and the summary to standard error if rows go to standard output.

    Returns:
        0; 1 if a record is not a mark, and for trouble with Kafka or a file; 2 for wrong usage or a missing topic.
    """
    if status := refused_start(options):
        return status
    if options.source is not None or options.newest:
        named = "--input" if options.source is not None else "--latest"
        tell("export", f"leave {named} out: reviews come from their topic, and the newest of each decision counts")
        return 2
    began = time.monotonic()
    intake = Intake(options.most)
    counts = {"exported": 0, "right": 0, "wrong": 0, "without_input": 0}

    async def work() -> int:
        reviews: list[DecisionReviewed] = []
        partitions = await partitions_of(DECISIONS_REVIEWED.name, settings.kafka)
        async with aclosing(topic_events(DECISIONS_REVIEWED, settings.kafka, partitions, options)) as found:
            async for event in found:
                if isinstance(review := intake.event(event), DecisionReviewed):
                    reviews.append(review)
                if intake.full:
                    break
        await write_rows(list(newest_marks(reviews).values()))
        return 0

    async def write_rows(marks: Sequence[DecisionReviewed]) -> None:
        with (
            written(options.output) as target,
            ProgressLine("export", "reading decisions", unit="reviews", quiet=options.quiet) as line,
        ):
            async with aclosing(joined(settings.kafka, marks, line.set)) as rows:
                async for row in rows:
                    target.write(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
                    counts["exported"] += 1
                    counts["right" if row["right"] else "wrong"] += 1
                    counts["without_input"] += row["input"] is None or row["input"]["event"] is None

    try:
        if status := run_with_kafka("export", settings, work()):
            return status
    except FileError as error:
        return tell("export", str(error), 1)
    refused = intake.refusals.tell_rest()
    seconds = time.monotonic() - began
    told = sys.stdout if options.output else sys.stderr
    if as_json:
        print(json.dumps({**counts, "refused": refused, "seconds": round(seconds, 3)}), file=told)
        return 1 if refused else 0
    where = f" to {options.output}" if options.output else ""
    print(
        f"exported {counts['exported']}{where} ({counts['right']} right, {counts['wrong']} wrong,"
        f" {counts['without_input']} without their input), refused {refused}, in {seconds:.1f} s",
        file=told,
    )
    if not counts["exported"]:
        print("no decision is reviewed yet: mark decisions on the screen Review of `assay console`", file=sys.stderr)
    return 1 if refused else 0
