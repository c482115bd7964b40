"""Runs ``assay publish``: a resumable backfill with ``--run-id``, or live traffic without it.

A backfill commits its records and its position in the sources together, so the same command continues after a kill.
Live traffic is sent as it is read, and counted as the cluster acknowledges it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shlex
import time
from collections.abc import Callable

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, KafkaTimeoutError

from streams.cli.output import tell
from streams.cli.publish_input import Input, Publication
from streams.kafka.topics import create_topics
from streams.kafka.transactions import stop_producer
from streams.publish.entries import SourceError
from streams.publish.run_log import RunLog, RunSending, RunTakenError
from streams.publish.walk import ChangedError, Position
from streams.settings.model import Settings
from streams.topology.codec import OutputRecord


class Backfill:
    """Starts or resumes a run, and summarizes it."""

    def __init__(self, asked: Publication, run: str, settings: Settings) -> None:
        """Opens nothing yet."""
        self._source = Input(asked)
        self._asked = asked
        self._run = run
        self._settings = settings
        self._log = RunLog(settings, asked.topic, run)

    async def go(self) -> int:
        """Publishes what the run has not published yet; returns as ``streams.cli.publish.run_publish``.

        Raises:
            KafkaError, TimeoutError: Kafka failed; the command that resumes the run was printed.
        """
        topic = self._asked.topic.name
        if self._settings.kafka.create_topics:
            await create_topics(self._settings.kafka)
        if self._asked.resume and await self._log.read() is None:
            tell(
                "publish",
                f"Kafka knows no run {self._run!r} for {topic}; begin it with --run-id {self._run} (a run that has not "
                "moved for as long as Kafka keeps offsets, 7 days by default, is forgotten)",
            )
            return 2
        began = time.monotonic()
        try:
            position = await self._log.open()
            entries = await self._find(position)
        except (SourceError, ChangedError) as error:
            tell("publish", _explained(error, self._run))
            await self._log.close()
            return 2
        except RunTakenError:
            self._tell_taken()
            return 1
        except BaseException:
            await self._log.close()
            raise
        return await self._send(position or Position(), entries, began)

    async def _find(self, position: Position | None) -> int:
        if position is None:
            return 0
        entries = await self._source.resume(position)
        tell("publish", f"resuming run {self._run}: {position.published} published, {position.refused} refused before")
        return entries

    async def _send(self, before: Position, entries: int, began: float) -> int:
        source, status = self._source, 0
        sending = RunSending(self._log, before, entries, self._settings.pipeline)
        try:
            with source.progress(f"publishing to {self._asked.topic.name}") as advance:
                await self._pass_on(before, sending, advance)
        except SourceError as error:
            tell("publish", str(error))
            status = 2
        except asyncio.CancelledError:
            await sending.stop()
            tell("publish", f"stopped; to resume: {self._command()}")
            raise
        except (KafkaError, RunTakenError, TimeoutError) as error:
            sending.failure = sending.failure or error
        finally:
            await sending.stop()
            source.tell_rest()
            self._summarize(before, sending.committed, time.monotonic() - began)
        if isinstance(sending.failure, RunTakenError):
            self._tell_taken()
            return 1
        if sending.failure is not None:
            tell("publish", f"to resume later: {self._command()}")
            raise sending.failure
        return status or (1 if sending.committed.refused else 0)

    async def _pass_on(self, before: Position, sending: RunSending, advance: Callable[[], None]) -> None:
        source, rate, published = self._source, self._asked.rate, 0
        began = time.monotonic()
        async for record in source.records():
            published += record is not None
            counts = {
                "published": before.published + published,
                "refused": before.refused + source.refusals.count,
                "kept": source.kept,
            }
            await sending.passed(record, source.walk.tracker.at(before.model_copy(update=counts)))
            if record is not None:
                advance()
                if rate:
                    await asyncio.sleep(max(0.0, published / rate - (time.monotonic() - began)))

    def _summarize(self, before: Position, after: Position, seconds: float) -> None:
        published, refused = after.published - before.published, after.refused - before.refused
        if self._asked.as_json:
            told = {"published": published, "refused": refused, "seconds": round(seconds, 3)}
            run = {"run": self._run, "run_published": after.published, "run_refused": after.refused}
            print(json.dumps(told | run))
            return
        print(f"published {published} to {self._asked.topic.name}, refused {refused}, in {seconds:.1f} s", end="")
        print(f"; run {self._run} in all: {after.published} published, {after.refused} refused")

    def _tell_taken(self) -> None:
        tell("publish", f"another copy of run {self._run} has taken over, so this one ends")

    def _command(self) -> str:
        return command_of(self._asked, "--resume", self._run)


def command_of(asked: Publication, *run: str) -> str:
    """The command that publishes the same, with the options of a run."""
    rate = None if asked.rate is None else f"{asked.rate:g}"
    options = {"--format": asked.stated, "--rate": rate, "--refused": asked.refused, "--config": asked.config}
    words = ["assay", "publish", asked.topic.name, *map(str, asked.paths), *run]
    for option, value in options.items():
        words += [] if value is None else [option, str(value)]
    return shlex.join(words)


def _explained(error: Exception, run: str) -> str:
    if isinstance(error, ChangedError):
        return f"run {run} can't go on: {error}; publish what it is now as another run, under another --run-id"
    return str(error)


_IN_FLIGHT = 200


class Sending:
    """Sends with a bounded number of records in flight, and counts the acknowledged ones.

    An idempotent producer retries for ever; this one fails if nothing is acknowledged for ``patience`` seconds.
    """

    def __init__(self, producer: AIOKafkaProducer, prefix: str, patience: float) -> None:
        """Takes a started producer and the topic prefix."""
        self._producer = producer
        self._prefix = prefix
        self._patience = patience
        self._room = asyncio.Semaphore(_IN_FLIGHT)
        self.sent = 0
        self.acknowledged = 0
        self.failure: BaseException | None = None

    async def send(self, record: OutputRecord) -> None:
        """Sends a record once there is room; raises if an earlier one failed."""
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
        """Waits for records in flight while some of them are acknowledged, and closes the producer."""
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
