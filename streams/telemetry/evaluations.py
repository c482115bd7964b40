"""Decisions as attributes of spans, by the semantic conventions for generative AI: name, score and label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from schemas.claims import ClaimEvaluated
from schemas.event import Event
from schemas.pages import ScoredPage
from schemas.relevance import RelevanceJudged
from schemas.retrieval import ResultsClassified, RetrievalEvaluated
from schemas.search import SearchEvaluated


def evaluation_of(events: Sequence[Event]) -> Mapping[str, str | float]:
    """The attributes of the first decision among the events; empty for events that decide nothing about a text.

    Scores are from 0 to 1, as consoles for traces expect them.
    """
    for event in events:
        match event:
            case ScoredPage():
                score = None if event.cts_score is None else event.cts_score / 100
                return _evaluation("content_trust", score, event.trust_label)
            case ResultsClassified():
                label = "needs_extraction" if event.needs_extraction else "usable"
                return _evaluation("actionable_information", event.actionable_information, label)
            case RetrievalEvaluated():
                return _evaluation("retrieval", event.overall_score, "passed" if event.passed else "failed")
            case SearchEvaluated():
                return _evaluation("search", event.quality_score, event.recommendation)
            case RelevanceJudged():
                return _evaluation("relevance", None, event.outcome)
            case ClaimEvaluated():
                label = event.band if event.status == "success" else event.status
                return _evaluation("decontextualization", event.decontextualization_score, label)
    return {}


def _evaluation(name: str, score: float | None, label: str) -> Mapping[str, str | float]:
    given: dict[str, str | float] = {"gen_ai.evaluation.name": name, "gen_ai.evaluation.score.label": str(label)}
    return given if score is None else given | {"gen_ai.evaluation.score.value": score}
