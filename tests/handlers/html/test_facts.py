from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from handlers.html.content import PageReader
from handlers.html.encoding import parse_page
from handlers.html.facts import MAX_SCHEMA_TYPE, clean, facts_of, short_type
from tests.handlers.html.rules import PATTERNS, READING


def test_of_a_page_that_was_read_everything_was_observed() -> None:
    content = PageReader(READING, PATTERNS).read(parse_page("<h2>One</h2><p>Text.").tree, "https://a.example/", None)

    seen = facts_of(content, min_headings=2)

    assert (seen.has_headings, seen.headings_count) == (False, 1)
    assert facts_of(content, min_headings=1).has_headings is True
    assert (seen.has_byline, seen.has_author, seen.has_date, seen.is_wire_report) == (False, False, False, False)
    assert (seen.external_links_count, seen.schema_is_article) == (0, False)


@given(st.one_of(st.none(), st.text(max_size=400)))
def test_a_type_that_travels_is_short_text(name: str | None) -> None:
    short = short_type(name)

    assert short is None or 0 < len(short) <= MAX_SCHEMA_TYPE
    assert short == short_type(short)


@given(st.text())
def test_what_is_clean_is_text(text: str) -> None:
    clean(text).encode()
    assert clean(clean(text)) == clean(text)
