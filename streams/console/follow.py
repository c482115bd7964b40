"""What the console reads in the background: new and past decisions for the store, and the figures of the flow.

Decisions are read without a consumer group, and nothing is committed. Two readers work at the same time: one follows
the end of all topics and tells the open screens what was committed, the other reads the log backwards until the store
is full. Crawled pages are not read, because they are most of the traffic: a screen that shows one looks it up by its
key. The rate of the flow is that of committed offsets between two looks, so it needs no worker's address; transaction
markers occupy offsets too and are a part of it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import aclosing, suppress

import structlog
from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError

from schemas.dead import dead_letter_topic
from schemas.outcome import Dead
from streams.console.entries import Entry, Mention, Position, dead_entry, entry_of, mentions_of, time_of
from streams.console.store import Store
from streams.kafka.clients import make_reader, opened
from streams.kafka.groups import read_dead_letters, read_lags
from streams.kafka.log_reader import assign_paused, follow, records_between
from streams.kafka.settings import KafkaSettings
from streams.runtime.clock import Clock
from streams.topology import HANDLERS, RANKING_REQUESTED, TOPICS
from streams.topology.codec import decode, timestamp
from streams.views.flow import WINDOW_SECONDS, HandlerFlow, History, Key, lag_of
from streams.views.words import SubjectKind

log = structlog.get_logger(__name__)

_FOLLOWED = {topic.name: topic for topic in TOPICS if not topic.raw_pages and not topic.compacted}
_KINDS = {"url": SubjectKind.PAGE} | {f"{kind}_id": kind for kind in SubjectKind}  # by the meaning of a topic's keys
_DEAD = {
    dead_letter_topic(its.consumes.name, its.group): SubjectKind.QUERY
    if its.consumes is RANKING_REQUESTED
    else _KINDS.get(its.consumes.key_means)
    for its in HANDLERS
}
_AGAIN_SECONDS = 2.0
_FIRST_STEP = 200
_LARGEST_STEP = 5_000
_AT_ONCE = 25  # records of the past that are decoded before others get the event loop
_WAITING = 200  # lists of decisions that wait for a slow screen; it then loads again


class Feed:
    def __init__(self) -> None:
        self._screens: set[asyncio.Queue[list[Entry] | None]] = set()
        self._closed = False

    def publish(self, entries: list[Entry]) -> None:
        """Passes decisions on; a screen that does not take them is closed and loads again."""
        for screen in [*self._screens]:
            if screen.full():
                self._screens.discard(screen)
                screen.get_nowait()
                screen.put_nowait(None)
            else:
                screen.put_nowait(entries)

    def close(self) -> None:
        """Ends all subscriptions: a server waits for its open answers."""
        self._closed = True
        for screen in self._screens:
            if not screen.full():
                screen.put_nowait(None)

    async def subscribe(self, beat_seconds: float) -> AsyncIterator[list[Entry]]:
        """Gives an empty list at once, then what is published; an empty list if nothing was for a time.

        It ends if the screen is too slow.
        """
        screen: asyncio.Queue[list[Entry] | None] = asyncio.Queue(_WAITING)
        self._screens.add(screen)
        try:
            yield []
            while not self._closed:
                try:
                    # wait_for would swallow a cancellation in the moment of a new item (Python 3.11).
                    async with asyncio.timeout(beat_seconds):
                        entries = await screen.get()
                except TimeoutError:
                    entries = []
                if entries is None:
                    return
                yield entries
        finally:
            self._screens.discard(screen)


class Follower:
    def __init__(self, kafka: KafkaSettings, store: Store, feed: Feed) -> None:
        self._kafka = kafka
        self._store = store
        self._feed = feed
        self._past: asyncio.Task[None] | None = None
        self._next: dict[TopicPartition, int] = {}
        """The next offset of each followed partition; kept while the cluster does not answer, so nothing is missed."""
        self.problem = "not connected to Kafka yet"  # why it does not follow now; "" while it does
        self.rebuilt = False  # whether the past is in the store

    async def run(self) -> None:
        """Follows until it is cancelled; after an error it begins again."""
        try:
            while True:
                try:
                    await self._follow()
                except (KafkaError, OSError) as error:
                    self.problem = f"Kafka at {self._kafka.bootstrap_servers}: {error}"
                    log.warning("the console can't follow the topics", error=str(error))
                await asyncio.sleep(_AGAIN_SECONDS)
        finally:
            if self._past is not None:
                self._past.cancel()
                with suppress(asyncio.CancelledError):
                    await self._past

    async def _follow(self) -> None:
        names = [self._kafka.topic_prefix + name for name in (*_FOLLOWED, *_DEAD)]
        known = set(self._next)
        lists = follow(self._kafka, names, "latest", positions=self._next, client_id="assay-console")
        async with aclosing(lists):
            async for records in lists:
                self.problem = "" if self._next else "the topics do not exist yet: assay topics create"
                if unread := self._next.keys() - known:
                    # This list is empty, so these are the offsets from which the partitions are followed.
                    ends = {at: self._next[at] for at in unread}
                    self._past = asyncio.create_task(self._read_back(ends, self._past), name="console past")
                known = set(self._next)
                if records and (new := self._store.add(self._found(records))):
                    self._feed.publish(new)

    async def _read_back(self, ends: dict[TopicPartition, int], before: asyncio.Task[None] | None) -> None:
        """Reads the log before these ends, the newest records first, until the store is full."""
        self.rebuilt = False
        if before is not None:
            await before
        while not self.rebuilt:
            try:
                async with opened(make_reader(self._kafka, client_id="assay-console-past")) as reader:
                    await self._read_back_from(reader, ends)
                self.rebuilt = True
            except (KafkaError, OSError) as error:
                log.warning("the console can't read the past of the topics", error=str(error))
                await asyncio.sleep(_AGAIN_SECONDS)

    async def _read_back_from(self, reader: AIOKafkaConsumer, ends: dict[TopicPartition, int]) -> None:
        """Lowers ``ends`` to the first offsets that were read, so that another reader can go on there."""
        assign_paused(reader, ends)
        firsts, step = await reader.beginning_offsets(list(ends)), _FIRST_STEP
        while not self._store.is_full and any(firsts[at] < end for at, end in ends.items()):
            spans = {at: (max(firsts[at], end - step), end) for at, end in ends.items()}
            await self._read_spans(reader, spans)
            ends |= {at: start for at, (start, _) in spans.items()}
            step = min(2 * step, _LARGEST_STEP)

    async def _read_spans(self, reader: AIOKafkaConsumer, spans: dict[TopicPartition, tuple[int, int]]) -> None:
        waiting: list[ConsumerRecord] = []
        async with aclosing(records_between(reader, spans)) as records:
            async for record in records:
                waiting.append(record)
                if len(waiting) >= _AT_ONCE:
                    self._store.add(self._found(waiting))
                    waiting.clear()
                    await asyncio.sleep(0)
        self._store.add(self._found(waiting))

    def _found(self, records: Iterable[ConsumerRecord]) -> list[tuple[Entry, list[Mention]]]:
        found = (_found(record, record.topic.removeprefix(self._kafka.topic_prefix)) for record in records)
        return [entry for entry in found if entry]


def _found(record: ConsumerRecord, name: str) -> tuple[Entry, list[Mention]] | None:
    position = Position(name, record.partition, record.offset)
    at = int(time_of(record.timestamp).timestamp() * 1000)
    if name in _DEAD:
        letter = dead_entry(position, at, record.key, record.headers, _DEAD[name])
        return None if letter is None else (letter, [])
    event = decode(_FOLLOWED[name], record.value, record.headers, timestamp(record.timestamp), record.key)
    entry = entry_of(position, at, record.headers, event)
    return None if entry is None else (entry, [] if isinstance(event, Dead) else mentions_of(event))


_LOOK_SECONDS = 3.0


class Flow:
    """Reads the figures at intervals while a screen shows them: one look asks the cluster some thirty questions."""

    def __init__(self, kafka: KafkaSettings, store: Store, clock: Clock) -> None:
        self._kafka = kafka
        self._store = store
        self._clock = clock
        self._committed = History()
        self._wanted = asyncio.Event()
        self.handlers: Mapping[str, HandlerFlow] = {}
        self.problem = ""

    def want(self) -> None:
        """Says that a screen shows the figures; the next ones are read soon."""
        self._wanted.set()

    async def run(self) -> None:
        """Reads until it is cancelled; an error is shown, and the next look tries again."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            try:
                await self.look()
                self.problem = ""
            except (KafkaError, OSError) as error:
                self.problem = str(error) or type(error).__name__
            await asyncio.sleep(_LOOK_SECONDS)

    async def look(self) -> None:
        lags = await read_lags(self._kafka, HANDLERS, self._clock)
        offsets = {its.handler: its.records for its in await read_dead_letters(self._kafka, HANDLERS, self._clock)}
        dead = self._store.dead_letters()
        committed = Counter[Key]()
        for lag in lags:
            committed[(lag.handler,)] += sum(partition.committed or 0 for partition in lag.partitions)
        now = self._clock.monotonic()
        if now - self._committed.looked_at > WINDOW_SECONDS:  # no screen was open
            self._committed = History()
        self._committed.add(now, committed)
        seconds, flows = self._committed.seconds, {}
        for handler in HANDLERS:
            records, late, members = lag_of(handler.name, lags)
            flows[handler.name] = HandlerFlow(
                handler=handler.name,
                rate_per_second=max(0.0, self._committed.change((handler.name,))) / seconds if seconds else None,
                lag_records=records,
                lag_seconds=late,
                members=members,
                slo_seconds=handler.slo_seconds,
                # Offsets have markers among them, and the store has letters that were purged since.
                dead=min(dead.get(handler.name, 0), offsets.get(handler.name, 0)),
            )
        self.handlers = flows
