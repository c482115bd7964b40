"""A console without Kafka: a real store and real templates over records that a test names."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, TypeVar

from pydantic import SecretStr
from starlette.testclient import TestClient

from schemas.dead import dead_letter_topic
from schemas.event import Envelope, Event, Run
from streams.console.app import SCREENS, make_app, make_context
from streams.console.context import Context, Screen
from streams.console.entries import Position, dead_entry, entry_of, mentions_of
from streams.console.objects import Read, Records
from streams.settings.model import ConsoleSettings, HttpSettings, Settings, load_settings
from streams.topology import TOPICS, Topic, handler_named, topic_named, topic_of
from streams.topology.codec import decode, encode
from streams.views.words import SubjectKind
from tests.samples import EXAMPLES

TOKEN = "the-token"
AUTHORIZED = {"authorization": f"Bearer {TOKEN}"}
OWN = {"origin": "http://127.0.0.1"}
BEGAN = datetime(2026, 11, 27, 8, tzinfo=UTC)
T = TypeVar("T", bound=Event)


def example(kind: type[T], stem: str, **changed: Any) -> T:
    """An example of the events of this kind, with other values."""
    topic = next(topic for topic in TOPICS if topic.event is kind)
    event = kind.model_validate_json((EXAMPLES / topic.name / f"{stem}.json").read_bytes())
    return event.model_copy(update=changed)


@cache
def settings() -> Settings:
    """The shipped settings; no Kafka answers at their address."""
    return load_settings(kafka={"bootstrap_servers": "kafka.invalid:9092"})


@dataclass
class Stored:
    """A record as aiokafka returns it."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class KnownRecords(Records):
    """Records that a test has written."""

    def __init__(self) -> None:
        self.written: dict[Position, Stored] = {}

    async def at(self, position: Position) -> Any:
        return self.written.get(position)

    async def events(self, positions: Collection[Position]) -> dict[Position, Read]:
        topics = {position: topic_named(position.topic) for position in positions if position in self.written}
        return {position: self.read(topic, self.written[position]) for position, topic in topics.items() if topic}

    async def newest(self, topic: Topic, keys: Collection[bytes], most: int) -> list[Read]:
        found = [its for its in self.written.values() if its.topic == topic.name and its.key in keys]
        return [self.read(topic, its) for its in sorted(found, key=lambda its: -its.timestamp)[:most]]

    def read(self, topic: Topic, record: Stored) -> Read:
        at = datetime.fromtimestamp(record.timestamp / 1000, UTC)
        headers = {name: (value or b"").decode("utf-8", "replace") for name, value in record.headers}
        event = decode(topic, record.value, record.headers, at)
        return Read(Position(record.topic, record.partition, record.offset), at, headers, event)


class OwnConsole:
    """A console, its client, and the records that were written to it."""

    def __init__(self, token: str = TOKEN, screens: Sequence[Screen] = SCREENS, **console: Any) -> None:
        changed = {"http": HttpSettings(token=SecretStr(token)), "console": ConsoleSettings(**console)}
        self.settings = settings().model_copy(update=changed)
        self.context: Context = make_context(self.settings)
        self.context.screens = screens
        self.records = KnownRecords()
        self.context.records = self.records
        self.client = self.served()

    def served(self) -> TestClient:
        """A client of this console under the settings of now; entered, it does its work beside requests too."""
        return TestClient(make_app(self.context), base_url="http://127.0.0.1", follow_redirects=False)

    def write(self, event: Event, handler: str = "", *, after: float = 0.0, run: str | None = None) -> Position:
        """Writes an event as a handler does, so many seconds after the beginning."""
        topic, at = topic_of(event), BEGAN + timedelta(seconds=after)
        position = self._next(topic.name)
        source, identity = f"assay/{handler}" if handler else "crawler", f"id-{len(self.records.written)}"
        envelope = Envelope(identity, source, at, "root", None, run=Run(run) if run else None)
        record = encode(topic, event, envelope)
        self._keep(position, at, record.key, record.value, record.headers)
        read = decode(topic, record.value, record.headers, at)
        entry = entry_of(position, int(at.timestamp() * 1000), record.headers, read)
        if entry is not None and not topic.raw_pages:
            self.context.store.add([(entry, mentions_of(event))])
        return position

    def write_dead(
        self, handler: str, key: str, value: bytes, *, reason: str = "invalid", error: str = "wrong"
    ) -> Position:
        """Writes a dead letter of a handler."""
        its = handler_named(handler)
        assert its is not None
        topic = dead_letter_topic(its.consumes.name, its.group)
        notes = {
            "x-handler": its.name,
            "x-reason": reason,
            "x-stage": "handle",
            "x-error-message": error,
            "x-orig-topic": its.consumes.name,
        }
        headers = tuple((name, text.encode()) for name, text in notes.items())
        position = self._next(topic)
        self._keep(position, BEGAN, key.encode(), value, headers)
        kind = SubjectKind.PAGE if its.consumes.key_means == "url" else None
        entry = dead_entry(position, int(BEGAN.timestamp() * 1000), key.encode(), headers, kind)
        assert entry is not None
        self.context.store.add([(entry, [])])
        return position

    def forget(self, positions: Iterable[Position]) -> None:
        """Deletes records, as retention does."""
        for position in positions:
            del self.records.written[position]

    def _next(self, topic: str) -> Position:
        return Position(topic, 0, sum(its.topic == topic for its in self.records.written))

    def _keep(self, position: Position, at: datetime, key: bytes | None, value: bytes | None, headers: Any) -> None:
        milliseconds = int(at.timestamp() * 1000)
        record = Stored(position.topic, 0, position.offset, milliseconds, key, value, tuple(headers))
        self.records.written[position] = record
