"""``assay publish``: events or pages from files or standard input onto a topic."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, KafkaTimeoutError
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from streams.codec import OutputRecord
from streams.commands.kafka_trouble import run_with_kafka, tell
from streams.kafka import make_producer
from streams.pipeline.commit import stop_producer
from streams.settings import Settings
from streams.sources import (
    LARGEST_LINE,
    STANDARD_INPUT_PATH,
    Format,
    Refused,
    SourceError,
    check_source,
    format_of,
    read_event,
    read_source,
)
from streams.standard_input import STANDARD_INPUT, read_lines
from streams.topic_plan import create_topics
from streams.topology import TOPICS, Topic, topic_named

_IN_FLIGHT = 200
_SHOWN_REFUSALS = 20


def run_publish(
    topic: str,
    paths: Sequence[Path],
    settings: Settings,
    as_json: bool,
    rate: float | None = None,
    run_id: str | None = None,
    stated: Format | None = None,
    check: bool = False,
) -> int:
    """Publishes every record of every path, or only says what of it could not be.

    Args:
        topic: Logical name.
        paths: See ``streams.sources.read_source``; ``-`` is standard input.
        settings: The configuration; a Kafka is named in it, unless ``check`` is all that is asked for.
        as_json: End with one line ``{"published", "refused", "seconds"}``, and ``valid`` where nothing is sent.
        rate: Records a second at most.
        run_id: Marks the records as a backfill.
        stated: How lines are written; as a file's name says, and JSON on standard input, where None.
        check: Read and validate everything, and send nothing; no Kafka is needed (C-33).

    Returns:
        0 when all was published; 1 where something was refused or Kafka failed; 2 for an unknown topic, a rate that is
        none, or a path that can't be read or does not go with the topic; 130 after Ctrl-C.
    """
    found = topic_named(topic)
    if found is None:
        tell("publish", f"there is no topic {topic!r}; there are {', '.join(t.name for t in TOPICS)}")
        return 2
    if rate is not None and not rate > 0:
        tell("publish", f"--rate takes a number above 0, not {rate:g}")
        return 2
    try:
        for path in paths:
            check_source(path, found, stated)
    except SourceError as error:
        tell("publish", str(error))
        return 2
    lines = _Input(found, paths, run_id, stated)
    if check:
        return run_with_kafka("publish", settings, _check(lines, as_json))
    return run_with_kafka("publish", settings, _publish(lines, settings, as_json, rate))


async def _check(source: _Input, as_json: bool) -> int:
    valid = status = 0
    began = time.monotonic()
    try:
        with _progress(f"checking for {source.topic.name}") as advance:
            async for _ in source.records():
                valid += 1
                advance()
    except SourceError as error:
        tell("publish", str(error))
        status = 2
    finally:
        source.tell_rest()
        seconds = time.monotonic() - began
        if as_json:
            print(json.dumps({"published": 0, "valid": valid, "refused": source.refused, "seconds": round(seconds, 3)}))
        else:
            print(
                f"{valid} valid for {source.topic.name}, {source.refused} refused, in {seconds:.1f} s; nothing was sent"
            )
    return status or (1 if source.refused else 0)


async def _publish(source: _Input, settings: Settings, as_json: bool, rate: float | None) -> int:
    if settings.kafka.create_topics:
        await create_topics(settings)
    producer = make_producer(settings.kafka, None, "assay.publish")
    await producer.start()
    sending = Sending(producer, settings.kafka.topic_prefix, settings.kafka.transaction_timeout_seconds)
    status = 0
    began = time.monotonic()
    try:
        with _progress(f"publishing to {source.topic.name}") as advance:
            async for record in source.records():
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
        _summarize(source.topic, sending.acknowledged, source.refused, time.monotonic() - began, as_json)
    if sending.failure is not None:
        raise sending.failure
    return status or (1 if source.refused else 0)


def _summarize(topic: Topic, published: int, refused: int, seconds: float, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"published": published, "refused": refused, "seconds": round(seconds, 3)}))
    else:
        print(f"published {published} to {topic.name}, refused {refused}, in {seconds:.1f} s")


class Sending:
    """Sends with a bounded number of records under way, and counts those that the cluster has acknowledged.

    An idempotent producer tries for ever; here it is given up when nothing is acknowledged for ``patience`` seconds.
    """

    def __init__(self, producer: AIOKafkaProducer, prefix: str, patience: float) -> None:
        """Takes a producer that is started, and what stands before topics."""
        self._producer = producer
        self._prefix = prefix
        self._patience = patience
        self._room = asyncio.Semaphore(_IN_FLIGHT)
        self.sent = 0
        self.acknowledged = 0
        self.failure: BaseException | None = None

    async def send(self, record: OutputRecord) -> None:
        """Sends a record once there is room; raises where an earlier one failed."""
        name, headers = self._prefix + record.topic, list(record.headers)
        try:
            async with asyncio.timeout(self._patience):
                await self._room.acquire()
                if self.failure is not None:
                    raise self.failure
                future = await self._producer.send(name, value=record.value, key=record.key, headers=headers)
        except TimeoutError:
            raise self._given_up() from None
        self.sent += 1
        future.add_done_callback(self._answered)

    async def stop(self) -> None:
        """Waits for what is under way, as long as some of it is acknowledged, and closes the producer."""
        before = -1
        while self.failure is None and before < self.acknowledged:
            before = self.acknowledged
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._patience):
                    await self._producer.flush()
                    break
        else:
            self.failure = self.failure or self._given_up()
        await stop_producer(self._producer, self._patience if self.failure is None else 1.0)

    def _given_up(self) -> KafkaError:
        return KafkaTimeoutError(f"nothing was acknowledged for {self._patience:g} s")

    def _answered(self, future: asyncio.Future[object]) -> None:
        self._room.release()
        if future.cancelled():
            return
        if (error := future.exception()) is None:
            self.acknowledged += 1
        else:
            self.failure = self.failure or error


class _Input:
    """The records of all paths in order. What is refused is counted, and the first of it told."""

    def __init__(self, topic: Topic, paths: Sequence[Path], run_id: str | None, stated: Format | None) -> None:
        self.topic = topic
        self.refused = 0
        self._paths = paths
        self._run_id = run_id
        self._stated = stated

    async def records(self) -> AsyncIterator[OutputRecord]:
        async for record in self._all():
            await asyncio.sleep(0)  # lets Ctrl-C in, also where nothing else is waited for
            if isinstance(record, OutputRecord):
                yield record
                continue
            self.refused += 1
            if self.refused <= _SHOWN_REFUSALS:
                tell("publish", f"{record.place}: {record.reason}")

    def tell_rest(self) -> None:
        if self.refused > _SHOWN_REFUSALS:
            tell("publish", f"and {self.refused - _SHOWN_REFUSALS} more refused")

    async def _all(self) -> AsyncIterator[OutputRecord | Refused]:
        for path in self._paths:
            if path != STANDARD_INPUT_PATH:
                for record in read_source(path, self.topic, self._run_id, self._stated):
                    yield record
                continue
            number = 0
            written = format_of(path, self._stated)
            try:
                async for line in read_lines(STANDARD_INPUT, LARGEST_LINE):
                    number += 1
                    event = read_event(line, f"standard input:{number}", self.topic, self._run_id, written)
                    if event is not None:
                        yield event
            except OSError as error:
                raise SourceError(f"standard input: {error.strerror}") from None


@contextlib.contextmanager
def _progress(doing: str) -> Iterator[Callable[[], None]]:
    """Something to call for each record; on a terminal it moves a bar."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(doing, total=None)
        yield lambda: progress.advance(task)
