"""The console's store: the newest decisions and their positions, in a temporary SQLite database.

It is bounded: the oldest decisions leave. It is rebuilt from the topics at every start, so nothing of it has to be kept
or migrated, and a decision that arrives twice is stored once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields
from operator import attrgetter
from typing import Any, NamedTuple

from streams.console.entries import Entry, Mention, Position
from streams.views.subjects import SubjectKind, page_number

_SCHEMA = """
CREATE TABLE decisions (
  id INTEGER PRIMARY KEY, topic TEXT NOT NULL, partition INTEGER NOT NULL, offset INTEGER NOT NULL,
  at INTEGER NOT NULL, handler TEXT NOT NULL, kind TEXT NOT NULL, subject TEXT NOT NULL, page INTEGER,
  verdict TEXT NOT NULL, tone TEXT NOT NULL, parent TEXT NOT NULL, score REAL, run TEXT NOT NULL,
  event_id TEXT NOT NULL, state TEXT NOT NULL, judge TEXT NOT NULL, cached INTEGER NOT NULL, cost_usd REAL,
  UNIQUE (topic, partition, offset)
);
CREATE INDEX by_time ON decisions (at);
CREATE INDEX by_subject ON decisions (subject, at);
CREATE INDEX by_page ON decisions (page, at) WHERE page IS NOT NULL;
CREATE INDEX by_parent ON decisions (parent) WHERE parent <> '';
CREATE TABLE mentions (decision INTEGER NOT NULL, page INTEGER NOT NULL, role TEXT NOT NULL, note TEXT NOT NULL);
CREATE INDEX mentions_of_page ON mentions (page);
CREATE INDEX mentions_of_decision ON mentions (decision);
"""
_CACHE_KIB = 16_384
_MOST_NUMBER = 2**63 - 1
"""The largest number of SQLite and of Kafka; an address can have any."""
_SPARE = 0.02
"""The share of decisions above the bound before the oldest are deleted: deleting one at a time is slower."""
_FIELDS = [its.name for its in fields(Entry) if its.name != "position"]
_COLUMNS = ["topic", "partition", "offset", *_FIELDS, "page"]
_VALUES = attrgetter("position.topic", "position.partition", "position.offset", *_FIELDS)
_OF_DECISION = ", ".join(f"d.{column}" for column in _COLUMNS)
_MARKS = ", ".join("?" * len(_COLUMNS))
_INSERT = f"INSERT OR IGNORE INTO decisions ({', '.join(_COLUMNS)}) VALUES ({_MARKS})"  # noqa: S608

Dot = tuple[str, int, int, int, float | None, str]
"""Topic, partition, offset, time, score and tone."""


class Mentioned(NamedTuple):
    entry: Entry
    role: str
    note: str


class Store:
    """The newest ``most`` decisions. Every method takes milliseconds and runs on the caller's thread."""

    def __init__(self, most: int) -> None:
        self._most = most
        # A database without a name is a temporary file that the process alone has; small ones stay in memory.
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._database.executescript(f"PRAGMA cache_size=-{_CACHE_KIB}; PRAGMA synchronous=OFF; {_SCHEMA}")
        self.count = 0

    def close(self) -> None:
        self._database.close()

    @property
    def is_full(self) -> bool:
        """Whether older decisions would leave at once."""
        return self.count >= self._most

    def add(self, entries: Iterable[tuple[Entry, Sequence[Mention]]]) -> list[Entry]:
        """Stores decisions. Returns those that were not there yet."""
        database, new = self._database, []
        with database:  # commits
            database.execute("BEGIN")
            for entry, mentions in entries:
                page = page_number(entry.subject) if entry.kind == SubjectKind.PAGE else None
                added = database.execute(_INSERT, (*_VALUES(entry), page))
                if added.rowcount:
                    new.append(entry)
                    pages = [(added.lastrowid, its.page, its.role, its.note) for its in mentions]
                    database.executemany("INSERT INTO mentions VALUES (?, ?, ?, ?)", pages)
            self.count += len(new)
            if self.count > self._most * (1 + _SPARE):
                self._forget(self.count - self._most)
        return new

    def at(self, position: Position) -> Entry | None:
        if max(position.partition, position.offset) > _MOST_NUMBER:
            return None
        found = self._entries("topic = ? AND partition = ? AND offset = ?", astuple(position))
        return found[0] if found else None

    def newest(self, most: int, *, kind: str = "", topic: str = "", tone: str = "") -> list[Entry]:
        """The newest decisions of a kind, a topic or a tone; without these, of all."""
        conditions = {"kind": kind, "topic": topic, "tone": tone}
        chosen = {name: value for name, value in conditions.items() if value}
        where = " AND ".join(f"{name} = ?" for name in chosen) or "1"
        return self._entries(f"{where} ORDER BY at DESC LIMIT ?", (*chosen.values(), most))

    def of_subject(self, subject: str, kind: str = "", most: int = 500) -> list[Entry]:
        """The decisions about a subject, the newest first; about a page also those on its other addresses."""
        if kind == SubjectKind.PAGE:
            return self._entries("page = ? ORDER BY at DESC LIMIT ?", (page_number(subject), most))
        where, values = ("subject = ? AND kind = ?", (subject, kind)) if kind else ("subject = ?", (subject,))
        return self._entries(f"{where} ORDER BY at DESC LIMIT ?", (*values, most))

    def children(self, batch_id: str, most: int = 500) -> list[Entry]:
        """The decisions on the batches of a batch's extractions, the oldest first."""
        return self._entries("parent = ? ORDER BY at LIMIT ?", (batch_id, most))

    def mentions(self, url: str, most: int = 200) -> list[Mentioned]:
        """The events that name a page, the newest first."""
        rows = self._database.execute(
            f"SELECT {_OF_DECISION}, m.role, m.note FROM mentions m JOIN decisions d ON d.id = m.decision"  # noqa: S608
            " WHERE m.page = ? ORDER BY d.at DESC LIMIT ?",
            (page_number(url), most),
        )
        return [Mentioned(_entry(row[:-2]), *row[-2:]) for row in rows]

    def dots(self, since: int, most: int, *, topic: str = "") -> list[Dot]:
        """The newest decisions since a moment as dots, in no order."""
        where, values = ("AND topic = ?", (topic,)) if topic else ("", ())
        return self._database.execute(
            f"SELECT topic, partition, offset, at, score, tone FROM decisions WHERE at >= ? AND tone <> 'none' {where}"  # noqa: S608
            " ORDER BY at DESC LIMIT ?",
            (since, *values, most),
        ).fetchall()

    def states(self) -> dict[str, int]:
        """The scored pages by state, the most frequent first."""
        counted = "SELECT state, count(*) AS pages FROM decisions WHERE state <> '' GROUP BY state ORDER BY pages DESC"
        return dict(self._database.execute(counted).fetchall())

    def dead_letters(self) -> dict[str, int]:
        rows = self._database.execute("SELECT handler, count(*) FROM decisions WHERE tone = 'dead' GROUP BY handler")
        return dict(rows.fetchall())

    def judged(self, since: int) -> list[tuple[str, str, int, int, float]]:
        """The decisions of judges since a moment: day (UTC), judge, decisions, those from the journal, USD."""
        return self._database.execute(
            "SELECT date(at / 1000, 'unixepoch') AS day, judge, count(*), sum(cached), total(cost_usd) FROM decisions"
            " WHERE judge <> '' AND at >= ? GROUP BY day, judge ORDER BY day DESC, judge",
            (since,),
        ).fetchall()

    def _entries(self, where: str, values: Sequence[Any]) -> list[Entry]:
        rows = self._database.execute(f"SELECT {_OF_DECISION} FROM decisions d WHERE {where}", values)  # noqa: S608
        return [_entry(row) for row in rows]

    def _forget(self, number: int) -> None:
        oldest = "SELECT id FROM decisions ORDER BY at LIMIT ?"
        self._database.execute(f"DELETE FROM mentions WHERE decision IN ({oldest})", (number,))  # noqa: S608
        self._database.execute(f"DELETE FROM decisions WHERE id IN ({oldest})", (number,))  # noqa: S608
        self.count -= number


def _entry(row: tuple[Any, ...]) -> Entry:
    topic, partition, offset, *values, _ = row
    return Entry(Position(topic, partition, offset), *values)
