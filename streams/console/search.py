"""The query of the lists: words, and filters such as ``host:bbc.com label:LOW score<40 since:yesterday``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from streams.console.store import Condition, Store, words_of
from streams.dlq.selection import SelectionError, moment

_COLUMNS = ("host", "label", "tier", "state", "source", "handler", "passed")
_TIMES = {"since": ">=", "until": "<"}
_DAYS = {"today": 0, "yesterday": 1}
FILTERS: Mapping[str, str] = {
    "host:": "a host, with the hosts below it",
    "label:": "HIGH, MEDIUM or LOW",
    "tier:": "A, B or C",
    "state:": "of a page: content, login, needs_render …; how another decision ended",
    "source:": "listed, unlisted or contested",
    "score<": "or score>, of 100",
    "handler:": "the handler that decided",
    "passed:": "yes or no",
    "since:": "today, yesterday, 2h, 7d or a day",
    "until:": "the same, for the end",
}
_TERM = re.compile(r'(?P<name>[a-z]+)(?P<sign>:|[<>]=?)(?P<value>"[^"]*"|\S*)|"(?P<quoted>[^"]*)"?|(?P<word>\S+)')
_SUGGESTED = 12
MOST_CHARACTERS = 1_000


def read_query(text: str, now: datetime) -> tuple[list[Condition], str]:
    """The conditions of a query, and what of it is wrong; what is no filter is a word to be found, by its beginning."""
    conditions, words, problem = list[Condition](), list[str](), ""
    for term in _TERM.finditer(text[:MOST_CHARACTERS]):
        name, value = term["name"], (term["value"] or "").strip('"')
        try:
            condition = _condition(name, term["sign"], value, now) if name else None
        except (ValueError, SelectionError) as error:
            problem = f"{term[0]}: {error}"
            continue
        if condition is not None:
            conditions.append(condition)
        elif word := term["quoted"] or term["word"] or (term[0] if name else ""):
            words.append(word)
    if phrases := [
        f'"{words_of(word)}" *' for word in (its.replace('"', " ") for its in words) if re.search(r"\w", word)
    ]:
        # A word may be in another decision about the same: a judgment does not repeat the claim.
        matching = "SELECT o.thing FROM words w JOIN things o ON o.id = w.rowid WHERE w.words MATCH ?"
        conditions.append(Condition(f"d.thing IN ({matching})", (" AND ".join(phrases),)))
    return conditions, problem


def _condition(name: str, sign: str, value: str, now: datetime) -> Condition | None:
    """The condition of a filter; None for what is no filter. Raises ValueError or SelectionError."""
    if name == "score":
        return Condition(f"d.score {sign.replace(':', '=')} ?", (float(value),))
    if sign != ":":
        return None
    if name == "host":
        return Condition("(d.host = ? OR d.host LIKE '%.' || ?)", (value.lower(), value.lower()))
    if name in _COLUMNS:
        return Condition(f"d.{name} = ? COLLATE NOCASE", (value,))
    if name in _TIMES:
        return Condition(f"d.at {_TIMES[name]} ?", (int(_instant(value, now).timestamp() * 1000),))
    return None


def _instant(value: str, now: datetime) -> datetime:
    if value in _DAYS:
        return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=_DAYS[value])
    instant = moment("it", value, now)
    if instant is None:
        raise ValueError("a time is missing")
    return instant


def suggestions(store: Store, scope: Condition, text: str) -> list[str]:
    """Queries that go on from this one: names of filters, and values that the store has."""
    before, blank, last = text[:MOST_CHARACTERS].rpartition(" ")
    name, colon, prefix = last.partition(":")
    if colon and name in _COLUMNS:
        found = [f"{name}:{value}" for value in store.values(name, prefix, scope, _SUGGESTED)]
    elif colon and name in _TIMES:
        found = [f"{name}:{value}" for value in ("today", "yesterday", "1h", "7d") if value.startswith(prefix)]
    else:
        found = [its for its in FILTERS if its.startswith(last)]
    return [before + blank + its for its in found]
