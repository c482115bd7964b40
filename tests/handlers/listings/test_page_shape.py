"""Measures of pages: similar blocks, running text, link density and markup; and hostile pages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.classify_results import ClassifyResultsRules
from handlers.html.encoding import parse_bytes
from handlers.listings.page_shape import PageShape, measure_page
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

PATTERNS = shipped_rules(ClassifyResultsRules).compiled_patterns
CARD = '<div class="card c{0}"><h3><a href="/event/{0}">Concert number {0}</a></h3><p>A short teaser.</p></div>'
LISTING = (
    "<title>Concerts</title><body><nav><a href=/>Home</a><a href=/about>About</a></nav><div id=results>"
    + "".join(CARD.format(number) for number in range(12))
    + '</div><a rel="next" href="?page=2">Next</a></body>'
)
PARAGRAPH = "<p>The band played for two hours, and nobody left the hall before the last of many encores had ended.</p>"
ARTICLE = (
    '<head><title>The opening</title><meta property="og:type" content="article"></head>'
    f"<body><article><h1>The opening</h1>{PARAGRAPH * 12}</article>"
    f"<footer>{'<a href=/x>imprint</a>' * 30}</footer></body>"
)


def measure(html: str) -> PageShape:
    return measure_page(parse_bytes(html.encode()), len(html.encode()), PATTERNS)


def test_a_listing_repeats_a_block_with_a_link() -> None:
    page = measure(LISTING)
    assert page.measures["page_items"] == 12
    assert page.measures["page_item_share"] > 0.8
    assert page.measures["page_linked_headings"] == 12
    assert page.measures["page_paged"]
    assert page.measures["page_longest_prose"] == 0
    assert page.title == "Concerts"


def test_an_article_runs_on() -> None:
    page = measure(ARTICLE)
    assert page.measures["page_items"] == 0
    assert page.measures["page_longest_prose"] > 1000
    assert page.measures["page_link_density"] == 0.0
    assert page.declared_item == "og:article"
    assert page.measures["page_articles"] == 1


def test_markup_that_declares_one_thing_or_many() -> None:
    product = '{"@context": "https://schema.org", "@type": "Product", "name": "Chair"}'
    one = f'<body><script type="application/ld+json">{product}</script>'
    assert measure(one).declared_item == "product"
    assert measure(f'<body><script type="application/ld+json">[{product}, {product}]</script>').declared_item == ""
    listed = '<body class="archive"><script type="application/ld+json">{"@type": "ItemList"}</script>'
    assert measure(listed).declared_listing == "itemlist"
    assert measure('<body class="archive category">').declared_listing == "archive"


def test_menus_are_not_counted_unless_they_hold_the_main_part() -> None:
    assert measure('<body><div class="menu"><a href=/a>one</a></div><p>Text</p>').measures["page_links"] == 0
    for main in ('<div class="menu-page"><main>', '<main class="menu">'):
        assert measure(f"<body>{main}<a href=/a>one</a></main>").measures["page_links"] == 1


@pytest.mark.parametrize(
    "html",
    [
        *TABLES["hostile_pages"],
        "<a href=x>" * 2000,
        "<div>" * 500,
    ],
)
def test_hostile_pages(html: str) -> None:
    page = measure(html)
    assert 0.0 <= page.measures.get("page_link_density", 0.0) <= 1.0
    assert 0.0 <= page.measures.get("page_item_share", 0.0) <= 1.0


@given(
    st.lists(st.sampled_from(["<a href=/x>", "</a>", "<li>", "<p>", "text ", "<div class='a b'>", "</div>", "<h2>"]))
)
def test_any_page(parts: list[str]) -> None:
    html = "".join(parts)
    assert measure(html) == measure(html)


def test_repeated_blocks_count_across_parents() -> None:
    row = '<div class="row">{}</div>'
    card = '<div class="card"><h3><a href="/c/{0}">The headline of story number {0}</a></h3></div>'
    rows = "".join(row.format("".join(card.format(3 * n + m) for m in range(3))) for n in range(4))
    found = measure(rows + '<p>See <a href="/a">this</a> or <a href="/b">that</a></p>').measures
    assert found["page_items"] == 12


def test_text_that_many_nodes_repeat_is_read_a_few_times_only() -> None:
    assert measure("<body>" + "<a href=/x><object>" * 20 + "word " * 20).measures["page_link_density"] == 1.0
