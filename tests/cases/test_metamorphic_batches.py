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
from schemas.needs import Ask, AskModel
from schemas.outcome import Emit
from schemas.retrieval import ResultsClassified, RetrievalBatch, RetrievalEvaluated
from schemas.search import SearchEvaluated
from streams.llm.tasks import answer_offline
from tests.rules import shipped_rules
from tests.samples import instance

NOW = datetime(2026, 5, 14, 9, tzinfo=UTC)
CLASSIFY, EVALUATE = shipped_rules(ClassifyResultsRules), shipped_rules(EvaluateRetrievalRules)
SEARCH = shipped_rules(EvaluateSearchRules)
UNRELATED = {
    "url": "https://garden.example/roses",
    "title": "Pruning roses",
    "content": "Cut the stems above an outward bud in March. Take out dead wood first and burn it.",
}
ROWS = [
    ("how much is a season ticket for the Larkfield lido", "A season ticket for the Larkfield lido costs £96.", "£96"),
    ("was kostet eine Jahreskarte im Freibad Nordheim", "Die Jahreskarte im Freibad Nordheim kostet 85 €.", "85 €"),
    ("combien coûte le ferry pour l'île de Groix", "Le ferry pour l'île de Groix coûte 38 €.", "38 €"),
    ("ラークフィールド プール 料金", "ラークフィールドのプールの料金は大人600円です。", "600円"),
    ("Northfield parkrun on 4 April", "Northfield parkrun on 4 April is at the boat house, at 9am.", "4 April"),
    ("jazz concert in Bergen today", "A jazz concert in Bergen on 14 May 2026 at 20:00.", "14 May 2026"),
    ("Galaxy S24 screen repair", "The screen repair of a Galaxy S24 takes an hour.", "S24"),
    ("when was the Preston tram bridge built", "The Preston tram bridge was built in 1802.", "1802"),
    ("when does the Oybin castle open", "The castle in Oybin opens on 1 April.", "1 April"),
    ("who is the mayor of Oybin", "The mayor of Oybin is Tobias Steiner.", "Tobias Steiner"),
    ("how many rooms has the Hotel Kern", "The Hotel Kern has 48 rooms.", "48"),
    ("standing desk under $300", "A standing desk with two motors for $249.", "$249"),
    ("houses with 3 bedrooms in Ludlow", "Three houses with 3 bedrooms in Ludlow, each with a garden.", "Ludlow"),
]


def offline(need: Any) -> Any:
    return answer_offline(instance(AskModel, need))


def batch(query: str, *results: dict[str, Any]) -> RetrievalBatch:
    return RetrievalBatch.model_validate(
        {"batchId": "b", "query": query, "requestedAt": NOW.isoformat(), "retrievedContent": list(results)}
    )


def result(text: str, place: int = 0) -> dict[str, Any]:
    return {"url": f"https://site{place}.example/page-{place}", "title": "", "content": text, "contentKind": "snippet"}


def verdict(given: RetrievalBatch) -> RetrievalEvaluated:
    classified = instance(ResultsClassified, instance(Emit, classify_results(given, CLASSIFY)).events[0])
    step = evaluate_retrieval(classified, EVALUATE)
    if isinstance(step, Ask):
        step = read_retrieval(classified, (offline(step.need),), EVALUATE)
    return instance(RetrievalEvaluated, instance(Emit, step).events[0])


def answers(query: str, *results: dict[str, Any]) -> bool:
    """Whether some result answers, by the words: what kinds of results these are does not matter here."""
    return verdict(batch(query, *results)).scores.context_precision > 0


def searched(goal: str, *results: dict[str, Any]) -> SearchEvaluated:
    given = batch(goal, *results)
    step = evaluate_search(given, SEARCH)
    if isinstance(step, Ask):
        step = read_search(given, (offline(step.need),), SEARCH)
    return instance(SearchEvaluated, instance(Emit, step).events[0])


@pytest.mark.parametrize(("query", "text", "needed"), ROWS, ids=[row[0] for row in ROWS])
def test_without_the_asked_detail_nothing_answers(query: str, text: str, needed: str) -> None:
    assert answers(query, result(text))
    assert not answers(query, result(text.replace(needed, "…")))
    assert verdict(batch(query, result(text.replace(needed, "…")))).gaps


@pytest.mark.parametrize(("query", "text", "needed"), ROWS, ids=[row[0] for row in ROWS])
def test_an_unrelated_result_or_a_copy_changes_nothing(query: str, text: str, needed: str) -> None:
    assert answers(query, result(text), UNRELATED)
    assert answers(query, UNRELATED, result(text))
    assert answers(query, result(text), result(text, 1))
    assert not answers(query, result(text.replace(needed, "…")), UNRELATED)


@pytest.mark.parametrize(
    ("query", "text", "stated", "other"),
    [
        ("jazz in Bergen on 29 November", "Jazz in Bergen on 29 November, 20:00.", "29 November", "28 November"),
        ("annual report of Tallow 2025", "The annual report of Tallow for 2025.", "2025", "2019"),
        ("Flohmarkt Nordheim im Juni", "Flohmarkt in Nordheim am 6. Juni, ab 8 Uhr.", "6. Juni", "6. März"),
        ("iPhone 15 battery price", "A battery for the iPhone 15 costs $99.", "15", "14"),
        ("laptop under $1000", "A laptop with 16 GB for $899.", "$899", "$1,299"),
        ("portátil por menos de 500 euros", "Portátil con 8 GB por 450 euros.", "450 euros", "620 euros"),
        ("自行車 5000元以下", "自行車，售價 4500元。", "4500元", "9800元"),
        (
            "Öffnungszeiten Wertstoffhof Kempten",
            "Der Wertstoffhof Kempten hat von 9 bis 13 Uhr auf.",
            "Kempten",
            "Memmingen",
        ),
        ("opening times Ravelin Thornmere", "Ravelin Thornmere is open from 9 am to 5 pm.", "Thornmere", "Oakvale"),
        ("Blackthorn Tennis Club junior fee", "Blackthorn Tennis Club: junior fee £95 a year.", "junior", "adult"),
        ("musée de Brennac prix enfant", "Musée de Brennac : enfant 12 €.", "enfant", "adulte"),
    ],
)
def test_a_contradicted_condition_is_not_met(query: str, text: str, stated: str, other: str) -> None:
    assert answers(query, result(text))
    assert not answers(query, result(text.replace(stated, other)))


@pytest.mark.parametrize(
    "goal",
    [
        "Find a recipe for quiche",
        "Trouver une recette de quiche",
        "Znaleźć przepis na quiche",
        "Rezept für Quiche suchen",
    ],
)
def test_the_verb_of_a_goal_changes_no_verdict(goal: str) -> None:
    recipe = goal.partition(" ")[2] if goal[0] != "R" else "Rezept für Quiche"
    results = [
        result(f"{recipe}: {text}", place) for place, text in enumerate(("with leek", "mit Zwiebeln", "aux lardons"))
    ]
    assert searched(goal, *results).satisfied == searched(recipe, *results).satisfied


@pytest.mark.parametrize(
    ("goal", "kind", "has", "without"),
    [
        ("Find a farm stay in Umbria with a pool", "Farm stay", "With a pool.", "No pool, but a sauna."),
        ("Trovare agriturismo in Umbria con piscina", "Agriturismo", "Con piscina.", "Senza piscina, con sauna."),
        ("Ferienhof in Umbria mit Pool suchen", "Ferienhof", "Mit Pool.", "Kein Pool, aber Sauna."),
        ("Trouver un gîte en Umbria avec piscine", "Gîte", "Avec piscine.", "Il n'y a pas de piscine."),
    ],
)
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


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("wie kocht man reis", "Reis kochen: den Reis waschen, dann man kocht ihn zehn Minuten."),
        ("who won the race in Kelby", "The race in Kelby was won by Tim Cook."),
        ("what was hastings famous for in 1066", "Hastings was famous for a battle in 1066."),
        ("how many wives had Henry VIII", "Henry VIII had six wives."),
        ("address book app for mac", "An address book app for the Mac that syncs contacts."),
        ("today show hosts", "The hosts of the Today show since 12 March 2024."),
        ("what time does tesco close on sunday", "Tesco closes at 4 pm on Sunday."),
        ("student admission requirements Thornmere College", "Thornmere College asks for two A levels on admission."),
        ("price of a child car seat Ravelin", "The Ravelin car seat for toddlers costs £129."),
        ("adult ticket price Larkfield lido", "The Larkfield lido costs £6, children £3. A ticket is for one day."),
        ("subscribe to the Oakvale newsletter", "The Oakvale newsletter: subscribe here, and unsubscribe at any time."),
        ("Hotel Alpenblick Frühstückszeiten", "Im Hotel Alpenblick Garni gibt es von 7 bis 10 Uhr Frühstück."),
        ("Hundesteuer Anmeldung Gemeinde", "Hundesteuer der Gemeinde Oybin: Anmelden kann man Hunde im Rathaus."),
    ],
)
def test_a_good_result_meets_what_only_looks_like_a_condition(query: str, text: str) -> None:
    assert answers(query, result(text))
