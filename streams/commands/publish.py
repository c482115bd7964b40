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
from streams.sources import LARGEST_LINE, Refused, SourceError, check_source, read_event, read_source
from streams.standard_input import STANDARD_INPUT, read_lines
from streams.topic_plan import create_topics
from streams.topology import TOPICS, Topic, topic_named

_DASH = Path("-")
_IN_FLIGHT = 200
_SHOWN_REFUSALS = 20


def run_publish(
    topic: str,
    paths: Sequence[Path],
    settings: Settings,
    as_json: bool,
    rate: float | None = None,
    run_id: str | None = None,
) -> int:
    """Publishes every record of every path.

    Args:
        topic: Logical name.
        paths: See ``streams.sources.read_source``; ``-`` is JSON lines on standard input.
        settings: The configuration; a Kafka is named in it.
        as_json: End with one line ``{"published", "refused", "seconds"}``.
        rate: Records a second at most.
        run_id: Marks the records as a backfill.

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
            if path != _DASH:
                check_source(path, found)
    except SourceError as error:
        tell("publish", str(error))
        return 2
    return run_with_kafka("publish", settings, _publish(found, paths, settings, as_json, rate, run_id))


async def _publish(
    topic: Topic, paths: Sequence[Path], settings: Settings, as_json: bool, rate: float | None, run_id: str | None
) -> int:
    if settings.kafka.create_topics:
        await create_topics(settings)
    producer = make_producer(settings.kafka, None, "assay.publish")
    await producer.start()
    sending = Sending(producer, settings.kafka.topic_prefix, settings.kafka.transaction_timeout_seconds)
    refused = status = 0
    began = time.monotonic()
    try:
        with _progress(topic) as advance:
            async for record in _records(paths, topic, run_id):
                if isinstance(record, Refused):
                    refused += 1
                    if refused <= _SHOWN_REFUSALS:
                        tell("publish", f"{record.place}: {record.reason}")
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
        if refused > _SHOWN_REFUSALS:
            tell("publish", f"and {refused - _SHOWN_REFUSALS} more refused")
        _summarize(topic, sending.acknowledged, refused, time.monotonic() - began, as_json)
    if sending.failure is not None:
        raise sending.failure
    return status or (1 if refused else 0)


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


async def _records(paths: Sequence[Path], topic: Topic, run_id: str | None) -> AsyncIterator[OutputRecord | Refused]:
    for path in paths:
        if path != _DASH:
            for record in read_source(path, topic, run_id):
                yield record
            continue
        number = 0
        try:
            async for line in read_lines(STANDARD_INPUT, LARGEST_LINE):
                number += 1
                if (event := read_event(line, f"standard input:{number}", topic, run_id)) is not None:
                    yield event
        except OSError as error:
            raise SourceError(f"standard input: {error.strerror}") from None


@contextlib.contextmanager
def _progress(topic: Topic) -> Iterator[Callable[[], None]]:
    """Something to call for each record sent; on a terminal it moves a bar."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(f"publishing to {topic.name}", total=None)
        yield lambda: progress.advance(task)
