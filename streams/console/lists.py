"""The lists of decisions: one query for all, pages by a place in time, suggestions, and the export of what is found.

A list is a scope of the store at the path of its screen. Decisions about one subject on a page of a list are one group,
and so are the attempts of a batch.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from streams.console.entries import Entry
from streams.console.store import Condition, Store, words_of
from streams.console.words import link_of, page_path
from streams.dlq.selection import SelectionError, moment
from streams.topology import PAGES_SCORED, RESULTS_CLASSIFIED, RETRIEVAL_EVALUATED, SEARCH_EVALUATED
from streams.views.words import WEB, SubjectKind

if TYPE_CHECKING:
    from streams.console.context import Context

_LISTED = 60  # decisions of a page of a list
_EXPORTED = 500  # decisions of a step of an export; other requests are answered between two steps
_PLACE = re.compile(r"\d{1,18}\.\d{1,18}", re.ASCII)  # a place in a list


class Scope(NamedTuple):
    """What a list holds; ``title`` is its heading."""

    title: str
    path: str
    condition: Condition


def _of_kind(kind: SubjectKind) -> Condition:
    return Condition("d.kind = ? AND d.tone <> 'dead'", (kind.value,))


_ATTEMPTS = (RESULTS_CLASSIFIED.name, RETRIEVAL_EVALUATED.name, SEARCH_EVALUATED.name)
EVERYTHING = Scope("Decisions", "/find", Condition("1"))
SCOPES: Mapping[str, Scope] = {
    its.path: its
    for its in (
        EVERYTHING,
        Scope("Pages", "/page", Condition("d.topic = ?", (PAGES_SCORED.name,))),
        Scope("Batches", "/batch", Condition("d.kind = 'batch' AND d.topic IN (?, ?, ?)", _ATTEMPTS)),
        Scope("Claims", "/claim", _of_kind(SubjectKind.CLAIM)),
        Scope("Requests for sources", "/relevance", _of_kind(SubjectKind.REQUEST)),
        Scope("Queries", "/query", _of_kind(SubjectKind.QUERY)),
        Scope("Dead letters", "/dead-letters", Condition("d.tone = 'dead'")),
    )
}


class Group(NamedTuple):
    """Decisions about one subject: the one that says most of it, and the others, the newest first."""

    lead: Entry
    others: Sequence[Entry]


def groups_of(entries: Iterable[Entry], store: Store) -> list[Group]:
    """The groups, in the order of their newest decisions; a verdict that lets something pass or not leads."""
    members: defaultdict[tuple[str, str], list[Entry]] = defaultdict(list)
    for entry in entries:
        is_batch = entry.kind == SubjectKind.BATCH and entry.tone != "dead"
        members[entry.kind, store.root(entry.subject) if is_batch else entry.subject or entry.path].append(entry)
    leads = [(next((entry for entry in its if entry.passed), its[0]), its) for its in members.values()]
    return [Group(lead, [entry for entry in its if entry is not lead]) for lead, its in leads]


def asked_for(request: Request) -> str:
    return request.query_params.get("q", "").strip()[:MOST_CHARACTERS]


async def render_list(
    context: Context, path: str, request: Request, template: str = "list.html", status: int = 200, **values: Any
) -> Response:
    scope, text, before = SCOPES[path], asked_for(request), request.query_params.get("before", "")
    (conditions, problem), place = read_query(text, context.clock.now()), before if _PLACE.fullmatch(before) else ""
    entries, following = context.store.find([scope.condition, *conditions], _LISTED, place)
    asked = {"q": text} if text else {}
    values |= {"scope": scope, "asked": text, "query_problem": problem, "is_first": not place}
    values["groups"] = groups_of(entries, context.store)
    values["following"] = following and f"{path}?{urlencode(asked | {'before': following})}"
    values["export"] = f"/export?{urlencode({'in': path} | asked)}"
    values["elsewhere"] = f"/find?{urlencode(asked)}" if scope is not EVERYTHING and text else ""
    return context.render(request, template, status, **values)


def routes(context: Context) -> list[Route]:
    return [
        Route("/find", partial(_find, context)),
        Route("/suggest", partial(_suggest, context)),
        Route("/export", partial(_export, context)),
    ]


async def _find(context: Context, request: Request) -> Response:
    """Leads to the screen of an address or an id; lists what has the words."""
    text = asked_for(request)
    if text.startswith(WEB) and " " not in text:
        return RedirectResponse(page_path(text), 303)
    targets = {link_of(entry) for entry in context.store.of_subject(text)} if text else set()
    if len(targets) == 1:
        return RedirectResponse(targets.pop(), 303)
    return await render_list(context, EVERYTHING.path, request)


def _scope_of(request: Request) -> Scope:
    return SCOPES.get(request.query_params.get("in", ""), EVERYTHING)


async def _suggest(context: Context, request: Request) -> Response:
    given = request.query_params.get("q", "")
    return JSONResponse(suggestions(context.store, _scope_of(request).condition, given))


async def _export(context: Context, request: Request) -> Response:
    """What a query finds, as JSON lines."""
    conditions = [_scope_of(request).condition, *read_query(asked_for(request), context.clock.now())[0]]

    async def lines() -> AsyncIterator[str]:
        before: str | None = ""
        while before is not None:
            entries, following = context.store.find(conditions, _EXPORTED, before)
            yield "".join(json.dumps(_row(entry), ensure_ascii=False) + "\n" for entry in entries)
            before = following or None
            await asyncio.sleep(0)

    headers = {"content-disposition": 'attachment; filename="decisions.jsonl"'}
    return StreamingResponse(lines(), media_type="application/jsonl", headers=headers)


def _row(entry: Entry) -> dict[str, Any]:
    at = datetime.fromtimestamp(entry.at / 1000, UTC).isoformat(timespec="milliseconds")
    kept = {name: value for name, value in asdict(entry).items() if name != "position"}
    return asdict(entry.position) | kept | {"at": at}


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
