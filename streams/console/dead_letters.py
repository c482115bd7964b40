"""The screen ``dead_letters``: dead letters by handler and reason, each with its bytes; redrive and purge.

Redrive and purge are those of ``assay dlq``. Both begin with a dry run, whose page has a ticket for the action. A
ticket is for one selection and is used once, so an action is never done without its dry run, and never twice by a
second click.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from secrets import token_urlsafe
from typing import Any, Literal
from urllib.parse import urlencode

from aiokafka.errors import KafkaError
from starlette.datastructures import FormData, QueryParams
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from schemas.event import derive_id
from schemas.outcome import DeadReason
from streams.console.context import Context, Screen
from streams.dlq.dead_letters import DeadLetterReader, DeadLetterRecord, Selection, SelectionError, selection_of
from streams.dlq.description import LetterCounts, described, header_texts
from streams.dlq.redrive import RedriveOptions, purge, redrive
from streams.topology import HANDLERS, handler_named

_LAST = 5000
"""Offsets of each partition, from its end, that the lists read."""
_LISTED = 100
_SHOWN_BYTES = 16_384
_ROW_BYTES = 16
_TICKETS = 200
_TICKET_AGE = timedelta(minutes=15)
_MOST_SENT = 10_000
"""Dead letters that one redrive here sends; the command has no such limit."""

Action = Literal["redrive", "purge"]


def routes(context: Context) -> list[Route]:
    """The list, one letter, the dry runs and the actions."""
    its = _DeadLetters(context)
    return [
        Route("/dead-letters", its.page),
        Route("/dead-letters/dry-run", its.dry_run),
        Route("/dead-letters/do", context.guard.acting(its.act), methods=["POST"]),
        Route("/dead-letters/{handler}/{partition:int}/{offset:int}", its.letter),
        Route("/dead-letters/{handler}/{partition:int}/{offset:int}/bytes", its.raw),
    ]


SCREEN = Screen("Dead letters", "/dead-letters", "d", "by handler and reason; send again, delete", routes)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The dead letters that an address or a form selects; an empty field selects all."""

    handler: str = ""
    reason: str = ""
    key: str = ""
    since: str = ""
    until: str = ""
    plan: str = ""
    again: bool = False

    @property
    def query(self) -> str:
        """As a part of an address."""
        return urlencode(self.fields)

    @property
    def fields(self) -> list[tuple[str, str]]:
        """What is selected, as the fields of a form."""
        named = ("handler", "reason", "key", "since", "until", "plan")
        return [(name, value) for name in named if (value := getattr(self, name))] + (
            [("again", "yes")] if self.again else []
        )

    def selection(self, now: datetime) -> Selection:
        """The selection. Raises SelectionError."""
        handlers, reasons = ([self.handler] if self.handler else []), ([self.reason] if self.reason else [])
        return selection_of(handlers, reasons, None, self.key or None, self.since, self.until, now)


def chosen_of(given: FormData | QueryParams) -> Chosen:
    """What an address or a form selects."""
    texts = {name: str(given.get(name, "")).strip()[:8192] for name in ("handler", "reason", "key", "since", "until")}
    return Chosen(**texts, plan=str(given.get("plan", ""))[:48], again=given.get("again") == "yes")


@dataclass(frozen=True, slots=True)
class _Ticket:
    """The permission for one action on what a dry run has counted, at ``made_at``."""

    secret: str
    action: Action
    chosen: Chosen
    made_at: datetime


class _DeadLetters:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._tickets: deque[_Ticket] = deque(maxlen=_TICKETS)
        self._acting = asyncio.Lock()
        self._reading = asyncio.Lock()
        """One at a time reads the topics, because that may be many megabytes."""

    async def page(self, request: Request) -> Response:
        """Counts by handler and reason, and the newest letters of the selection."""
        chosen = chosen_of(request.query_params)
        counts, letters, problem, cut = LetterCounts(), deque[DeadLetterRecord](maxlen=_LISTED), "", False
        try:
            selection = chosen.selection(self._context.clock.now())
            async with self._reading, DeadLetterReader(self._context.settings, selection, chosen.plan) as found:
                for handler, partition in found.partitions:
                    start = await found.start_of_last(partition, _LAST)
                    cut |= start > 0
                    async for letter in found.selected(handler, partition, start):
                        counts.add(letter)
                        if chosen.again or letter.redriven_by is None:
                            # A list of pages would take much memory.
                            letters.append(replace(letter, record=replace(letter.record, value=None)))
        except SelectionError as error:
            problem = str(error)
        except KafkaError as error:
            problem = f"Kafka can't be read: {error}"
        return self._context.render(
            request,
            "dead_letters.html",
            chosen=chosen,
            rows=counts.rows(everything=chosen.again),
            waiting=counts.waiting,
            letters=sorted(letters, key=lambda letter: letter.note.died_at, reverse=True),
            handlers=[handler.name for handler in HANDLERS],
            reasons=[str(reason) for reason in DeadReason],
            problem=problem,
            most=_LAST if cut else 0,
        )

    async def letter(self, request: Request) -> Response:
        """One letter: its notes, headers and bytes."""
        found = await self._letter(request)
        if isinstance(found, str):
            return self._context.missing(request, "No such dead letter", found)
        value = found.record.value or b""
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
            like=Chosen(found.handler, found.note.reason),
            same_key=Chosen(found.handler, found.note.reason, key=(found.record.key or b"").decode("utf-8", "replace")),
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
        chosen = chosen_of(request.query_params)
        action: Action = "purge" if request.query_params.get("action") == "purge" else "redrive"
        now = self._context.clock.now()
        async with self._reading:
            told, problem = await self._done(action, chosen, now, dry_run=True)
        ticket = ""
        if not problem and self._context.guard.may_act(request):
            ticket = token_urlsafe(16)
            self._tickets.append(_Ticket(ticket, action, chosen, now))
        return self._context.render(
            request,
            "dead_letters_dry_run.html",
            action=action,
            chosen=chosen,
            told=told,
            problem=problem,
            ticket=ticket,
        )

    async def act(self, request: Request) -> Response:
        """Does what a dry run has shown."""
        async with request.form() as form:
            secret = str(form.get("ticket", ""))
        oldest = self._context.clock.now() - _TICKET_AGE
        ticket = next((its for its in self._tickets if its.secret == secret and its.made_at > oldest), None)
        if ticket is None:
            return self._context.render(
                request,
                "dead_letters_done.html",
                409,
                action="",
                told={},
                problem="This was done already, or its dry run is too old. Nothing was done now.",
                chosen=Chosen(),
            )
        self._tickets.remove(ticket)
        async with self._acting:
            told, problem = await self._done(ticket.action, ticket.chosen, ticket.made_at, dry_run=False)
        return self._context.render(
            request, "dead_letters_done.html", action=ticket.action, told=told, problem=problem, chosen=ticket.chosen
        )

    async def _done(
        self, action: Action, chosen: Chosen, now: datetime, *, dry_run: bool
    ) -> tuple[dict[str, Any], str]:
        """The counts of an action or of its dry run, and why it failed; ``now`` is the time of the dry run.

        Letters that died after the dry run are left out, because the operator has not seen their count.
        """
        settings = self._context.settings
        if chosen.plan:
            return {}, "Dead letters of a replay are not sent again or deleted: another replay reads their inputs."
        try:
            selection = chosen.selection(now)
            if action == "purge":
                # Only the handlers and reasons that the operator named, never all of them.
                if selection.open:
                    return {}, "Name the dead letters to delete: a handler, a reason, a key or a time."
                purged = await purge(settings, _before(selection, now), only_redriven=False, dry_run=dry_run)
                return asdict(purged), ""
            run = f"redrive-{derive_id(now.astimezone(UTC).isoformat())[:8]}"
            options = RedriveOptions(run, dry_run=dry_run, again=chosen.again, limit=_MOST_SENT)
            sent = await redrive(settings, _before(selection, now), options)
        except SelectionError as error:
            return {}, str(error)
        except KafkaError as error:
            return {}, f"Kafka failed; what was committed counts: {error}"
        rows = [
            {"handler": handler, "reason": reason, "topic": topic, "letters": count}
            for (handler, reason, topic), count in sorted(sent.targets.items())
        ]
        skipped = [(why, count) for why, count in sorted(sent.skipped.items()) if count]
        return {"run": run, "sent": sent.sent, "rows": rows, "skipped": skipped, "most": _MOST_SENT}, ""

    async def _letter(self, request: Request) -> DeadLetterRecord | str:
        """The letter of an address, or why it is gone. Raises KafkaError."""
        its = request.path_params
        handler, partition, offset = its["handler"], its["partition"], its["offset"]
        if handler_named(handler) is None:
            return f"There is no handler {handler}."
        plan = request.query_params.get("plan", "")
        async with DeadLetterReader(self._context.settings, Selection((handler,)), plan) as found:
            letter = await found.letter_at(handler, partition, offset)
        return letter or "It was purged, or its retention is over."


def _before(selection: Selection, now: datetime) -> Selection:
    return selection if selection.until is not None else replace(selection, until=now)


def _text(value: bytes) -> str | None:
    """The bytes as text; None if they are not UTF-8. A character that the cut splits is left out."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data" and error.start > len(value) - 4:
            return value[: error.start].decode("utf-8")
        return None


def _dump(value: bytes) -> str:
    """The bytes in hexadecimal and as ASCII, 16 a line.

    >>> _dump(b"<p>" + bytes([0, 255]))
    '00000000  3c 70 3e 00 ff                                    <p>..'
    """
    lines = []
    for start in range(0, len(value), _ROW_BYTES):
        row = value[start : start + _ROW_BYTES]
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        lines.append(f"{start:08x}  {row.hex(' '):<47}   {shown}")
    return "\n".join(lines)
