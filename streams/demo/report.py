"""Prints the decisions of the demonstration in words, each with its reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rich.padding import Padding
from rich.text import Text

from schemas.claims import ClaimEvaluated, ExtractedClaim
from schemas.event import Event
from schemas.extraction import ExtractionCompleted
from schemas.pages import ScoredPage
from schemas.ranking import RankingCompleted
from schemas.relevance import SnippetsCompleted
from schemas.retrieval import ResultsClassified, RetrievalEvaluated
from schemas.search import SearchEvaluated
from streams.demo.tally import Tally
from streams.views.screen import Screen
from streams.views.words import reasons_of, verdict_of

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
_SHOWN = 3
"""The decisions of a kind, and the reasons of a decision, that are shown."""


def tell_decisions(console: Screen, tally: Tally) -> None:
    judge = "asked of a model" if tally.asked_models else "answered by the offline judge: rules, no model"
    for question, is_judged, kinds in _SECTIONS:
        _section(console, f"{question}  {judge}" if is_judged else question)
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
