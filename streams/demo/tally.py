"""Counts the committed events of a demonstration, and prints the decisions with their reasons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

from rich.padding import Padding
from rich.text import Text

from schemas.claims import ClaimEvaluated, ExtractedClaim
from schemas.dead import DeadLetter
from schemas.event import Event
from schemas.extraction import ExtractionCompleted
from schemas.pages import CrawledPage, ScoredPage
from schemas.ranking import RankingCompleted
from schemas.relevance import SnippetsCompleted
from schemas.retrieval import ResultsClassified, RetrievalEvaluated
from schemas.search import SearchEvaluated
from streams.topology import topic_of
from streams.views.screen import Screen
from streams.views.words import DecisionCounts, reasons_of, verdict_of

Kind = TypeVar("Kind", bound=Event)


class Tally:
    def __init__(self) -> None:
        self._events: defaultdict[type[Event], list[Event]] = defaultdict(list)
        self._counts: defaultdict[str, DecisionCounts] = defaultdict(DecisionCounts)
        self.dead: list[DeadLetter] = []

    def see(self, event: Event) -> None:
        self._counts[topic_of(event).name].add(event)
        if not isinstance(event, CrawledPage):  # the largest events, and nothing shows them
            self._events[type(event)].append(event)

    def latest(self, kind: type[Kind]) -> dict[str, Kind]:
        """The last event of each key of the topic."""
        return {topic_of(event).key(event): event for event in cast("list[Kind]", self._events[kind])}

    def summary(self) -> dict[str, Any]:
        """Decisions by topic as ``assay stats`` counts them, and the dead letters."""
        return {
            "events": {name: counts.events for name, counts in self._counts.items()},
            "decisions": {name: counts.to_wire() for name, counts in self._counts.items() if counts.fields},
            "dead_letters": len(self.dead),
        }


Reasons = Callable[[Any], Iterable[str]]
_SECTIONS: Sequence[tuple[str, bool, Sequence[tuple[type[Event], Reasons]]]] = (
    ("How far can a page be trusted?", False, [(ScoredPage, reasons_of)]),
    (
        "Do the results answer the question, or are they only listings?",
        False,
        [
            (ResultsClassified, reasons_of),
            (ExtractionCompleted, reasons_of),
            (RetrievalEvaluated, lambda verdict: verdict.reasons),
        ],
    ),
    ("Is the search done?", True, [(SearchEvaluated, reasons_of)]),
    (
        "Which source answers, and what does it say?",
        True,
        [
            (
                SnippetsCompleted,
                lambda done: (f"{source.url}: {source.snippet or source.outcome}" for source in done.sources),
            )
        ],
    ),
    ("Is the claim clear without its context?", True, [(ClaimEvaluated, reasons_of)]),
    (
        "What does the index say, and how far can it be trusted?",
        True,
        [(RankingCompleted, lambda done: (f"{item.trust_label} {item.title or item.url}" for item in done.results))],
    ),
)
"""The questions that Assay answers, whether a judge answers them, and the decisions with what is shown of each."""
_SHOWN = 3  # the decisions of a kind, and the reasons of a decision, that are shown


def tell_decisions(console: Screen, tally: Tally) -> None:
    for question, is_judged, kinds in _SECTIONS:
        _section(console, f"{question}  answered by the offline judge: rules, no model" if is_judged else question)
        for kind, reasons in kinds:
            for decision in _chosen(tally, kind):
                lines = list(reasons(decision))
                _tell(console, _subject(tally, decision), verdict_of(decision), lines[:_SHOWN])
    _section(console, "What could not be used?")
    for letter in tally.dead:
        place = f"{letter.topic}, partition {letter.partition}, offset {letter.offset}; its bytes are kept"
        _tell(console, place, verdict_of(letter), [letter.error])
    console.print()


def _chosen(tally: Tally, kind: type[Event]) -> Sequence[Event]:
    """Some decisions; of pages the best, the worst and one between."""
    if kind is not ScoredPage:
        return list(tally.latest(kind).values())[:_SHOWN]
    pages = sorted(tally.latest(ScoredPage).values(), key=lambda page: -(page.cts_score or 0))
    return pages if len(pages) <= _SHOWN else [pages[0], pages[len(pages) // 2], pages[-1]]


def _subject(tally: Tally, decision: Any) -> str:
    if isinstance(decision, ClaimEvaluated) and (claim := tally.latest(ExtractedClaim).get(decision.claim_id)):
        return claim.claim_text
    names = ("query", "title", "target_url", "url", "batch_id", "claim_id")
    return next((text for name in names if (text := getattr(decision, name, None))), "")


def _section(console: Screen, title: str) -> None:
    console.print()
    console.rule(Text(title, style="bold"), align="left", style="dim")


def _tell(console: Screen, subject: str, verdict: str, reasons: Iterable[str]) -> None:
    console.print(Text(subject, style="bold"))
    console.print(Padding(verdict, (0, 0, 0, 2), expand=False))
    for reason in reasons:
        console.print(Padding(Text(reason, style="dim"), (0, 0, 0, 4), expand=False))
