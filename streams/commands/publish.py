"""``assay publish``: events or pages from files or standard input onto a topic, as live traffic or as a backfill.

assay publish pages.crawled.v1 pages.jsonl
assay publish pages.crawled.v1 crawl-2026-11/ --run-id november --rate 200 --refused refused.jsonl
assay publish pages.crawled.v1 crawl-2026-11/ --resume november
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from collections.abc import Sequence
from pathlib import Path

from aiokafka.errors import KafkaError

from streams.commands.kafka_trouble import run_with_kafka, tell
from streams.commands.publish_backfill import Backfill
from streams.commands.publish_check import check
from streams.commands.publish_input import Input, Publication, refusals_problem
from streams.commands.publish_live import Sending
from streams.commands.publish_progress import publish_progress
from streams.entries import SourceError
from streams.kafka import make_producer, opened
from streams.settings import Settings
from streams.sources import Format, check_source
from streams.topic_plan import create_topics
from streams.topology import TOPICS, topic_named

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
        paths: See ``streams.sources.read_source``; ``-`` is standard input.
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
        tell("publish", f"there is no topic {topic!r}; there are {', '.join(t.name for t in TOPICS)}")
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
        await create_topics(settings)
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
