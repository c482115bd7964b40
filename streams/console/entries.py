"""What the console keeps of a record: position, subject, verdict, reasons and what it is found by, but no text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Literal, get_args

from handlers.html.links import host_of
from handlers.trust.labels import TIERS
from schemas.claims import ClaimEvaluated
from schemas.dead import DeadLetter, is_marker
from schemas.documents import DocumentIndexed
from schemas.event import RUN_HEADER, Event
from schemas.extraction import ExtractionCompleted
from schemas.llm import LlmCall
from schemas.outcome import Dead
from schemas.pages import ScoredPage
from schemas.ranking import RankingCompleted
from schemas.relevance import RelevanceJudged, SnippetExtracted, SnippetsCompleted, SourceOutcome
from schemas.retrieval import ResultsClassified, RetrievalEvaluated
from schemas.search import SearchEvaluated
from schemas.states import State
from streams.topology.codec import Headers, timestamp
from streams.views.words import SubjectKind, page_number, reasons_of, subject_of, verdict_of

Tone = Literal["good", "fair", "low", "poor", "dead", "none"]
"""How good the subject of a decision is: a mark and a colour each; ``none`` if an event decides nothing."""
TONES: tuple[Tone, ...] = get_args(Tone)
Role = Literal["found", "fetched", "skipped", "judged", "cited", "ranked"]  # how an event names a page
_VERDICT_CHARACTERS = 300
_REASONS_CHARACTERS = 600
_TITLES, _OF_REQUEST = ("claim_text", "query", "title", "text"), ("query", "context")
"""The fields that say what a decision is about; the sources of a request have titles of their own."""
_MAX_MENTIONS = 200
_GOOD = 70
_FAIR = 40  # from these scores of 100 a verdict is good, or fair, if the event itself does not say
_TIER_TONES: dict[str, Tone] = dict(zip(TIERS, ("good", "fair", "low"), strict=True))
_TONES: dict[str, Tone] = {"ok": "good", "partial": "fair", "failed": "poor", "relevant": "good", "irrelevant": "poor"}
"""By how an extraction or a judgment ended."""
_SCORES: dict[type, str] = {
    ResultsClassified: "actionable_information",
    RetrievalEvaluated: "overall_score",
    SearchEvaluated: "quality_score",
    ClaimEvaluated: "decontextualization_score",
}
"""The field with the score of 1."""


def time_of(milliseconds: int) -> datetime:
    """The time of a record; 1970 if its producer gave it none that a calendar has, such as one in nanoseconds."""
    return timestamp(milliseconds) or datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class Position:
    """Where a record is; the topic is without the prefix."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"

    @property
    def path(self) -> str:
        return f"/decision/{self}"


@dataclass(frozen=True, slots=True)
class Mention:
    """That an event names a page: how, and what it says of it."""

    page: int
    role: Role
    note: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A record as the console lists it; "" for what it does not have."""

    position: Position
    at: int  # milliseconds since 1970
    handler: str
    kind: str
    subject: str
    verdict: str
    tone: Tone
    parent: str = ""  # the batch whose listing was extracted, for a batch
    score: float | None = None  # 0 to 100
    run: str = ""  # the replay or backfill that wrote it
    event_id: str = ""
    state: str = ""  # of a page; of other decisions how they ended; of a dead letter its reason
    judge: str = ""  # the model that answered
    cached: bool = False
    cost_usd: float | None = 0.0  # of the calls that were paid; None if the model has no price
    title: str = ""  # the title, the query or the claim
    reasons: str = ""
    host: str = ""
    label: str = ""
    tier: str = ""
    source: str = ""
    passed: str = ""  # "yes" or "no", for a decision that lets its subject pass or not

    @property
    def path(self) -> str:
        return self.position.path


def entry_of(position: Position, at: int, headers: Headers, event: Event | Dead) -> Entry | None:
    """The entry of a record on a topic of events; None for an event about nothing that has a screen."""
    texts = {name: value.decode("utf-8", "replace") for name, value in headers if value is not None}
    handler = texts.get("ce_source", "").removeprefix("assay/")
    run, identity = texts.get(RUN_HEADER, ""), texts.get("ce_id", "")
    if isinstance(event, Dead):
        return Entry(position, at, handler, "", "", _cut(verdict_of(event)), "dead", run=run, event_id=identity)
    if (subject := subject_of(event)) is None:
        return None
    call: LlmCall | None = getattr(event, "llm", None)
    score = _score(event)
    return Entry(
        position,
        at,
        handler,
        str(subject.kind),
        subject.id,
        _cut(verdict_of(event)),
        _tone(event, score),
        parent=_first(event, "parent_batch_id"),
        score=score,
        run=run,
        event_id=event.event_id or identity,
        state=_first(event, "state", "outcome", "status"),
        judge=call.model if call else "",
        cached=call.cached if call else False,
        cost_usd=(0.0 if call.cached else call.cost_usd) if call else 0.0,
        title=_cut(_first(event, *(_OF_REQUEST if subject.kind is SubjectKind.REQUEST else _TITLES))),
        reasons=_cut(
            "; ".join(sorted(reasons_of(event), key=lambda reason: reason[:1] not in "+-")), _REASONS_CHARACTERS
        ),
        host=host_of(_first(event, "url", "target_url")),
        label=_first(event, "trust_label"),
        tier=_first(event, "tier"),
        source=_first(event, "source"),
        passed=_passed(event),
    )


def dead_entry(
    position: Position, at: int, key: bytes | None, headers: Headers, kind: SubjectKind | None
) -> Entry | None:
    """The entry of a dead letter; None for the marker of a redrive. ``kind`` is of the keys of its topic."""
    if is_marker(headers):
        return None
    letter, subject = DeadLetter.of(headers), (key or b"").decode("utf-8", "replace")
    entry = Entry(position, at, letter.handler, str(kind or ""), subject, _cut(verdict_of(letter)), "dead")
    host = host_of(subject) if kind == SubjectKind.PAGE else ""
    return replace(entry, state=letter.reason, reasons=_cut(letter.error, _REASONS_CHARACTERS), host=host)


def mentions_of(event: Event) -> list[Mention]:
    named = islice(_named(event), _MAX_MENTIONS)
    return [Mention(page_number(url), role, note[:_VERDICT_CHARACTERS]) for url, role, note in named]


def _named(event: Event) -> Iterator[tuple[str, Role, str]]:
    match event:
        case ResultsClassified():
            for result in event.results:
                note = f"{result.result_type.lower().replace('_', ' ')}, actionable {result.actionable_score:.2f}"
                yield result.url, "found", f"in the results of “{event.query}”: {note}"
        case ExtractionCompleted():
            yield from ((page.url, "fetched", "fetched for a listing") for page in event.fetched)
            yield from ((page.url, "skipped", f"not fetched: {page.reason}") for page in event.skipped)
        case RelevanceJudged():
            yield event.url, "judged", verdict_of(event)
        case SnippetExtracted() if event.snippet:
            yield event.url, "cited", event.snippet
        case RankingCompleted():
            for ranked in event.results:
                yield ranked.url, "ranked", f"rank {ranked.rank} for “{event.query}”, {ranked.score:.2f}"
        case _:
            pass


def _first(event: Event, *names: str) -> str:
    return str(next((value for name in names if (value := getattr(event, name, None))), ""))


def _passed(event: Event) -> str:
    if isinstance(event, RankingCompleted):
        return "no" if event.nothing_relevant else "yes"
    said = [getattr(event, name, None) for name in ("passed", "satisfied", "promotable", "relevant")]
    return next(("yes" if value else "no" for value in said if value is not None), "")


def _score(event: Event) -> float | None:
    if isinstance(event, RankingCompleted):
        return 100 * event.results[0].score if event.results else None
    if isinstance(event, ScoredPage | DocumentIndexed):
        return event.cts_score
    value: float | None = getattr(event, _SCORES.get(type(event), ""), None)
    return None if value is None else 100 * value


def _tone(event: Event, score: float | None) -> Tone:
    """How good the subject is, as the event says it, else by its score."""
    match event:
        case ScoredPage() | DocumentIndexed():
            return _TIER_TONES[event.tier] if event.state is State.CONTENT else "poor"
        case RetrievalEvaluated():
            return "good" if event.passed else "poor"
        case SearchEvaluated():
            return "good" if event.satisfied else "fair"
        case RelevanceJudged():
            return _TONES.get(event.outcome, "fair")
        case RankingCompleted() if event.nothing_relevant:
            return "poor"
        case ExtractionCompleted():
            return _TONES[event.status]
        case SnippetsCompleted():
            return "good" if any(its.outcome is SourceOutcome.RELEVANT for its in event.sources) else "poor"
        case _:
            return "none" if score is None else "good" if score >= _GOOD else "fair" if score >= _FAIR else "poor"


def _cut(text: str, most: int = _VERDICT_CHARACTERS) -> str:
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else line[: most - 1] + "…"
