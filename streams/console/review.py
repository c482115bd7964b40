"""The screen ``review``: an editor marks decisions right or wrong with one key; agreement by handler and version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from aiokafka.errors import KafkaError
from pydantic import ValidationError
from starlette.datastructures import FormData, QueryParams
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from schemas.event import Event
from schemas.outcome import Dead
from schemas.review import DecisionReviewed, ReviewedDecision
from streams.console.context import Context, Screen
from streams.console.entries import Entry, Position
from streams.console.records import Read
from streams.console.review_agreement import agreement
from streams.console.review_marks import Marks
from streams.console.words import link_of
from streams.replay.decisions import DECISION_FIELDS, allowed_values, values_at
from streams.topology import (
    CLAIMS_EVALUATED,
    HANDLERS,
    PAGES_SCORED,
    RANKING_COMPLETED,
    RELEVANCE_JUDGED,
    RESULTS_CLASSIFIED,
    RETRIEVAL_EVALUATED,
    SEARCH_EVALUATED,
    handler_named,
    topic_named,
)
from streams.views.words import reasons_of, verdict_of

_QUEUE = 20
"""Decisions of the queue that the screen lists."""
_LOOKED_AT = 2000
"""The newest decisions among which unmarked ones are looked for."""
_RECENT = 10
_TEXT = 4000
"""Characters of a decision's text."""
REVIEWED = (
    PAGES_SCORED,
    RESULTS_CLASSIFIED,
    RETRIEVAL_EVALUATED,
    SEARCH_EVALUATED,
    RELEVANCE_JUDGED,
    CLAIMS_EVALUATED,
    RANKING_COMPLETED,
)
"""The topics of decisions that an editor can judge; others hold effects, such as what was written to the index."""
_BY_HANDLER = {
    handler.name: [topic.name for topic in handler.emits if topic in REVIEWED]
    for handler in HANDLERS
    if any(topic in REVIEWED for topic in handler.emits)
}


def routes(context: Context) -> list[Route]:
    """The queue, one decision, and the mark."""
    its = _Review(context)
    return [
        Route("/review", its.next),
        Route("/review/mark", context.guard.acting(its.mark), methods=["POST"]),
        Route("/review/{topic}/{partition:int}/{offset:int}", its.one),
    ]


SCREEN = Screen("Review", "/review", "r", "mark decisions right or wrong; agreement", routes)


@dataclass(frozen=True, slots=True)
class Queue:
    """Which decisions are reviewed, and by whom."""

    handler: str = ""
    reviewer: str = ""
    skipped: str = ""

    def query(self, **changes: str) -> str:
        """As a part of an address, with some fields changed."""
        fields = {"handler": self.handler, "reviewer": self.reviewer, "skipped": self.skipped} | changes
        return urlencode({name: value for name, value in fields.items() if value})


def queue_of(given: FormData | QueryParams) -> Queue:
    """The queue of an address or a form."""
    handler = str(given.get("handler", ""))
    skipped = str(given.get("skipped", ""))
    return Queue(
        handler if handler in _BY_HANDLER else "",
        str(given.get("reviewer", "")).strip()[:100],
        skipped if skipped.isascii() and skipped.isdigit() and len(skipped) <= 6 else "",
    )


class _Review:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._marks = Marks(context.settings.kafka)
        context.resources.push_async_callback(self._marks.aclose)

    async def next(self, request: Request) -> Response:
        """The newest decision without a mark."""
        queue = queue_of(request.query_params)
        problem = await self._refreshed()
        waiting = self._waiting(queue)
        chosen = waiting[0] if waiting else None
        return await self._shown(request, queue, chosen, waiting, problem)

    async def one(self, request: Request) -> Response:
        """One decision, with its mark if it has one."""
        its = request.path_params
        position = Position(its["topic"], its["partition"], its["offset"])
        topic = topic_named(position.topic)
        if topic is None or topic not in REVIEWED:
            return self._context.missing(request, "Nothing to review", f"{position.topic} has no decisions to review.")
        queue = queue_of(request.query_params)
        problem = await self._refreshed()
        entry = self._context.store.at(position)
        return await self._shown(request, queue, entry, self._waiting(queue), problem, position)

    async def mark(self, request: Request) -> Response:
        """Writes a mark, and goes on to the next decision."""
        async with request.form() as form:
            values = {name: str(value) for name, value in form.items()}
            queue = queue_of(form)
        position = _position(values)
        if position is None or values.get("right") not in ("yes", "no"):
            return PlainTextResponse("The form names no decision or no mark.", 400)
        try:
            read = await self._context.records.event(position)
            if read is None or (shown := _shown_decision(read)) is None:
                return self._context.missing(request, "No such decision", "Its record is gone, or can't be read.")
            now = self._context.clock.now()
            is_right = values["right"] == "yes"
            review = DecisionReviewed(
                decision=shown["about"],
                right=is_right,
                expected=None if is_right else values.get("expected", "").strip()[:200] or None,
                note=values.get("note", "").strip()[:2000] or None,
                reviewer=queue.reviewer or None,
                reviewed_at=now,
            )
            await self._marks.write(review, now)
        except KafkaError as error:
            what = f"Kafka can't be reached: {error}"
            return self._context.render(request, "missing.html", 503, title="The mark was not written", what=what)
        return RedirectResponse(f"/review?{queue.query()}", 303)

    async def _refreshed(self) -> str:
        """Reads the newest marks; why they can't be read."""
        try:
            await self._marks.refresh()
        except KafkaError as error:
            await self._marks.aclose()
            return f"Kafka can't be read: {error}"
        return ""

    def _waiting(self, queue: Queue) -> list[Entry]:
        """The newest live decisions without a mark."""
        topics = _BY_HANDLER.get(queue.handler) or [topic.name for topic in REVIEWED]
        store, marks = self._context.store, self._marks.rows
        entries = [entry for topic in topics for entry in store.newest(_LOOKED_AT, topic=topic)]
        entries.sort(key=lambda entry: entry.at, reverse=True)
        # A record that can't be read has no kind.
        judged = [entry for entry in entries if entry.kind and not entry.run and entry.handler in _BY_HANDLER]
        open_ = [entry for entry in judged if _identity(entry) not in marks]
        return open_[int(queue.skipped or 0) :]

    async def _shown(
        self,
        request: Request,
        queue: Queue,
        entry: Entry | None,
        waiting: list[Entry],
        problem: str,
        position: Position | None = None,
    ) -> Response:
        at = position or (entry.position if entry else None)
        read: Read | None = None
        if at is not None:
            try:
                read = await self._context.records.event(at)
            except KafkaError as error:
                problem = f"Kafka can't be read: {error}"
        decision = _shown_decision(read)
        marks = self._marks.rows
        mark = marks.get(decision["about"].identity) if decision else None
        recent = sorted((its for its in marks.values() if its.reviewed_at), key=lambda its: str(its.reviewed_at))
        return self._context.render(
            request,
            "review.html",
            queue=queue,
            entry=entry,
            position=at,
            decision=decision,
            mark=mark,
            waiting=waiting[:_QUEUE],
            count=len(waiting),
            agreement=agreement(marks.values()),
            present=self._present_versions(),
            recent=list(reversed(recent[-_RECENT:])),
            handlers=list(_BY_HANDLER),
            link=link_of(entry) if entry else "",
            problem=problem,
        )

    def _present_versions(self) -> dict[str, str]:
        """The version of each handler's present rules, by the handler's name."""
        named = ((name, handler_named(name)) for name in _BY_HANDLER)
        return {name: self._context.other_rules(handler, "?") for name, handler in named if handler is not None}


def _identity(entry: Entry) -> str:
    its = entry.position
    return entry.event_id or f"{its.topic}/{its.partition}/{its.offset}"


def _position(values: dict[str, str]) -> Position | None:
    """The position that a form names, on a topic of decisions."""
    topic, partition, offset = (values.get(name, "") for name in ("topic", "partition", "offset"))
    numbers = all(text.isascii() and text.isdigit() and len(text) <= 18 for text in (partition, offset))
    if not numbers or topic not in {its.name for its in REVIEWED}:
        return None
    return Position(topic, int(partition), int(offset))


def _reviewed(read: Read) -> ReviewedDecision:
    """The decision that a mark is about."""
    its, topic = read.position, topic_named(read.position.topic)
    event: Any = read.event
    subject = topic.key(event) if topic is not None and isinstance(event, Event) else ""
    return ReviewedDecision(
        topic=its.topic,
        partition=its.partition,
        offset=its.offset,
        event_id=getattr(event, "event_id", None) or read.headers.get("ce_id"),
        handler=read.headers.get("ce_source", "").removeprefix("assay/") or "unknown",
        config_version=getattr(event, "config_version", None),
        subject=subject,
    )


def _shown_decision(read: Read | None) -> dict[str, Any] | None:
    """What an editor needs to judge a decision; None if there is no decision to show."""
    if read is None or isinstance(read.event, Dead):
        return None
    event = read.event
    try:
        about = _reviewed(read)
    except ValidationError:  # such as an id that is too long
        return None
    path = DECISION_FIELDS.get(type(event), "")
    wire = event.to_wire()
    decided = list(values_at(wire, path)) if path else []
    return {
        "about": about,
        "verdict": verdict_of(event),
        "reasons": reasons_of(event),
        "decided": ", ".join(dict.fromkeys(decided)),
        "field": path,
        "choices": _choices(type(event), path, decided),
        "title": str(getattr(event, "title", "") or getattr(event, "query", "") or ""),
        "text": str(getattr(event, "content", "") or getattr(event, "context", "") or "")[:_TEXT],
        "at": read.at,
    }


def _choices(event: type[Event], path: str, decided: list[str]) -> list[str]:
    """The other values of the decision's field; empty if they are not a closed set, or the field has several values."""
    if not path or "." in path:
        return []
    return [value for value in allowed_values(event, path) if value not in decided]
