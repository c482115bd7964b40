"""Features of a URL: whole words, slugs, ids, facets and hosts, for any spelling."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.classify_results import ClassifyResultsRules
from handlers.results.address import Address, read_address
from handlers.text.patterns import compile_patterns
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

PATTERNS = compile_patterns(shipped_rules(ClassifyResultsRules).patterns)


def read(url: str) -> Address:
    return read_address(url, PATTERNS)


@pytest.mark.parametrize("url", TABLES["listing_words_at_the_end"])  # fmt: skip
def test_listing_words_at_the_end(url: str) -> None:
    assert read(url).listing


@pytest.mark.parametrize(
    "url",
    TABLES["no_parts_of_words_and_no_slugs"]
)  # fmt: skip
def test_no_parts_of_words_and_no_slugs(url: str) -> None:
    assert not read(url).listing


@pytest.mark.parametrize("url", TABLES["identifiers"])  # fmt: skip
def test_identifiers(url: str) -> None:
    assert read(url).identifier


@pytest.mark.parametrize(
    "url", ["https://example.com/blog/2024", "https://example.com/x/page/120", "https://e.org/501"]
)
def test_years_pages_and_numbers_are_not_identifiers(url: str) -> None:
    assert not read(url).identifier


def test_what_follows_a_parent_is_a_selection_but_no_deep_slug() -> None:
    assert read("https://example.com/category/live-jazz-and-blues").parent == "category"
    assert read("https://example.com/c/cameras/wide").parent == "c"
    assert not read("https://example.com/c/product/1082604/wide-angle-camera").parent
    assert read("https://example.com/wiki/Kategorie:Brücke").parent == "Kategorie"
    assert not read("https://example.com/wiki/Alien:_Isolation").parent


def test_an_identifier_of_the_query_is_the_last_segment() -> None:
    assert read("https://example.com/events?entry=jazz-in-may") == read("https://example.com/events/jazz-in-may")
    assert read("https://example.com/login?from=/a/b-c-d").navigation == "login"


def test_a_word_of_a_short_segment_at_the_end_names_navigation() -> None:
    assert read("https://example.com/login-page").navigation == "login"
    assert read("https://example.com/my-account").navigation_share == 1
    assert read("https://example.com/dog-registration").navigation_share == 0.5
    assert not read("https://example.com/blog/how-to-build-a-sitemap").navigation
    assert not read("https://example.com/home/how-to-paint-a-door").navigation


def test_numbers_after_an_items_word_are_its_own() -> None:
    assert read("https://example.com/thread-8812-1-1.html").identifier
    assert not read("https://example.com/thread-8812-1-1.html").listing


def test_a_short_name_is_kept_without_numbers_and_facets() -> None:
    assert read("https://example.com/running-shoes").name == ("running", "shoes")
    assert read("https://example.com/stelle/77").name == ()


@pytest.mark.parametrize("url", ["https://example.com", "https://example.com/", "https://example.com/index.html"])
def test_front_pages(url: str) -> None:
    assert read(url).root


@pytest.mark.parametrize("url", TABLES["navigation"])
def test_navigation(url: str) -> None:
    assert read(url).navigation


@pytest.mark.parametrize(("url", "word"), TABLES["page_about_the_site_is_not_navigation"])
def test_page_about_the_site_is_not_navigation(url: str, word: str) -> None:
    assert read(url).information == word
    assert not read(url).navigation


@pytest.mark.parametrize("url", ["", "   ", "not an address", "http://[::1", "/events", "mailto:a@b.c"])
def test_malformed_addresses_say_nothing(url: str) -> None:
    assert read(url) == Address()


@given(st.text(max_size=200))
def test_any_text_is_read(url: str) -> None:
    assert read(url) == read(url)
    assert isinstance(read("https://example.com/" + url), Address)
