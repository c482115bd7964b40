"""The facets of a query, and how many of them a result answers; one word more or less may change that."""

from datetime import UTC, datetime, timedelta
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handlers.evaluate_retrieval import EvaluateRetrievalRules
from handlers.retrieval.facets import answers, met, share_of
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

READER = shipped_rules(EvaluateRetrievalRules).queries


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


_QUERIES = ("who sang", "is", "how many", "without", "tuesday", "under")
_PIECES = ("by", "Queen", "sang", "€ 9", ":", "5", "é", "誰")
_TEXTS = st.lists(st.sampled_from(_PIECES), max_size=5)


@settings(max_examples=400)
@given(st.sampled_from(_QUERIES), _TEXTS, _TEXTS, st.sampled_from(("", " ")))
def test_any_query_and_text_are_compared(begin: str, query: list[str], text: list[str], blank: str) -> None:
    assert 0 <= share(" ".join((begin, *query)), blank.join(text)) <= 1


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


@pytest.mark.parametrize(("query", "text", "contradicted"), TABLES["only_another_value_contradicts"])
def test_only_another_value_contradicts(query: str, text: str, *, contradicted: bool) -> None:
    seen = READER.see("", text)
    assert any(facet.contradicts(seen) for facet in READER.read(query) if facet.contradicts) is contradicted


SUBJECTS = ("Corva fryer", "Musée Lindal", "Ellmouth ferry", "Hotel Brückner", "北浜タワー")


@pytest.mark.parametrize(("asked", "right", "wrong"), TABLES["what_is_asked_for"])
@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_result_answers_only_with_what_is_asked_for(subject: str, asked: str, right: str, wrong: str) -> None:
    texts = (f"{subject}. {text}" for text in (right, wrong))
    assert [is_answer(f"{subject} {asked}", text) for text in texts] == [True, False]


@pytest.mark.parametrize(("query", "affirmed", "denied"), TABLES["what_a_result_denies"])
def test_a_result_that_denies_what_is_asked_for_fails(query: str, affirmed: str, denied: list[str]) -> None:
    for asked in (query, f"the {query}"):
        assert is_answer(f"{asked} Corva", f"Corva. {affirmed}", "Corva")
        assert not [text for text in denied if is_answer(f"{asked} Corva", f"Corva. {text}", "Corva")]


@pytest.mark.parametrize(("query", "text"), TABLES["what_is_no_denial"])
def test_a_negation_of_something_else_denies_nothing(query: str, text: str) -> None:
    assert is_answer(f"{query} Corva", f"Corva. {text}", "Corva")


@pytest.mark.parametrize("feature", ["balcony", "swimming pool", "gym and sauna"])
def test_only_the_feature_itself_is_denied(feature: str) -> None:
    query, rooms = f"hotel with {feature} in Corva", "Corva. A hotel."
    assert not is_answer(query, f"{rooms} It has no {feature}.")
    for place in ("on", "for", "without"):
        assert is_answer(query, f"{rooms} No smoking {place} the {feature}.")
    for said in ("where smoking is not allowed", "if dogs are not accepted", "but no garage"):
        assert is_answer(query, f"{rooms} It has the {feature} {said}.")


@pytest.mark.parametrize(("one", "other"), TABLES["definite_forms"])
def test_forms_of_one_word_meet_each_other(one: str, other: str) -> None:
    assert is_answer(f"{one} Corva", f"Corva, {other}")
    assert is_answer(f"{other} Corva", f"Corva, {one}")


@pytest.mark.parametrize(("asked", "right", "wrong"), TABLES["what_a_title_names"])
def test_a_title_that_names_another_one_is_about_that(asked: str, right: str, wrong: str) -> None:
    text = f"Settings for dark mode. More than {wrong}, and later {asked}."
    assert [is_answer(f"dark mode {asked}", text, f"Dark mode: {title}") for title in (right, wrong)] == [True, False]


@pytest.mark.parametrize(("day", "hours"), TABLES["days_of_opening"])
def test_hours_of_opening_are_those_of_their_days(day: str, hours: str) -> None:
    names = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    assert "".join(name[:2] for name in names if is_answer(f"Corva shop open {name}", f"Corva shop. {hours}")) == day


@pytest.mark.parametrize("query", TABLES["words_that_choose_nothing"])
def test_a_word_of_another_meaning_is_no_choice(query: str) -> None:
    chosen = {"return", "singles", "disponible", "HT", "rated 4.5", "train 7.30", "Konzert 24.12"}
    conditions = [facet for facet in READER.read(query) if facet.is_condition and facet.text in chosen]
    assert not [facet for facet in conditions if not facet.is_subject or " " in facet.text]


def test_a_text_may_date_an_older_version() -> None:
    text = "Version 1.30 came in April 2024. The previous version, 1.29, dates from 13 December 2023."
    assert is_answer("Kubernetes 1.29 release date", text, "Kubernetes 1.30")


@pytest.mark.parametrize("text", ["closed " * 3571 + "1 " + "monday " * 3571, "no need " * 6000])
def test_many_signs_take_linear_time(text: str) -> None:
    started = process_time()
    is_answer("Corva shop with garden open monday", text)
    assert process_time() - started < 5
