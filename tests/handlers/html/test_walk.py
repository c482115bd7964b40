from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.html.blocks import has_data_table, tables_of
from handlers.html.main_content import candidates
from tests.handlers.html.rules import READING, content_of, outline_of
from tests.tables import rows, tables

TABLES = tables(__file__)

PARAGRAPH = "<p>Three days of heavy rain have ended the longest drought in forty years, the weather office said.</p>"


def test_blocks_know_their_tag_links_and_place() -> None:
    page = outline_of(
        "<h1>Rain</h1><div>a <a href=//a.example/x>link</a><p>b</p>c</div><nav>d <a href=http://b.example>e</a></nav>"
    )
    assert [(block.text, block.tag, block.linked) for block in page.blocks()] == list(
        TABLES["blocks_know_their_tag_links_and_place"]
    )
    assert page.hrefs == ["//a.example/x", "http://b.example"]


@pytest.mark.parametrize("around", ["h2", "h5", "summary", "dt"])
@pytest.mark.parametrize("control", ["button", "label"])
def test_a_control_is_read_where_it_is_a_heading(around: str, control: str) -> None:
    """Accordions have their questions in controls."""
    html = f"<{around}><span><{control}>Who <b>pays</b>?</{control}></span></{around}><p><{control}>Send</{control}>It"
    assert content_of(html).text == "Who pays?\nIt"
    beside = f"<{around}>Who pays? <{control}>Copy link</{control}></{around}>"
    assert [block.text for block in outline_of(beside).blocks()] == ["Who pays?"]


@pytest.mark.parametrize(("html", "expected"), TABLES["hidden"].values(), ids=TABLES["hidden"])
def test_hidden(html: str, expected: tuple[int, ...]) -> None:
    """What calls itself boilerplate is believed in moderation."""
    page = outline_of(html.replace("{}", PARAGRAPH))
    candidates(page)
    assert tuple(page.regions.hidden[block.element] for block in page.blocks()) == expected


def test_what_is_hidden_is_the_same_in_any_order_of_questions() -> None:
    # The credits are more than a quarter of the text, so that they are no credits.
    page = outline_of(f"<div>{PARAGRAPH}</div>" + f"<div class=author-bio>{PARAGRAPH}</div>" * 2)
    candidates(page)
    elements = [block.element for block in page.blocks()]
    assert [page.regions.beside[element] for element in elements] == [False] * 3
    assert [page.regions.hidden[element] for element in elements] == [False] * 3


@pytest.mark.parametrize(("html", "expected"), TABLES["outline"].values(), ids=TABLES["outline"])
def test_outline(html: str, expected: dict[str, Any]) -> None:
    page = outline_of(html)
    assert rows({name: getattr(page, name) for name in expected}) == expected


def test_the_walk_is_bounded() -> None:
    assert len(outline_of("<p>x" * 100, max_nodes=20).texts) < 20


@pytest.mark.parametrize(("html", "lines"), TABLES["lines"])
def test_lines(html: str, lines: tuple[str, ...]) -> None:
    assert [block.text for block in outline_of(html).blocks()] == list(lines)


def test_depth_does_not_matter() -> None:
    page = outline_of("<div class=menu>" * 3000 + PARAGRAPH + "</div>" * 3000 + PARAGRAPH, max_nodes=100_000)
    assert candidates(page)


def test_many_lines_in_deep_formatting_are_read_in_one_climb() -> None:
    page = outline_of("<p>" + "<b>" * 3000 + "x<br>" * 20_000 + "<a href=/x>y</a> z", max_nodes=100_000)
    lines = page.blocks()
    assert (len(lines), lines[-1].text, lines[-1].linked) == (20_001, "y z", 1)


@pytest.mark.parametrize("depth", range(1, 20))
def test_the_block_element_is_found_from_any_depth(depth: int) -> None:
    page = outline_of("<ul><li>" + "<b>" * depth + "x<br>" + "<a href=/x>y</a> and z</ul>")
    assert [(block.text, block.tag, block.linked) for block in page.blocks()] == [("x", "li", 0), ("y and z", "li", 1)]
    assert {page.tags[block.element] for block in page.blocks()} == {"ul"}


def test_noscript_text_counts_only_if_it_is_a_page() -> None:
    assert outline_of(f"<body><noscript>{PARAGRAPH * 20}</noscript>").blocks()
    assert not outline_of("<body><noscript><p>Please switch scripts on.</p></noscript>").blocks()


@given(
    st.lists(
        st.sampled_from(
            ["<p>", "</p>", "<a href=/x>", "</a>", "<li>", "<h2>", "text ", "w", "<table><tr><th>", "<form>", "<br>"]
        )
    )
)
def test_any_page_has_an_outline(parts: list[str]) -> None:
    page = outline_of("".join(parts))
    for block in page.blocks():
        assert block.text == " ".join(block.text.split()) != ""
        assert 0 <= block.linked <= len(block.text)
        assert 0 <= block.start < block.end <= len(page.texts)


@pytest.mark.parametrize(("html", "holds"), TABLES["has_data_table"])
def test_has_data_table(html: str, holds: bool) -> None:
    page = outline_of(html)
    assert has_data_table(page, tables_of(page, page.lines_with_links()), READING) is holds
