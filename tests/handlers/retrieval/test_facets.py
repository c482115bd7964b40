"""The facets of a query, and how many of them a result answers."""

from datetime import UTC, datetime, timedelta

import pytest

from handlers.evaluate_retrieval import EvaluateRetrievalRules
from handlers.retrieval.facets import answers, met, share_of
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

READER = shipped_rules(EvaluateRetrievalRules).queries
CONCERT = "Saturday, 29 November 2026, 20:00. Venue: Harbour House, Kystvejen 12, Aarhus. Price: 180 kr."


def share(query: str, text: str, title: str = "", *, is_listing: bool = False) -> float:
    facets = READER.read(query)
    seen = READER.see(title, text, is_listing=is_listing)
    return round(share_of(facets, [met(facet, seen) for facet in facets]), 2)


def is_answer(query: str, text: str, title: str = "") -> bool:
    facets = READER.read(query)
    seen = READER.see(title, text)
    return answers(facets, [met(facet, seen) for facet in facets], 0.5)


@pytest.mark.parametrize(("query", "text", "expected"), TABLES["how_much_of_a_query_a_text_answers"])
def test_how_much_of_a_query_a_text_answers(query: str, text: str, expected: float) -> None:
    assert share(query, text) == expected


def test_a_listing_has_the_subject_and_nothing_else() -> None:
    assert share("events in Aarhus today", "All events in Aarhus today", is_listing=True) == 0.33


def test_details_of_the_title_count() -> None:
    assert share("concerts 29 November", "Doors at seven.", title="Concert, 29 November, 20:00") == 1.0


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [*TABLES["matching_details_do_not_replace_the_subject"], *TABLES["conditions_are_met_by_what_a_text_says"]],
)
def test_subject_and_conditions_are_met_by_a_text(query: str, text: str, *, expected: bool) -> None:
    assert is_answer(query, text) is expected


@pytest.mark.parametrize(("words", "first", "last"), TABLES["days_that_words_mean_on_wednesday_11_november"])
def test_days_that_words_mean_on_wednesday_11_november(words: str, first: str, last: str) -> None:
    facets = READER.read(f"museum fair {words}", datetime(2026, 11, 11, tzinfo=UTC))
    days = [datetime.fromisoformat(f"2026-{edge}") for edge in (first, last)]

    def is_met(day: datetime) -> bool:
        seen = READER.see("", f"The museum fair is on {day.day} {day:%B} {day.year}.")
        return answers(facets, [met(facet, seen) for facet in facets], 1.0)

    assert [is_met(day) for day in days] == [True, True]
    assert [is_met(days[0] - timedelta(days=1)), is_met(days[1] + timedelta(days=1))] == [False, False]


def test_the_end_of_the_calendar_is_no_day() -> None:
    assert READER.read("museum open next month", datetime(9999, 12, 31, tzinfo=UTC))


@pytest.mark.parametrize(
    ("query", "text", "contradicted"),
    [
        ("jazz concerts saturday", "Jazz concerts at the club founded in 1998.", False),
        ("headphones under $50", "Headphones for 45 EUR.", False),
        ("headphones under $50", "Headphones, save $100, now $39.", False),
        ("headphones under $50", "Headphones, $100.", True),
        ("history of 1800 jewellery", "Jewellery from 1750 to 1850.", False),
        ("fair on 3 April 2026", "The fair of 5 April 2026.", True),
        ("first train from Harwell Mill to Stoke Ferry", "First train from Stoke Ferry to Harwell Mill: 05:48.", True),
        ("first train from Stoke Ferry to Harwell Mill", "First train from Stoke Ferry to Harwell Mill: 05:48.", False),
        ("zug von ulm nach köln", "Zug von Köln nach Ulm, und zurück von Ulm nach Köln.", False),
        ("zug von ulm nach köln", "Zug von Köln nach Ulm, 8:12 Uhr.", True),
        (
            "flights from Oslo to Bergen",
            "Oslo (OSL) to Bergen (BGO) from €49. Return flights from Bergen to Oslo.",
            False,
        ),
        ("último ferry de Verdal a Puerto Nero", "Último ferry de Puerto Nero a Verdal, 20:30.", True),
        ("concerts de jazz à Lyon", "Lyon : jazz au théâtre.", False),
        ("Bus von Altwied nach Neuhofen", "Linie 312 Neuhofen – Altwied: Abfahrten 22:10.", True),
        ("distance from Oslo to Bergen", "From Bergen to Oslo it is 463 km.", False),
        ("weather in May in Lisbon", "Lisbon in May: 22 degrees.", False),
        ("convert usd to eur", "Convert EUR to USD.", True),
    ],
)
def test_only_another_value_contradicts(query: str, text: str, *, contradicted: bool) -> None:
    seen = READER.see("", text)
    assert any(facet.contradicts(seen) for facet in READER.read(query) if facet.contradicts) is contradicted
