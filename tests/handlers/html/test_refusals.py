"""Pages without content, detected by their own words and by the target of redirects."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from handlers.fetch_page import FetchPageRules
from handlers.html.refusals import PageRefusalsSection, Refusals
from handlers.text.patterns import compile_patterns
from schemas.replies import FetchFailure
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

RULES = shipped_rules(FetchPageRules)
SECTION = RULES.page_refusals
REFUSALS = Refusals(SECTION, compile_patterns(RULES.patterns).details)
SOFT_404, CHALLENGE, NOTHING = FetchFailure.SOFT_404, FetchFailure.CHALLENGE, FetchFailure.NO_CONTENT


def reason_of(title: str, text: str, url: str = "") -> FetchFailure | None:
    refusal = REFUSALS.why_no_content((title,), text, url)
    return None if refusal is None else refusal.reason


ARTICLE = "The council met on Tuesday and spoke for three hours about the bridge. " * 40
TEASERS = "The bridge opens in May. The library stays shut. Five new buses. " * 20


@pytest.mark.parametrize(("reason", "text"), TABLES["refusing"])
def test_pages_refuse_in_many_languages(reason: str, text: str) -> None:
    assert reason_of("Harbour", text.replace(" / ", "\n")) == reason


@pytest.mark.parametrize("text", TABLES["everyday"])
def test_everyday_texts_refuse_nothing(text: str) -> None:
    assert reason_of("Harbour", text) is None


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        *((title, text, expected and FetchFailure[expected]) for title, text, expected in TABLES["pages"]),
        ("The bridge", ARTICLE, None),
        ("Page not found | Harbour News", TEASERS, SOFT_404),
        ("Hafenblatt – Seite nicht gefunden", TEASERS, SOFT_404),
    ],
)
def test_what_a_page_says_of_itself(title: str, text: str, expected: FetchFailure | None) -> None:
    assert reason_of(title, text) is expected


@pytest.mark.parametrize(
    ("title", "text"),
    [
        *TABLES["what_only_sounds_like_it_is_content"],
        ("Why sites say access denied", ARTICLE),
        ("Access denied", ARTICLE),
        ("Access denied: a novel", TEASERS),
        ("404", ARTICLE),
        ("How to fix error 404: page not found", TEASERS),
    ],
)
def test_what_only_sounds_like_it_is_content(title: str, text: str) -> None:
    assert reason_of(title, text) is None


@pytest.mark.parametrize(("title", "text"), TABLES["an_everyday_title_needs_a_second_sign"])
def test_an_everyday_title_needs_a_second_sign(title: str, text: str) -> None:
    assert reason_of(title, text) is None


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [(title, text, FetchFailure[expected]) for title, text, expected in TABLES["second_sign"]],
)
def test_second_sign_is_missing_text_or_words_for_the_reader(title: str, text: str, expected: FetchFailure) -> None:
    assert reason_of(title, text) is expected


@pytest.mark.parametrize("title", ["Forbidden", "forbidden", "HTTP 404"])
def test_a_title_that_the_address_names_is_the_subject(title: str) -> None:
    url = f"https://dictionary.example/words/{title.replace(' ', '_')}"
    assert reason_of(title, "", url) is None
    assert reason_of(title, "You don't have permission to access this.", url) is CHALLENGE


@pytest.mark.parametrize(
    ("path", "title", "text", "expected"),
    [
        *(
            (path, title, text, expected and FetchFailure[expected])
            for path, title, text, expected in TABLES["title_in_the_address"]
        ),
        ("blog/page-not-found", "Page not found", ARTICLE, None),
        ("blog/page-not-found", "Page not found", TEASERS, None),
    ],
)
def test_a_title_in_the_address_refuses_a_page_without_text(
    path: str, title: str, text: str, expected: FetchFailure | None
) -> None:
    assert reason_of(title, text, f"https://x.example/{path}") is expected


@pytest.mark.parametrize(("title", "lines"), TABLES["a_consent_wall_has_its_buttons_on_lines_of_their_own"])
def test_a_consent_wall_has_its_buttons_on_lines_of_their_own(title: str, lines: str) -> None:
    assert reason_of(title, lines.replace(" / ", "\n")) is CHALLENGE


def test_the_nearest_of_several_places_of_a_phrase_counts() -> None:
    text = "The page of the guide that you asked for may be gone: page not found."
    assert reason_of("Harbour", text) is SOFT_404


def test_any_of_the_titles_may_say_it() -> None:
    refusal = REFUSALS.why_no_content(("Harbour News", "Harbour News", "Page not found"), TEASERS)
    assert refusal is not None
    assert refusal.reason is SOFT_404
    assert refusal.words == "Page not found"


@given(st.text(max_size=80), st.text(max_size=80))
def test_nothing_raises(one: str, other: str) -> None:
    REFUSALS.why_no_content((one,), other)


def test_a_statement_names_groups_that_exist() -> None:
    kinds = {"soft_404": {"titles": [], "close": [], "statements": [["no_such_group"]]}}
    with pytest.raises(ValidationError, match="words has no group 'no_such_group'"):
        PageRefusalsSection.model_validate(SECTION.model_dump() | {"kinds": kinds})
