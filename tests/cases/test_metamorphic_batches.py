"""Changes of a batch whose effect on the verdict is known without labels.

Each table row is a query with one result that answers it, and the words of that result that the query needs. The
batches of the everyday situations that pass are varied as well.
"""

from datetime import UTC, datetime
from typing import Any

import pytest

from handlers.classify_results import ClassifyResultsRules, classify_results
from handlers.evaluate_retrieval import EvaluateRetrievalRules, evaluate_retrieval, read_retrieval
from handlers.evaluate_search import EvaluateSearchRules, evaluate_search, read_search
from schemas.outcome import Emit
from schemas.retrieval import ResultsClassified, RetrievalBatch, RetrievalEvaluated
from schemas.search import SearchEvaluated
from tests.rules import shipped_rules
from tests.samples import emitted, instance, judged_offline
from tests.tables import tables

TABLES = tables(__file__)

NOW = datetime(2026, 5, 14, 9, tzinfo=UTC)
CLASSIFY, EVALUATE = shipped_rules(ClassifyResultsRules), shipped_rules(EvaluateRetrievalRules)
SEARCH = shipped_rules(EvaluateSearchRules)
UNRELATED = {
    "url": "https://garden.example/roses",
    "title": "Pruning roses",
    "content": "Cut the stems above an outward bud in March. Take out dead wood first and burn it.",
}


def batch(query: str, *results: dict[str, Any]) -> RetrievalBatch:
    return RetrievalBatch.model_validate(
        {"batchId": "b", "query": query, "requestedAt": NOW.isoformat(), "retrievedContent": list(results)}
    )


def result(text: str, place: int = 0) -> dict[str, Any]:
    return {"url": f"https://site{place}.example/page-{place}", "title": "", "content": text, "contentKind": "snippet"}


def verdict(given: RetrievalBatch) -> RetrievalEvaluated:
    classified = instance(ResultsClassified, instance(Emit, classify_results(given, CLASSIFY)).events[0])
    step = evaluate_retrieval(classified, EVALUATE)
    return emitted(
        RetrievalEvaluated, judged_offline(step, lambda replies: read_retrieval(classified, replies, EVALUATE))
    )


def answers(query: str, *results: dict[str, Any]) -> bool:
    """Whether some result answers, by the words: what kinds of results these are does not matter here."""
    return verdict(batch(query, *results)).scores.context_precision > 0


def searched(goal: str, *results: dict[str, Any]) -> SearchEvaluated:
    given = batch(goal, *results)
    step = evaluate_search(given, SEARCH)
    return emitted(SearchEvaluated, judged_offline(step, lambda replies: read_search(given, replies, SEARCH)))


@pytest.mark.parametrize(("query", "text", "needed"), TABLES["answers"], ids=[row[0] for row in TABLES["answers"]])
def test_only_the_asked_detail_answers_beside_other_results(query: str, text: str, needed: str) -> None:
    without = result(text.replace(needed, "…"))
    assert answers(query, result(text))
    assert not answers(query, without)
    assert verdict(batch(query, without)).gaps
    assert answers(query, result(text), UNRELATED)
    assert answers(query, UNRELATED, result(text))
    assert answers(query, result(text), result(text, 1))
    assert not answers(query, without, UNRELATED)


@pytest.mark.parametrize(("query", "text", "stated", "other"), TABLES["a_contradicted_condition_is_not_met"])
def test_a_contradicted_condition_is_not_met(query: str, text: str, stated: str, other: str) -> None:
    assert answers(query, result(text))
    assert not answers(query, result(text.replace(stated, other)))


@pytest.mark.parametrize("goal", TABLES["the_verb_of_a_goal_changes_no_verdict"])
def test_the_verb_of_a_goal_changes_no_verdict(goal: str) -> None:
    recipe = goal.partition(" ")[2] if goal[0] != "R" else "Rezept für Quiche"
    results = [
        result(f"{recipe}: {text}", place) for place, text in enumerate(("with leek", "mit Zwiebeln", "aux lardons"))
    ]
    assert searched(goal, *results).satisfied == searched(recipe, *results).satisfied


@pytest.mark.parametrize(("goal", "kind", "has", "without"), TABLES["one_result_has_all_that_a_goal_states"])
def test_one_result_has_all_that_a_goal_states(goal: str, kind: str, has: str, without: str) -> None:
    def is_found(*rest: str) -> bool:
        names = ("Alma", "Fonte", "Olivo")
        return searched(goal, *(result(f"{kind} {names[at]}, {text}", at) for at, text in enumerate(rest))).satisfied

    assert is_found(*[f"Umbria. {has}"] * 3)
    assert not is_found(f"Umbria. {without}", *[f"Toscana. {has}"] * 2)
    assert not is_found(*["Umbria."] * 3)


def test_copies_on_other_sites_never_satisfy_a_search() -> None:
    text = "The central bank of Norway raised its key rate to 3.5 per cent on Thursday, the third rise in a year."
    one = searched("Find the key rate of Norway", result(text))
    copied = searched("Find the key rate of Norway", *(result(text, place) for place in range(5)))
    assert (copied.satisfied, copied.quality_score) == (one.satisfied, one.quality_score)
    assert copied.copies == ((0, 1, 2, 3, 4),)


def test_each_day_of_a_query_is_read() -> None:
    days = (words for pack in CLASSIFY.patterns.values() for words in pack.asked_days.values())
    for word in {word for words in days for word in words}:
        assert not verdict(batch(f"Bergen jazz {word}", result("Roses."))).passed, word


@pytest.mark.parametrize(("query", "text"), TABLES["a_good_result_meets_what_only_looks_like_a_condition"])
def test_a_good_result_meets_what_only_looks_like_a_condition(query: str, text: str) -> None:
    assert answers(query, result(text))
