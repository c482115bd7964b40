"""``assay publish``: events or pages from files or standard input onto a topic."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from streams.codec import OutputRecord
from streams.commands.kafka_trouble import run_with_kafka, tell
from streams.kafka import make_producer
from streams.settings import Settings
from streams.sources import Refused, SourceError, read_source
from streams.topic_plan import create_topics
from streams.topology import TOPICS, Topic, topic_named

_IN_FLIGHT = 200
_SHOWN_REFUSALS = 20


def run_publish(
    topic: str, paths: Sequence[Path], settings: Settings, as_json: bool, rate: float | None, run_id: str | None
) -> int:
    """Publishes every record of every path.

    Args:
        topic: Logical name.
        paths: See ``streams.sources.read_source``.
        settings: The configuration; a Kafka is named in it.
        as_json: End with one line ``{"published", "refused", "seconds"}``.
        rate: Records a second at most.
        run_id: Marks the records as a backfill.

    Returns:
        0 when all was published; 1 where something was refused or Kafka failed; 2 for an unknown topic or a path that
        can't be read.
    """
    found = topic_named(topic)
    if found is None:
        tell("publish", f"there is no topic {topic!r}; there are {', '.join(t.name for t in TOPICS)}")
        return 2
    return run_with_kafka("publish", settings, _publish(found, paths, settings, as_json, rate, run_id))


async def _publish(
    topic: Topic, paths: Sequence[Path], settings: Settings, as_json: bool, rate: float | None, run_id: str | None
) -> int:
    if settings.kafka.create_topics:
        await create_topics(settings)
    published = refused = 0
    began = time.monotonic()
    status = 0
    producer = make_producer(settings.kafka, None, "assay.publish")
    await producer.start()
    try:
        pending: set[asyncio.Future[object]] = set()
        for record in _with_progress(topic, paths, run_id):
            if isinstance(record, Refused):
                refused += 1
                if refused <= _SHOWN_REFUSALS:
                    tell("publish", f"{record.place}: {record.reason}")
                continue
            name = settings.kafka.topic_prefix + record.topic
            pending.add(await producer.send(name, value=record.value, key=record.key, headers=list(record.headers)))
            published += 1
            if len(pending) >= _IN_FLIGHT:
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                _raise_failed(done)
            if rate:
                await asyncio.sleep(max(0.0, published / rate - (time.monotonic() - began)))
        if pending:
            done, _ = await asyncio.wait(pending)
            _raise_failed(done)
    except SourceError as error:
        tell("publish", str(error))
        status = 2
    finally:
        await producer.stop()
    seconds = time.monotonic() - began
    if refused > _SHOWN_REFUSALS:
        tell("publish", f"and {refused - _SHOWN_REFUSALS} more refused")
    if as_json:
        print(json.dumps({"published": published, "refused": refused, "seconds": round(seconds, 3)}))
    else:
        print(f"published {published} to {topic.name}, refused {refused}, in {seconds:.1f} s")
    return status or (1 if refused else 0)


def _raise_failed(done: set[asyncio.Future[object]]) -> None:
    for future in done:
        future.result()


def _with_progress(topic: Topic, paths: Sequence[Path], run_id: str | None) -> Iterator[OutputRecord | Refused]:
    """The records of all paths, counted on a terminal as they pass."""
    records = (record for path in paths for record in read_source(path, topic, run_id))
    if not sys.stderr.isatty():
        yield from records
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield from progress.track(records, description=f"publishing to {topic.name}")
