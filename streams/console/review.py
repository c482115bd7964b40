"""The screen ``review``: an editor marks decisions right or wrong with one key; agreement by handler and version."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, NamedTuple
from urllib.parse import urlencode

from aiokafka.errors import KafkaError
from pydantic import ValidationError
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from schemas import review as reviews
from schemas.claims import UtteranceIndexed
from schemas.documents import DocumentIndexed
from schemas.event import Event
from schemas.extraction import ExtractionCompleted
from schemas.outcome import Dead
from schemas.pages import ScoredPage
from schemas.relevance import SnippetsCompleted
from schemas.retrieval import ResultsClassified
from schemas.review import DecisionReviewed, ReviewedDecision
from schemas.states import State
from streams.console.context import Context, Screen
from streams.console.entries import Entry, Position
from streams.console.objects import Read, position_of
from streams.console.reviews import Marks, agreement
from streams.console.store import Condition
from streams.console.words import link_of
from streams.replay.selection import allowed_values, values_at
from streams.topology import HANDLERS, TOPICS, handler_named, topic_of
from streams.views.words import DECISION_FIELDS, page_number, reasons_of, verdict_of

_QUEUE = 20  # decisions of the queue that the screen lists
_LOOKED_AT = 500  # the newest decisions among which unmarked ones are looked for
_RECENT = 10
_TEXT = 4000  # characters of a decision's text
_EFFECTS = (DocumentIndexed, ExtractionCompleted, SnippetsCompleted, UtteranceIndexed)
"""Events that say what was done, and not what was judged."""
_TOPICS = [topic.name for topic in TOPICS if topic.event in DECISION_FIELDS and topic.event not in _EFFECTS]
_BY_HANDLER = {
    handler.name: topics
    for handler in HANDLERS
    if (topics := [topic.name for topic in handler.emits if topic.name in _TOPICS])
}


def routes(context: Context) -> list[Route]:
    review, place = _Review(context), "/review/{topic}/{partition:int}/{offset:int}"
    return [
        Route("/review", review.next),
        Route(place, review.decision),
        Route(place, context.guard.acting(review.mark), methods=["POST"]),
    ]


SCREEN = Screen("Review", "/review", "r", "mark decisions right or wrong; agreement", routes)


class Queue(NamedTuple):
    """Which decisions are reviewed, and by whom."""

    handler: str = ""
    reviewer: str = ""
    skipped: str = ""

    def query(self, **changes: str) -> str:
        return urlencode({name: value for name, value in (self._asdict() | changes).items() if value})


def queue_of(given: QueryParams) -> Queue:
    handler, skipped = str(given.get("handler", "")), str(given.get("skipped", ""))
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
        return await self._show(request, None)

    async def decision(self, request: Request) -> Response:
        position = position_of(request)
        if position.topic not in _TOPICS:
            return self._context.missing(request, "Nothing to review", f"{position.topic} has no decisions to review.")
        return await self._show(request, position)

    async def mark(self, request: Request) -> Response:
        position, queue = position_of(request), queue_of(request.query_params)
        async with request.form() as form:
            values = {name: str(value).strip() for name, value in form.items()}
        if position.topic not in _TOPICS or values.get("right") not in ("yes", "no", "undo"):
            return PlainTextResponse("The form names no decision or no mark.", 400)
        try:
            read = (await self._context.records.events([position])).get(position)
            if read is None or (shown := _shown_decision(read)) is None:
                return self._context.missing(request, "No such decision", "Its record is gone, or can't be read.")
            now, is_wrong = self._context.clock.now(), values["right"] == "no"
            said = {
                name: value[: reviews.MAX_EXPECTED_CHARACTERS] for name, value in values.items() if value and is_wrong
            }
            facts: Any = {name: said[name] for name in shown["facts"] if name in said}
            review = DecisionReviewed(
                decision=shown["about"],
                right=values["right"] == "yes",
                expected=said.get("expected"),
                expected_facts=facts,
                withdrawn=values["right"] == "undo",
                note=values.get("note", "")[: reviews.MAX_NOTE_CHARACTERS] or None,
                reviewer=queue.reviewer or None,
                reviewed_at=now,
            )
            await self._marks.write(review, now)
        except KafkaError as error:
            what = f"Kafka can't be reached: {error}"
            return self._context.render(request, "missing.html", 503, title="The mark was not written", what=what)
        return RedirectResponse(f"/review?{queue.query()}", 303)

    def _waiting(self, queue: Queue) -> list[Entry]:
        topics = _BY_HANDLER.get(queue.handler, _TOPICS)
        # A record that can't be read has no kind.
        of_topics = Condition(
            f"d.topic IN ({', '.join('?' * len(topics))}) AND d.kind <> '' AND d.run = ''", (*topics,)
        )
        judged = self._context.store.find([of_topics], _LOOKED_AT)[0]
        unmarked = [its for its in judged if (its.event_id or str(its.position)) not in self._marks.rows]
        return [its for its in unmarked if its.handler in _BY_HANDLER][int(queue.skipped or 0) :]

    async def _show(self, request: Request, position: Position | None) -> Response:
        context, queue = self._context, queue_of(request.query_params)
        problem, read, waiting = "", None, list[Entry]()
        try:
            await self._marks.refresh()
            waiting = self._waiting(queue)
            position = position or (waiting[0].position if waiting else None)
            read = (await context.records.events([position])).get(position) if position else None
        except KafkaError as error:
            await self._marks.aclose()
            problem = f"Kafka can't be read: {error}"
        marks = self._marks.rows
        entry = context.store.at(position) if position else None
        decision = _shown_decision(read)
        recent = sorted((its for its in marks.values() if its.reviewed_at), key=lambda its: str(its.reviewed_at))
        shown: dict[str, Any] = {"queue": queue, "position": position, "decision": decision, "problem": problem}
        if decision:
            shown["mark"] = marks.get(decision["about"].identity)
            shown["copies"] = _marks_of_copies(decision["about"], marks.values())
        return context.render(
            request,
            "review.html",
            **shown,
            states=[*State],
            waiting=waiting[:_QUEUE],
            count=len(waiting),
            agreement=agreement(marks.values()),
            present={name: context.other_rules(handler_named(name), "?") for name in _BY_HANDLER},
            recent=recent[: -_RECENT - 1 : -1],
            handlers=list(_BY_HANDLER),
            link=link_of(entry) if entry else "",
        )


def _marks_of_copies(about: ReviewedDecision, marks: Iterable[DecisionReviewed]) -> list[DecisionReviewed]:
    """The marks on other decisions of the handler about the same: of a page that was crawled again, or of a replay."""
    thing = about.handler, page_number(about.subject)
    alike = [its for its in marks if (its.decision.handler, page_number(its.decision.subject)) == thing]
    return [its for its in alike if its.decision.identity != about.identity]


def _facts_of(event: Event) -> dict[str, str]:
    """The facts of a decision, beside its outcome, that an editor can correct."""
    match event:
        case ScoredPage():
            kind = event.quality_metadata.schema_type or ""
            found = {"date": event.date or "", "author": ", ".join(event.authors), "type": kind, "state": event.state}
            return {name: str(value) for name, value in found.items()}
        case ResultsClassified():
            return {"type": ", ".join(dict.fromkeys(its.result_type for its in event.results))}
        case _:
            return {}


def _shown_decision(read: Read | None) -> dict[str, Any] | None:
    """What an editor needs to judge a decision; None if there is no decision to show."""
    if read is None or isinstance(read.event, Dead):
        return None
    event = read.event
    try:
        about = ReviewedDecision(
            **asdict(read.position),
            event_id=event.event_id or read.headers.get("ce_id"),
            handler=read.headers.get("ce_source", "").removeprefix("assay/") or "unknown",
            config_version=getattr(event, "config_version", None),
            subject=topic_of(event).key(event),
        )
    except ValidationError:  # such as an id that is too long
        return None
    path = DECISION_FIELDS.get(type(event), "")
    decided = list(values_at(event.to_wire(), path)) if path else []
    # No choices if the values are not a closed set, or the field has several of them.
    choices = allowed_values(type(event), path) if path and "." not in path else []
    return {
        "about": about,
        "verdict": verdict_of(event),
        "reasons": reasons_of(event),
        "decided": ", ".join(dict.fromkeys(decided)),
        "field": path,
        "facts": _facts_of(event),
        "choices": [value for value in choices if value not in decided],
        "title": str(getattr(event, "title", "") or getattr(event, "query", "") or ""),
        "text": str(getattr(event, "content", "") or getattr(event, "context", "") or "")[:_TEXT],
        "at": read.at,
    }
