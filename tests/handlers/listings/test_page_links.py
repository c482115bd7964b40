"""Links as seen from their page: below it, beside it, elsewhere; and blocks of one make."""

from __future__ import annotations

import pytest

from handlers.classify_results import ClassifyResultsRules
from handlers.listings.page_links import LinkShape
from handlers.listings.page_shape import measure_page
from handlers.text.patterns import compile_patterns
from tests.rules import shipped_rules

PATTERNS = compile_patterns(shipped_rules(ClassifyResultsRules).patterns)
OWN = "https://www.example.com/concerts/jazz"


def leads(body: str, own: str = OWN) -> LinkShape:
    return measure_page(f"<body>{body}", PATTERNS, own).leads


@pytest.mark.parametrize(
    ("href", "inside", "outside", "below", "siblings"),
    [
        ("/concerts/jazz/blue-note", 1, 0, 1, 0),
        ("https://shop.example.com/concerts/jazz/x", 1, 0, 1, 0),
        ("//www.example.com/concerts/blues", 1, 0, 0, 1),
        ("blues", 1, 0, 0, 1),
        ("./blues", 1, 0, 0, 1),
        ("/concerts/jazz?page=2#top", 1, 0, 0, 0),
        ("?page=2", 1, 0, 0, 0),
        ("/%63oncerts/blues", 1, 0, 0, 1),
        ("https://example.org/concerts/jazz/x", 0, 1, 0, 0),
        ("mailto:someone@example.com", 0, 1, 0, 0),
        ("javascript:void(0)", 0, 1, 0, 0),
        ("#top", 0, 0, 0, 0),
        ("", 0, 0, 0, 0),
        ("http://[", 0, 1, 0, 0),
    ],
)
def test_where_a_link_leads(href: str, inside: int, outside: int, below: int, siblings: int) -> None:
    found = leads(f'<a href="{href}">there</a>')
    assert (found.inside, found.outside, found.below, found.siblings) == (inside, outside, below, siblings)


def test_blocks_of_one_make_count_wherever_they_stand() -> None:
    row = '<div class="row">{}</div>'
    card = '<div class="card"><h3><a href="/c/{0}">The headline of story number {0}</a></h3></div>'
    rows = "".join(row.format("".join(card.format(3 * n + m) for m in range(3))) for n in range(4))
    found = leads(rows + '<p>See <a href="/a">this</a> or <a href="/b">that</a></p>')
    assert (found.alike, found.alike_long, found.same_folder) == (12, 12, 12)
    assert not found.same_folder_is_own


def test_without_an_address_the_host_that_most_links_name_is_its_own() -> None:
    body = (
        '<a href="https://example.com/a">a</a><a href="https://example.com/b">b</a><a href="https://example.org/">c</a>'
    )
    found = leads(body, own="")
    assert (found.inside, found.outside, found.below) == (2, 1, 0)


def test_a_page_may_give_its_own_address() -> None:
    page = measure_page(
        f'<head><link rel=canonical href="{OWN}"></head><body><a href="/concerts/jazz/x">x</a>', PATTERNS
    )
    assert page.canonical == OWN
    assert page.leads.below == 1
