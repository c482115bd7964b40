"""Features of a URL: whole words, slugs, ids, facets and hosts, for any spelling."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.classify_results import ClassifyResultsRules
from handlers.results.address import Address, read_address
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

PATTERNS = shipped_rules(ClassifyResultsRules).compiled_patterns


def read(url: str) -> Address:
    return read_address(url, PATTERNS)


@pytest.mark.parametrize(
    ("feature", "url", "value"),
    [(feature, url, value) for feature, urls in TABLES.items() for url, value in urls.items()],
)
def test_features_of_an_address(feature: str, url: str, value: object) -> None:
    found = getattr(read(f"https://example.com{url}" if url.startswith("/") or not url else url), feature)
    assert (bool(found) if isinstance(value, bool) else found) == value


def test_an_identifier_of_the_query_is_the_last_segment() -> None:
    assert read("https://example.com/events?entry=jazz-in-may") == read("https://example.com/events/jazz-in-may")


@pytest.mark.parametrize("url", ["", "   ", "not an address", "http://[::1", "/events", "mailto:a@b.c"])
def test_malformed_addresses_say_nothing(url: str) -> None:
    assert read(url) == Address()


@given(st.text(max_size=200))
def test_any_text_is_read(url: str) -> None:
    assert read(url) == read(url)
    assert isinstance(read("https://example.com/" + url), Address)
