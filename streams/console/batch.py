"""The screen ``batch``: the results of a search before and after the loop, the evidence in them, and the attempts."""

from __future__ import annotations

from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from schemas.event import Event
from schemas.extraction import ExtractionCompleted, ExtractionNeeded
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
from streams.console.words import Span
from streams.topology import RESULTS_CLASSIFIED
from streams.views.subjects import SubjectKind

_MOST_LISTED = 100
_MOST_BATCHES = 40
_MOST_ABOVE = 20
_DIMENSIONS = {
    "context_recall": "contextRecall",
    "context_precision": "contextPrecision",
    "source_quality": "sourceQuality",
    "actionable_information": "actionableInformation",
}
"""The fields of the scores, and the names of their thresholds."""


def routes(context: Context) -> list[Route]:
    """The list of batches, and a batch."""
    its = _Batches(context)
    return [Route("/batch", its.listed), Route("/batch/{batch_id:path}", its.batch)]


SCREEN = Screen("Batches", "/batch", "b", "what the loop made of search results", routes)


@dataclass(frozen=True, slots=True)
class Result:
    """A result with its text, the marks of its evidence, and how it was scored."""

    of: ClassifiedResult
    content: RetrievedContent | None
    spans: tuple[Span, ...]
    detail: SourceDetail | None


@dataclass(frozen=True, slots=True)
class Step:
    """A step of an attempt, and its reason."""

    name: str
    told: str
    tone: str
    entry: Entry


@dataclass(slots=True)
class Attempt:
    """A batch of a tree and everything that was decided about it. What has expired is None or missing."""

    batch_id: str
    parent: str = ""
    entries: list[Entry] = field(default_factory=list)
    batch: RetrievalBatch | None = None
    classified: ResultsClassified | None = None
    evaluated: RetrievalEvaluated | None = None
    search: SearchEvaluated | None = None
    completed: list[ExtractionCompleted] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    children: list[Attempt] = field(default_factory=list)

    @property
    def number(self) -> int:
        """The number of the attempt."""
        known = self.classified or self.batch or self.evaluated or self.search
        return known.attempt if known else 1

    @property
    def query(self) -> str:
        """The query; "" if every record has expired."""
        known = self.classified or self.batch or self.evaluated or self.search
        return known.query if known else ""

    @property
    def tone(self) -> str:
        """Good if the batch passed."""
        return "none" if self.evaluated is None else "good" if self.evaluated.passed else "poor"

    @property
    def results(self) -> list[Result]:
        """The results, with the evidence that lies within the text that the event carries."""
        if self.classified is None:
            return []
        contents = self.classified.retrieved_content
        details = self.evaluated.source_details if self.evaluated else ()
        found = []
        for number, its in enumerate(self.classified.results):
            content = contents[number] if number < len(contents) else None
            length = len(content.content) if content else 0
            spans = tuple(Span(one.start, one.end, one.kind, _value(one)) for one in its.evidence if one.end <= length)
            detail = details[number] if number < len(details) and details[number].url == its.url else None
            found.append(Result(its, content, spans, detail))
        return found

    def add(self, entry: Entry, event: Event) -> None:
        """Adds a record about this batch; the newest of a kind counts."""
        match event:
            case RetrievalBatch():
                self.batch = self.batch or event
            case ResultsClassified():
                self.classified = self.classified or event
                reason = event.extraction_reason or "no extraction is needed"
                self.steps.append(Step("classified", f"{entry.verdict}; {reason}", entry.tone, entry))
            case RetrievalEvaluated():
                self.evaluated = self.evaluated or event
                self.steps.append(Step("evaluated", f"{entry.verdict} ({event.score_source})", entry.tone, entry))
            case SearchEvaluated():
                self.search = self.search or event
                self.steps.append(Step("search", f"{entry.verdict}. {event.gaps}".rstrip(), entry.tone, entry))
            case ExtractionNeeded():
                why = event.extraction_reason or event.reason
                self.steps.append(Step("pages requested", f"{event.target_url}: {why}", "none", entry))
            case ExtractionCompleted():
                self.completed.append(event)
                self.steps.append(Step("pages fetched", f"{entry.verdict}: {event.target_url}", entry.tone, entry))
            case _:
                pass


class _Batches:
    def __init__(self, context: Context) -> None:
        self._context = context

    async def listed(self, request: Request) -> Response:
        entries = self._context.store.newest(_MOST_LISTED, topic=RESULTS_CLASSIFIED.name)
        return self._context.render(request, "list.html", title="Batches", heading="Batches", entries=entries)

    async def batch(self, request: Request) -> Response:
        wanted = request.path_params["batch_id"]
        context = self._context
        root, attempts = await self._attempts(wanted)
        chosen = attempts.get(wanted)
        if chosen is None or not chosen.entries:
            return context.missing(request, "No such batch", f"No decision about the batch {wanted} is kept.")
        above = attempts.get(chosen.parent)
        before, after = (chosen, chosen.children) if chosen.children or above is None else (above, [chosen])
        return context.render(
            request,
            "batch.html",
            chosen=chosen,
            root=root,
            before=before,
            after=after,
            dimensions=_DIMENSIONS,
            thresholds=context.settings.retrievalEvaluation.dimensionThresholds,
        )

    async def _attempts(self, wanted: str) -> tuple[Attempt, dict[str, Attempt]]:
        """The first attempt of the batch's tree, and all of them by id."""
        store = self._context.store
        root = wanted
        for _ in range(_MOST_ABOVE):
            above = next((its.parent for its in store.of_subject(root, SubjectKind.BATCH) if its.parent), "")
            if not above or above == root:
                break
            root = above
        attempts = {root: Attempt(root, entries=store.of_subject(root, SubjectKind.BATCH))}
        waiting = [root]
        while waiting and len(attempts) < _MOST_BATCHES:
            above = waiting.pop(0)
            for child in dict.fromkeys(its.subject for its in store.children(above)):
                if child not in attempts:
                    attempts[child] = Attempt(child, above, store.of_subject(child, SubjectKind.BATCH))
                    attempts[above].children.append(attempts[child])
                    waiting.append(child)
        positions = [entry.position for attempt in attempts.values() for entry in attempt.entries if not entry.run]
        reads = await self._context.records.events(positions)
        for attempt in attempts.values():
            for entry in attempt.entries:
                read = reads.get(entry.position)
                if read is not None and isinstance(read.event, Event):
                    attempt.add(entry, read.event)
            attempt.steps.sort(key=lambda step: step.entry.at)
        return attempts[root], attempts


def _value(evidence: object) -> str:
    """What the classifier read in a detail, as a title."""
    fields = ("amount", "currency", "unit", "date", "time", "name")
    known = (str(value) for name in fields if (value := getattr(evidence, name, None)))
    return f"{getattr(evidence, 'kind', '')}: {' '.join(known)}"
