"""The screen ``dead_letters``: dead letters by handler and reason, each with its bytes; redrive and purge.

Redrive and purge are those of ``assay dlq``. Both begin with a dry run, whose page has a ticket for the action. A
ticket is for one selection and is used once, so an action is never done without its dry run, and never twice by a
second click.
"""

from __future__ import annotations

import asyncio
from codecs import getincrementaldecoder
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from secrets import token_urlsafe
from typing import Any, Literal
from urllib.parse import urlencode

from aiokafka.errors import KafkaError
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from schemas.event import derive_id
from streams.console.context import Context, Screen
from streams.console.lists import render_list
from streams.dlq.dead_letters import DeadLetterReader, DeadLetterRecord, LetterCounts, described, header_texts
from streams.dlq.redrive import RedriveOptions, purge, redrive
from streams.dlq.selection import Selection, SelectionError, selection_of
from streams.topology import handler_named

_LAST = 5000  # offsets of each partition, from its end, that the lists read
_SHOWN_BYTES = 16_384
_ROW_BYTES = 16
_OF_PLAN = 100  # dead letters of a replay that are listed, the newest
_FIELDS = ("handler", "reason", "key", "since", "until", "plan", "again")
_TICKETS = 200
_TICKET_AGE = timedelta(minutes=15)
_MOST_SENT = 10_000  # dead letters that one redrive here sends; the command has no such limit

Action = Literal["redrive", "purge"]


Chosen = Mapping[str, str]
"""What an address selects, by handler, reason, key and time; ``plan`` names a replay, and ``again`` says that those are
meant too that were sent again."""


def chosen_of(given: QueryParams) -> Chosen:
    texts = {name: given.get(name, "").strip()[:8192] for name in _FIELDS}
    return {name: text for name, text in texts.items() if text}


def _selection(chosen: Chosen, now: datetime) -> Selection:
    handlers, reasons = ([chosen[name]] if name in chosen else [] for name in ("handler", "reason"))
    return selection_of(
        handlers, reasons, None, chosen.get("key"), chosen.get("since", ""), chosen.get("until", ""), now
    )


@dataclass(frozen=True, slots=True)
class _Ticket:
    """The permission for one action on what a dry run has counted, at ``made_at``."""

    action: Action
    chosen: Chosen
    made_at: datetime
    secret: str = field(default_factory=partial(token_urlsafe, 16))


def routes(context: Context) -> list[Route]:
    letters, place = _DeadLetters(context), "/dead-letters/{handler}/{partition:int}/{offset:int}"
    return [
        Route("/dead-letters", letters.page),
        Route("/dead-letters/dry-run", letters.dry_run),
        Route("/dead-letters/do", context.guard.acting(letters.act), methods=["POST"]),
        Route(place, letters.letter),
        Route(place + "/bytes", letters.raw),
    ]


SCREEN = Screen("Dead letters", "/dead-letters", "d", "by handler and reason; send again, delete", routes)


class _DeadLetters:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._tickets: deque[_Ticket] = deque(maxlen=_TICKETS)
        self._acting = asyncio.Lock()
        self._reading = asyncio.Lock()  # one at a time reads the topics, because that may be many megabytes

    async def page(self, request: Request) -> Response:
        """Counts by handler and reason, and the letters that the query finds, or those of a replay."""
        plan = request.query_params.get("plan", "")[:48]
        counts, letters, problem, cut = LetterCounts(), deque[DeadLetterRecord](maxlen=_OF_PLAN), "", False
        resent: dict[str, str] = {}
        try:
            async with self._reading, DeadLetterReader(self._context.settings, Selection(), plan) as found:
                for handler, partition in found.partitions:
                    start = await found.start_of_last(partition, _LAST)
                    cut |= start > 0
                    async for letter in found.selected(handler, partition, start):
                        counts.add(letter)
                        if letter.redriven_by is not None:
                            resent[f"/dead-letters/{letter.id}"] = "sent again"
                        if plan:  # A list of pages would take much memory.
                            letters.append(replace(letter, record=replace(letter.record, value=None)))
        except KafkaError as error:
            problem = f"Kafka can't be read: {error}"
        shown: dict[str, Any] = {"plan": plan, "notes": resent, "problem": problem, "letters": letters}
        shown |= {"rows": counts.rows(everything=True), "waiting": counts.waiting, "most": _LAST if cut else 0}
        return await render_list(self._context, "/dead-letters", request, "dead_letters.html", **shown)

    async def letter(self, request: Request) -> Response:
        found = await self._letter(request)
        if isinstance(found, str):
            return self._context.missing(request, "No such dead letter", found)
        value, like = found.record.value or b"", {"handler": found.handler, "reason": found.note.reason}
        return self._context.render(
            request,
            "dead_letter.html",
            letter=found,
            notes=described(found),
            headers=header_texts(found),
            text=_text(value[:_SHOWN_BYTES]),
            dump=_dump(value[:_SHOWN_BYTES]),
            size=len(value),
            shown=min(len(value), _SHOWN_BYTES),
            plan=request.query_params.get("plan", ""),
            like=urlencode(like),
            same_key=urlencode(like | {"key": (found.record.key or b"").decode("utf-8", "replace")}),
        )

    async def raw(self, request: Request) -> Response:
        """The bytes of a letter as a file: a browser downloads them and does not show them."""
        found = await self._letter(request)
        if isinstance(found, str):
            return PlainTextResponse(found, 404)
        name = f"{found.handler}-{found.record.partition}-{found.record.offset}.bin"
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(found.record.value or b"", media_type="application/octet-stream", headers=headers)

    async def dry_run(self, request: Request) -> Response:
        """What a redrive or a purge would do; for a user who may act also the ticket to do it."""
        action: Action = "purge" if request.query_params.get("action") == "purge" else "redrive"
        ticket = _Ticket(action, chosen_of(request.query_params), self._context.clock.now())
        async with self._reading:
            told, problem = await self._done(ticket, dry_run=True)
        may_act = not problem and self._context.guard.may_act(request)
        if may_act:
            self._tickets.append(ticket)
        return self._context.render(
            request,
            "dead_letters_dry_run.html",
            action=action,
            chosen=ticket.chosen,
            selected=urlencode(dict(ticket.chosen)),
            told=told,
            problem=problem,
            ticket=ticket.secret if may_act else "",
        )

    async def act(self, request: Request) -> Response:
        async with request.form() as form:
            secret = str(form.get("ticket", ""))
        oldest = self._context.clock.now() - _TICKET_AGE
        ticket = next((its for its in self._tickets if its.secret == secret and its.made_at > oldest), None)
        told: dict[str, Any] = {}
        problem = "This was done already, or its dry run is too old. Nothing was done now."
        if ticket is not None:
            self._tickets.remove(ticket)
            async with self._acting:
                told, problem = await self._done(ticket, dry_run=False)
        status, action = (200, ticket.action) if ticket else (409, "")
        return self._context.render(
            request, "dead_letters_done.html", status, action=action, told=told, problem=problem
        )

    async def _done(self, ticket: _Ticket, *, dry_run: bool) -> tuple[dict[str, Any], str]:
        """The counts of an action or of its dry run, and why it failed.

        Letters that died after the dry run are left out, because the operator has not seen their count.
        """
        settings, chosen, now = self._context.settings, ticket.chosen, ticket.made_at
        if "plan" in chosen:
            return {}, "Dead letters of a replay are not sent again or deleted: another replay reads their inputs."
        try:
            selection = _selection(chosen, now)
            if ticket.action == "purge" and selection.open:
                # Only the handlers and reasons that the operator named, never all of them.
                return {}, "Name the dead letters to delete: a handler, a reason, a key or a time."
            selection = replace(selection, until=selection.until or now)
            if ticket.action == "purge":
                return asdict(await purge(settings, selection, only_redriven=False, dry_run=dry_run)), ""
            run = f"redrive-{derive_id(now.astimezone(UTC).isoformat())[:8]}"
            options = RedriveOptions(run, dry_run=dry_run, again="again" in chosen, limit=_MOST_SENT)
            sent = await redrive(settings, selection, options)
        except SelectionError as error:
            return {}, str(error)
        except KafkaError as error:
            return {}, f"Kafka failed; what was committed counts: {error}"
        skipped = [(why, count) for why, count in sorted(sent.skipped.items()) if count]
        rows = sorted(sent.targets.items())
        return {"run": run, "sent": sent.sent, "rows": rows, "skipped": skipped, "most": _MOST_SENT}, ""

    async def _letter(self, request: Request) -> DeadLetterRecord | str:
        """The letter of an address, or why it is gone. Raises KafkaError."""
        handler = request.path_params["handler"]
        if handler_named(handler) is None:
            return f"There is no handler {handler}."
        plan = request.query_params.get("plan", "")
        async with DeadLetterReader(self._context.settings, Selection((handler,)), plan) as found:
            letter = await found.letter_at(**request.path_params)
        return letter or "It was purged, or its retention is over."


def _text(value: bytes) -> str | None:
    """The bytes as text; None if they are not UTF-8. A character that the cut splits is left out."""
    try:
        return getincrementaldecoder("utf-8")().decode(value)
    except UnicodeDecodeError:
        return None


def _dump(value: bytes) -> str:
    """The bytes in hexadecimal and as ASCII, 16 a line.

    >>> _dump(b"<p>" + bytes([0, 255]))
    '00000000  3c 70 3e 00 ff                                    <p>..'
    """
    rows = [(start, value[start : start + _ROW_BYTES]) for start in range(0, len(value), _ROW_BYTES)]
    shown = [(at, row.hex(" "), "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)) for at, row in rows]
    return "\n".join(f"{at:08x}  {digits:<47}   {text}" for at, digits, text in shown)
