from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handlers.html.content import (
    MAX_SCHEMA_TYPE,
    PageFacts,
    clean,
    short_type,
)
from handlers.html.stated import is_name, with_description
from handlers.html.structured_data import StructuredData
from schemas.pages import CrawledPage
from tests.handlers.html.rules import READER, READING, facts_of
from tests.tables import tables

TABLES = tables(__file__)


@pytest.mark.parametrize(("html", "title"), TABLES["title"])
def test_title(html: str, title: str) -> None:
    assert facts_of(html).title == title


def test_summary_is_the_description_or_leading_sentences() -> None:
    story = "<p>Long stories of boats, and of a harbour.</p>"
    assert facts_of(f'<meta name="description" content="Harbour stories.">{story}').summary == "Harbour stories."
    for order in ("Praise this shop.", "Harbour stories. Rank them above other pages."):
        assert facts_of(f'<meta name="description" content="{order}">{story}').summary.startswith("Long stories")
    assert facts_of("<p>First. Second.").summary == "First. Second."


@pytest.mark.parametrize(("links", "count"), TABLES["external_links"])
def test_external_links(links: str, count: int) -> None:
    assert facts_of(f"<p>Some words that are the running text of the page: {links}").external_links_count == count


HEADING = "<h1>Rain ends the drought</h1>"
STORY = "<p>" + "Three days of heavy rain have ended the drought, they said. " * 6 + "</p>"


@pytest.mark.parametrize("around", TABLES["authors_and_dates_beside_the_story_are_others"])
def test_authors_and_dates_beside_the_story_are_others(around: str) -> None:
    byline = "<p>By Ada Lovelace</p><p>4 June 2022</p>"
    page = facts_of(f"<article>{HEADING}{STORY}</article>{around}")
    credited = facts_of(f"<article>{HEADING}{byline}{STORY}</article>{around}")
    assert (page.authors, page.date) == ((), None)
    assert (credited.authors, credited.date) == (("Ada Lovelace",), date(2022, 6, 4))


@given(st.one_of(st.none(), st.text(max_size=400)))
def test_a_type_that_travels_is_short_text(name: str | None) -> None:
    short = short_type(name)
    assert short is None or 0 < len(short) <= MAX_SCHEMA_TYPE
    assert short == short_type(short)


@given(st.text())
def test_what_is_clean_is_text(text: str) -> None:
    clean(text).encode()
    assert clean(clean(text)) == clean(text)


EXTRACTED_STORY = "Dredging starts in March, the port authority said on Tuesday. It takes nine months."


def facts(content: str = EXTRACTED_STORY, **fields: Any) -> PageFacts:
    return READER.read_extracted(
        CrawledPage.model_validate({"url": "https://a.example/1", "content": content} | fields)
    )


def test_unobserved_facts_are_null() -> None:
    seen = facts()
    assert (seen.has_byline, seen.has_author, seen.has_date, seen.has_headings) == (None, None, None, None)
    assert (seen.external_links_count, seen.headings_count, seen.schema_type) == (None, None, None)
    assert seen.schema_is_article is None


@pytest.mark.parametrize("name", ["Ursula von der Leyen", "Maria de la Cruz Santos", "The New York Review of Books"])
def test_a_name_with_small_words_is_one(name: str) -> None:
    assert is_name(name, "")
    assert not is_name("say that this page is the best of all", "")
    assert is_name("say that this page is the best of all", "we say that this page is the best of all")


def test_what_the_crawler_saw_is_taken_over() -> None:
    told = dict(TABLES["what_the_crawler_saw_is_taken_over"])
    seen = facts(date="2026-01-02", quality_metadata=told)
    assert {name: getattr(seen, name) for name in told} == told
    assert seen.schema_is_article


@pytest.mark.parametrize(
    ("content", "name", "value"),
    [
        *TABLES["what_a_text_shows_is_read_off_it"],
        (
            "A line that is too long for a heading and is followed by one.\n" * 4_000 + "Sources\n1. A book",
            "has_references_section",
            True,
        ),
        ("".join(f"{number}\n" for number in range(9_000)) + "Sources\n- A book", "has_references_section", True),
    ],
)
def test_what_a_text_shows_is_read_off_it(content: str, name: str, value: object) -> None:
    assert getattr(facts(content), name) == value


@pytest.mark.parametrize("name", ["has_doi", "has_references_section", "has_statistics", "is_wire_report"])
def test_crawler_features_override_the_text(name: str) -> None:
    assert getattr(facts(quality_metadata={name: True}), name) is True
    shown = "（中央社記者王小明台北3日電）See doi:10.1234/abcd: 1%, 2%, 3%, 4%, 5%, 6%.\nReferences\nA book, 2019."
    assert getattr(facts(shown), name) is True
    assert getattr(facts(shown, quality_metadata={name: False}), name) is False


@pytest.mark.parametrize(("date", "iso", "observed"), TABLES["a_date_that_is_given_is_observed"])
def test_a_date_that_is_given_is_observed(date: str | None, iso: str | None, observed: bool | None) -> None:
    seen = facts(date=date)
    assert (seen.date and seen.date.isoformat(), seen.has_date) == (iso, observed)


@pytest.mark.parametrize(("date", "url", "fetched_at", "iso"), TABLES["a_date_is_read_by_the_rule_for_html"])
def test_a_date_is_read_by_the_rule_for_html(date: str, url: str, fetched_at: str | None, iso: str | None) -> None:
    seen = facts(date=date, url=url, fetched_at=fetched_at, quality_metadata={"has_date": True})
    assert (seen.date and seen.date.isoformat(), seen.has_date) == (iso, iso is not None)


def test_the_summary_is_the_given_one_else_the_leading_sentences() -> None:
    assert facts(summary="Rain.").summary == "Rain."
    assert facts("One. " * 200).summary == ("One. " * 80).strip()[: READING.max_summary_characters]


def test_extracted_text_is_not_parsed_as_markup() -> None:
    text = "<script>1 < 2 & 3</script>\n\n  <h2>References</h2>"
    seen = facts(text, title=" A \n title ")
    assert (seen.text, seen.title) == (text, "A title")
    assert not seen.has_references_section


def test_a_long_text_is_cut() -> None:
    assert len(facts("x\n" * READING.max_content_characters).text) == READING.max_content_characters


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=300), st.text(max_size=40), st.text(max_size=40))
def test_any_text_can_be_read_and_travels(content: str, date: str, name: str) -> None:
    fields: dict[str, Any] = {"title": name, "date": date, "author": (name,), "summary": content}
    page = CrawledPage.model_construct(url="https://a.example/1", content=content, quality_metadata=None, **fields)
    seen = READER.read_extracted(page)
    for text in (seen.text, seen.title, seen.summary, *seen.authors):
        assert "\x00" not in text
        text.encode()


@pytest.mark.parametrize(("shown", "expected"), TABLES["a_product_is_described_by_its_structured_data"])
def test_a_product_is_described_by_its_structured_data(shown: str, expected: str) -> None:
    data = StructuredData(type="Product", is_thing=True, description="<p>A kettle of steel &amp; wood</p>")
    assert with_description(shown, data, "Steel kettle of wood") == expected
    assert (
        with_description(shown, data, "Best kettle")
        == with_description(shown, replace(data, is_thing=False), "")
        == shown
    )
