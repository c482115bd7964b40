"""The console's store: the newest decisions and their positions, in a temporary SQLite database.

It is bounded: the oldest decisions leave. It is rebuilt from the topics at every start, so nothing of it has to be kept
or migrated, and a decision that arrives twice is stored once. A full-text index finds the words of a decision.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields
from operator import attrgetter
from typing import Any, NamedTuple

from streams.console.entries import TONES, Entry, Mention, Position
from streams.topology import PAGES_SCORED
from streams.views.words import page_number

_FIELDS = [its.name for its in fields(Entry) if its.name != "position"]
_TYPES = {"at": "INTEGER NOT NULL", "cached": "INTEGER NOT NULL", "score": "REAL", "cost_usd": "REAL"}
_SCHEMA = f"""
CREATE TABLE decisions (
  id INTEGER PRIMARY KEY, topic TEXT NOT NULL, partition INTEGER NOT NULL, offset INTEGER NOT NULL,
  thing INTEGER NOT NULL, {", ".join(f"{name} {_TYPES.get(name, 'TEXT NOT NULL')}" for name in _FIELDS)},
  UNIQUE (topic, partition, offset)
);
CREATE INDEX by_time ON decisions (at);
CREATE INDEX by_topic ON decisions (topic, at, state);
CREATE INDEX by_kind ON decisions (kind, at);
CREATE INDEX by_tone ON decisions (tone, at, topic, state);
CREATE INDEX by_thing ON decisions (thing, at);
CREATE INDEX by_judge ON decisions (at, judge) WHERE judge <> '';
CREATE INDEX by_parent ON decisions (parent) WHERE parent <> '';
CREATE VIRTUAL TABLE words USING fts5 (text, content='', columnsize=0, tokenize='unicode61 remove_diacritics 2');
CREATE TABLE things (id INTEGER PRIMARY KEY, thing INTEGER NOT NULL);
CREATE TABLE mentions (decision INTEGER NOT NULL, page INTEGER NOT NULL, role TEXT NOT NULL, note TEXT NOT NULL);
CREATE INDEX mentions_of_page ON mentions (page);
CREATE INDEX mentions_of_decision ON mentions (decision);
"""
_CACHE_KIB = 65_536
_MOST_NUMBER = 2**63 - 1  # the largest number of SQLite and of Kafka; an address can have any
_SAMPLE = 20_000
_SPARE = 0.02
"""The share of decisions above the bound before the oldest are deleted: deleting one at a time is slower."""
_COLUMNS = ["topic", "partition", "offset", *_FIELDS]
_VALUES = attrgetter("position.topic", "position.partition", "position.offset", *_FIELDS)
# Another decision about the same may say what this is about: a judgment does not repeat the claim.
_TITLE = """CASE WHEN d.title <> '' THEN d.title ELSE coalesce((SELECT o.title FROM decisions o
  WHERE o.thing = d.thing AND o.title <> '' ORDER BY o.at DESC LIMIT 1), '') END"""
_OF_DECISION = ", ".join(_TITLE if column == "title" else f"d.{column}" for column in _COLUMNS)
_MARKS = ", ".join("?" * (len(_COLUMNS) + 1))
_INSERT = f"INSERT OR IGNORE INTO decisions ({', '.join(_COLUMNS)}, thing) VALUES ({_MARKS})"  # noqa: S608
_SEARCHED = ("title", "subject", "verdict", "reasons")
_ALL_TONES = ", ".join(f"'{tone}'" for tone in TONES)
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

Dot = tuple[str, int, int, int, float | None, str]  # topic, partition, offset, time, score and tone


class Mentioned(NamedTuple):
    entry: Entry
    role: str
    note: str


class Counts(NamedTuple):
    """Decisions of a span of time: all, dead letters, scored pages, and those of them without content."""

    decisions: int
    dead: int
    pages: int
    refused: int


class Condition(NamedTuple):
    sql: str
    values: tuple[Any, ...] = ()


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
        database, new = self._database, []
        with database:  # commits
            database.execute("BEGIN")
            for entry, mentions in entries:
                thing = page_number(entry.subject)
                added = database.execute(_INSERT, (*_VALUES(entry), thing))
                if added.rowcount:
                    new.append(entry)
                    text = words_of("\n".join(getattr(entry, name) for name in _SEARCHED))
                    database.execute("INSERT INTO things VALUES (?, ?)", (added.lastrowid, thing))
                    database.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (added.lastrowid, text))
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

    def find(self, conditions: Iterable[Condition], most: int, before: str = "") -> tuple[list[Entry], str]:
        """The newest decisions under all conditions from behind a place, and the place behind them; "" at the end."""
        chosen = [*conditions]
        if before:
            chosen.append(Condition("(d.at, d.id) < (?, ?)", tuple(map(int, before.split(".")))))
        rows = self._database.execute(
            f"SELECT {_OF_DECISION}, d.id FROM decisions d WHERE {' AND '.join(its.sql for its in chosen) or '1'}"  # noqa: S608
            " ORDER BY d.at DESC, d.id DESC LIMIT ?",
            [*(value for its in chosen for value in its.values), most + 1],
        ).fetchall()
        shown = [_entry(row[:-1]) for row in rows[:most]]
        return shown, f"{shown[-1].at}.{rows[most - 1][-1]}" if len(rows) > most else ""

    def newest(self, most: int, *, topic: str = "") -> list[Entry]:
        return self.find([Condition("d.topic = ?", (topic,))] if topic else (), most)[0]

    def values(self, column: str, prefix: str, scope: Condition, most: int) -> list[str]:
        """The values of a column that begin so, the most frequent first, of the newest decisions."""
        newest = f"SELECT d.{column} AS value FROM decisions d WHERE {scope.sql} ORDER BY d.at DESC LIMIT {_SAMPLE}"  # noqa: S608
        rows = self._database.execute(
            f"SELECT value FROM ({newest}) WHERE value <> '' AND value LIKE ? ESCAPE '!'"  # noqa: S608
            " GROUP BY value ORDER BY count(*) DESC, value LIMIT ?",
            (*scope.values, re.sub("([!%_])", r"!\1", prefix) + "%", most),
        )
        return [value for (value,) in rows]

    def of_subject(self, subject: str, kind: str = "", most: int = 500) -> list[Entry]:
        """The decisions about a subject, the newest first; about a page also those on its other addresses."""
        return self._entries(
            "thing = ? AND ? IN ('', kind) ORDER BY at DESC LIMIT ?", (page_number(subject), kind, most)
        )

    def children(self, batch_id: str, most: int = 500) -> list[Entry]:
        """The decisions on the batches of a batch's extractions, the oldest first."""
        return self._entries("parent = ? ORDER BY at LIMIT ?", (batch_id, most))

    def root(self, batch_id: str, most: int = 20) -> str:
        """The first batch of the tree that a batch is in."""
        for _ in range(most):
            above = "SELECT parent FROM decisions WHERE thing = ? AND parent <> '' AND parent <> subject LIMIT 1"
            found = self._database.execute(above, (page_number(batch_id),)).fetchone()
            if found is None:
                break
            [batch_id] = found
        return batch_id

    def mentions(self, url: str, most: int = 200) -> list[Mentioned]:
        rows = self._database.execute(
            f"SELECT {_OF_DECISION}, m.role, m.note FROM mentions m JOIN decisions d ON d.id = m.decision"  # noqa: S608
            " WHERE m.page = ? ORDER BY d.at DESC LIMIT ?",
            (page_number(url), most),
        )
        return [Mentioned(_entry(row[:-2]), *row[-2:]) for row in rows]

    def dots(self, since: int, most: int, *, topic: str = "") -> list[Dot]:
        """The newest decisions since a moment as dots, in no order."""
        return self._database.execute(
            "SELECT topic, partition, offset, at, score, tone FROM decisions WHERE at >= ? AND tone <> 'none'"
            " AND ? IN ('', topic) ORDER BY at DESC LIMIT ?",
            (since, topic, most),
        ).fetchall()

    def states(self) -> dict[str, int]:
        counted = "SELECT state, count(*) AS pages FROM decisions WHERE topic = ? GROUP BY state ORDER BY pages DESC"
        return dict(self._database.execute(counted, (PAGES_SCORED.name,)).fetchall())

    def dead_letters(self) -> dict[str, int]:
        rows = self._database.execute("SELECT handler, count(*) FROM decisions WHERE tone = 'dead' GROUP BY handler")
        return dict(rows.fetchall())

    def counts(self, since: int, until: int) -> Counts:
        row = self._database.execute(
            "SELECT count(*), total(tone = 'dead'), total(topic = ?1), total(topic = ?1 AND state <> 'content')"  # noqa: S608
            f" FROM decisions WHERE tone IN ({_ALL_TONES}) AND at >= ?2 AND at < ?3",
            (PAGES_SCORED.name, since, until),
        ).fetchone()
        return Counts(*map(int, row))

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
        database, oldest = self._database, "SELECT id FROM decisions ORDER BY at LIMIT ?"
        # An index without the texts needs them again to delete their words.
        texts = database.execute(f"SELECT id, {', '.join(_SEARCHED)} FROM decisions WHERE id IN ({oldest})", (number,))  # noqa: S608
        gone = [(identity, words_of("\n".join(parts))) for identity, *parts in texts]
        database.executemany("INSERT INTO words (words, rowid, text) VALUES ('delete', ?, ?)", gone)
        for table, column in (("mentions", "decision"), ("things", "id"), ("decisions", "id")):
            database.execute(f"DELETE FROM {table} WHERE {column} IN ({oldest})", (number,))  # noqa: S608
        self.count -= number


def words_of(text: str) -> str:
    """A text for the index, in which each character of a script without blanks is a word.

    >>> words_of("石門 dam")
    ' 石  門  dam'
    """
    return text if text.isascii() else _CJK.sub(r" \g<0> ", text)


def _entry(row: tuple[Any, ...]) -> Entry:
    topic, partition, offset, *values = row
    return Entry(Position(topic, partition, offset), *values)
