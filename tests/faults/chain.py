"""The chain under test: numbered records through three handlers over separate topics, and their effects outside Kafka.

    entered -> relay (asks a service: an effect outside Kafka) -> passed -> settle -> arrived
                                                                 -> audit (asks; fails at first) -> audited

``relay`` runs in child processes, the others in the worker itself.

A record's kind states its expected result: ``plain`` and ``later`` arrive, ``poison`` and ``big`` become dead letters
of ``relay``, and ``later`` is audited only from a retry topic.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from schemas.event import Event, Run
from schemas.needs import Ask, FetchPages, Need
from schemas.outcome import Emit, Outcome
from schemas.replies import PagesReply, Reply
from schemas.rules import Rules
from streams.settings.model import Settings, load_settings
from streams.topology import Handler, Topic

SESSION_SECONDS = 4.0
PARTITIONS = 4
LARGEST_PASSED = 20_000
"""Bytes that the topic in the middle takes; a ``big`` record's output is larger."""
_WORK_SECONDS = 0.01
"""The longest time of ``relay`` in its child process, for each call."""


class Numbered(Event):
    """A record that says which one it is."""

    key: str
    number: int
    kind: str = "plain"
    padding: str = ""

    @property
    def id(self) -> str:
        """Tells it from all others of a run."""
        return f"{self.key}/{self.number}"


class Entered(Numbered):
    """As it was fed."""


class Passed(Numbered):
    """After ``relay``."""


class Arrived(Numbered):
    """After ``settle``."""


class Audited(Numbered):
    """After ``audit``."""


class NoRules(Rules):
    """Decides by nothing."""


def _topic(name: str, event: type[Numbered]) -> Topic:
    return Topic(
        name=name,
        event=event,
        keyed_by="key",
        meaning="Numbered records.",
        partitions=PARTITIONS,
    )


ENTERED, PASSED = _topic("entered.v1", Entered), _topic("passed.v1", Passed)
ARRIVED, AUDITED = _topic("arrived.v1", Arrived), _topic("audited.v1", Audited)
TOPICS = (ENTERED, PASSED, ARRIVED, AUDITED)


def _ask(purpose: str, record: Numbered) -> Ask:
    return Ask(FetchPages((record.id,), f"{purpose} {record.kind}"))


def relay(record: Entered, rules: Rules) -> Outcome | Ask:
    """Asks for an effect, after some time, so that a child that is killed has work."""
    time.sleep(random.random() * _WORK_SECONDS)
    if record.kind == "poison":
        raise ValueError("poison")
    return _ask("effect", record)


def pass_on(record: Entered, replies: tuple[Reply, ...], rules: Rules) -> Outcome:
    """Passes the record on, with a padding if it is ``big``."""
    time.sleep(random.random() * _WORK_SECONDS)
    padding = random.Random(record.id).randbytes(60_000).hex() if record.kind == "big" else ""
    return Emit((Passed(key=record.key, number=record.number, kind=record.kind, padding=padding),))


def settle(record: Passed, rules: Rules) -> Outcome:
    """Answers at once."""
    return Emit((Arrived(key=record.key, number=record.number, kind=record.kind),))


def audit(record: Passed, rules: Rules) -> Outcome | Ask:
    """Asks for an audit."""
    return _ask("audit", record)


def read_audit(record: Passed, replies: tuple[Reply, ...], rules: Rules) -> Outcome:
    """Passes an audited record on."""
    return Emit((Audited(key=record.key, number=record.number, kind=record.kind),))


_SHARED: dict[str, Any] = {"rules": NoRules, "lane": "llm", "slo_seconds": 60}
_ASKING = {**_SHARED, "asks": frozenset({FetchPages}), "rounds": 1, "concurrency": 8}
HANDLERS = (
    Handler(
        name="relay",
        fn=relay,
        read=pass_on,
        consumes=ENTERED,
        emits=(PASSED,),
        runs="process",
        preload=(__name__,),
        **_ASKING,
    ),
    Handler(name="settle", fn=settle, consumes=PASSED, emits=(ARRIVED,), **_SHARED),
    Handler(
        name="audit",
        fn=audit,
        read=read_audit,
        consumes=PASSED,
        emits=(AUDITED,),
        ordered_by_key=False,
        retry_later=(1,),
        **_ASKING,
    ),
)


class Journal:
    """The world outside: effects in a database that all workers share, one for each effect id."""

    def __init__(self, file: Path, passed: Callable[[str], None] = lambda _: None) -> None:
        """Opens the database, and makes its tables where they are missing. ``passed`` is called after each effect."""
        self._passed = passed
        self._database = sqlite3.connect(file, timeout=30, isolation_level=None)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=OFF")
        self._database.execute("CREATE TABLE IF NOT EXISTS effects (id TEXT PRIMARY KEY)")
        self._database.execute("CREATE TABLE IF NOT EXISTS calls (id TEXT)")
        # Without it a call costs more the longer a run takes.
        self._database.execute("CREATE INDEX IF NOT EXISTS calls_by_id ON calls (id)")

    async def answer(self, need: Need, run: Run | None) -> Reply:  # noqa: ARG002
        """Has the effect, unless it has been had before; a first audit of a ``later`` record fails."""
        assert isinstance(need, FetchPages)
        [effect_id] = need.urls
        purpose, kind = need.query.split()
        name = f"{purpose} {effect_id}"
        await asyncio.sleep(random.random() * 0.01)
        [before] = self._database.execute("SELECT count(*) FROM calls WHERE id = ?", (name,)).fetchone()
        self._database.execute("INSERT INTO calls VALUES (?)", (name,))
        if purpose == "audit" and kind == "later" and not before:
            raise ConnectionError("not at the first time")
        self._database.execute("INSERT OR IGNORE INTO effects VALUES (?)", (name,))
        self._passed("mid_call")
        return PagesReply(())

    def effects(self, after: int = 0) -> tuple[list[str], int]:
        """What was done outside after that point, by effect id, and the present point."""
        rows = self._database.execute("SELECT id, rowid FROM effects WHERE rowid > ?", (after,)).fetchall()
        return [name for name, _ in rows], max((number for _, number in rows), default=after)

    def calls(self) -> int:
        """How often the world was asked."""
        [count] = self._database.execute("SELECT count(*) FROM calls").fetchone()
        return int(count)

    def close(self) -> None:
        """Closes the database."""
        self._database.close()


def settings_of(bootstrap: str, prefix: str) -> Settings:
    """Small windows and transactions, so that each round has many, and short timeouts, so that a round is short."""
    return load_settings(
        kafka={
            "bootstrap_servers": bootstrap,
            "topic_prefix": prefix,
            "replication_factor": len(bootstrap.split(",")),
            "session_timeout_seconds": SESSION_SECONDS,
            "rebalance_timeout_seconds": 12,
            "transaction_timeout_seconds": 8,
        },
        http={"enabled": False},
        workers={"processes": 2, "wall_seconds": SESSION_SECONDS},
        pipeline={"window_records": 40, "poll_records": 20, "commit_records": 10, "drain_seconds": 6},
        processing={"retries": {"max_attempts": 1}, "breaker": {"failures": 1_000_000}},
    )
