"""The screen ``batch``: the results of a search before and after the loop, the evidence in them, and the attempts."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from schemas.event import Event
from schemas.extraction import ExtractionCompleted, ExtractionNeeded, SkippedSource
from schemas.outcome import Dead
from schemas.retrieval import (
    ClassifiedResult,
    ResultsClassified,
    RetrievalBatch,
    RetrievalEvaluated,
    RetrievedContent,
    SourceDetail,
)
from schemas.search import SearchEvaluated
from streams.console.context import Context, Screen
from streams.console.entries import Entry
from streams.console.lists import render_list
from streams.console.objects import Events, events_of, first_of
from streams.console.words import Span
from streams.views.words import SubjectKind

_MOST_BATCHES = 40
_DIMENSIONS = {
    "context_recall": "contextRecall",
    "context_precision": "contextPrecision",
    "source_quality": "sourceQuality",
    "actionable_information": "actionableInformation",
}
"""The fields of the scores, and the names of their thresholds."""
_STEPS: dict[type, str] = {
    ResultsClassified: "classified",
    RetrievalEvaluated: "evaluated",
    SearchEvaluated: "search",
    ExtractionNeeded: "pages requested",
    ExtractionCompleted: "pages fetched",
}


class Result(NamedTuple):
    """A result with its text, the marks of its evidence, and how it was scored."""

    of: ClassifiedResult
    content: RetrievedContent | None
    spans: tuple[Span, ...]
    detail: SourceDetail | None


@dataclass(slots=True)
class Attempt:
    """A batch of a tree and everything that was decided about it. What has expired is None or missing."""

    batch_id: str
    parent: str
    entries: list[Entry]
    children: list[Attempt] = field(default_factory=list)
    batch: RetrievalBatch | None = None
    classified: ResultsClassified | None = None
    evaluated: RetrievalEvaluated | None = None
    search: SearchEvaluated | None = None
    events: Events = ()

    def add(self, events: Events) -> None:
        """Adds the records about this batch, the newest first; the newest of a kind counts."""
        self.events, self.batch = events, first_of(events, RetrievalBatch)
        self.classified, self.evaluated = first_of(events, ResultsClassified), first_of(events, RetrievalEvaluated)
        self.search = first_of(events, SearchEvaluated)

    @property
    def known(self) -> ResultsClassified | RetrievalBatch | RetrievalEvaluated | SearchEvaluated | None:
        """A record that has the query and the number of the attempt."""
        return self.classified or self.batch or self.evaluated or self.search

    @property
    def skipped(self) -> list[SkippedSource]:
        return [page for _, event in self.events if isinstance(event, ExtractionCompleted) for page in event.skipped]

    @property
    def steps(self) -> list[tuple[str, str, Entry]]:
        known = [(entry, event) for entry, event in reversed(self.events) if type(event) in _STEPS]
        return [(_STEPS[type(event)], _told(entry, event), entry) for entry, event in known]

    @property
    def number(self) -> int:
        return self.known.attempt if self.known else 1

    @property
    def query(self) -> str:
        return self.known.query if self.known else ""

    @property
    def tone(self) -> str:
        return "none" if self.evaluated is None else "good" if self.evaluated.passed else "poor"

    @property
    def results(self) -> list[Result]:
        """The results, with the evidence that lies within the text that the event carries."""
        if self.classified is None:
            return []
        details = self.evaluated.source_details if self.evaluated else ()
        found = []
        for its, content, detail in zip_longest(self.classified.results, self.classified.retrieved_content, details):
            if its is None:
                break
            length = len(content.content) if content else 0
            spans = tuple(Span(one.start, one.end, one.kind, _value(one)) for one in its.evidence if one.end <= length)
            found.append(Result(its, content, spans, detail if detail and detail.url == its.url else None))
        return found


def routes(context: Context) -> list[Route]:
    return [
        Route("/batch", partial(render_list, context, "/batch")),
        Route("/batch/{batch_id:path}", partial(_show, context)),
    ]


SCREEN = Screen("Batches", "/batch", "b", "what the loop made of search results", routes)


async def _show(context: Context, request: Request) -> Response:
    batch_id = request.path_params["batch_id"]
    root, attempts = await _attempts(context, batch_id)
    chosen = attempts.get(batch_id)
    if chosen is None or not chosen.entries:
        return context.missing(request, "No such batch", f"No decision about the batch {batch_id} is kept.")
    above = attempts.get(chosen.parent)
    before, after = (chosen, chosen.children) if chosen.children or above is None else (above, [chosen])
    last = max((its for its in attempts.values() if its.evaluated), key=_order, default=None)
    needed = context.settings.retrievalEvaluation.dimensionThresholds
    shown: dict[str, Any] = {"chosen": chosen, "last": last, "root": root, "before": before, "after": after}
    return context.render(request, "batch.html", **shown, dimensions=_DIMENSIONS, thresholds=needed)


def _order(attempt: Attempt) -> tuple[int, bool]:
    """The last attempt, and of several extractions one that passed, is the greatest."""
    return attempt.number, attempt.evaluated is not None and attempt.evaluated.passed


async def _attempts(context: Context, batch_id: str) -> tuple[Attempt, dict[str, Attempt]]:
    """The first attempt of the batch's tree, and all of them by id."""
    store = context.store
    root = store.root(batch_id)
    attempts = {root: Attempt(root, "", store.of_subject(root, SubjectKind.BATCH))}
    waiting = [root]
    while waiting and len(attempts) < _MOST_BATCHES:
        above = waiting.pop(0)
        for child in dict.fromkeys(its.subject for its in store.children(above)):
            if child not in attempts:
                attempts[child] = Attempt(child, above, store.of_subject(child, SubjectKind.BATCH))
                attempts[above].children.append(attempts[child])
                waiting.append(child)
    live = [entry for attempt in attempts.values() for entry in attempt.entries if not entry.run]
    events = await events_of(context, live)
    for attempt in attempts.values():
        attempt.add([(entry, event) for entry, event in events if entry.subject == attempt.batch_id])
    return attempts[root], attempts


def _told(entry: Entry, event: Event | Dead) -> str:
    """The verdict of a step, and its reason or the page that it is about."""
    known = (getattr(event, name, None) for name in ("gaps", "extraction_reason", "target_url"))
    said = [value if isinstance(value, str) else ", ".join(value) for value in known if value]
    return "; ".join([entry.verdict, *said[:1]])


def _value(evidence: object) -> str:
    """What the classifier read in a detail, as a title."""
    fields = ("amount", "currency", "unit", "date", "time", "name")
    known = (str(value) for name in fields if (value := getattr(evidence, name, None)))
    return f"{getattr(evidence, 'kind', '')}: {' '.join(known)}"
