from __future__ import annotations

from handlers.page.walk import walk_page
from tests.handlers.page.rules import HINTS, outline_of

PARAGRAPH = "<p>Three days of heavy rain have ended the longest drought in forty years, the weather office said.</p>"


def test_blocks_know_their_tag_links_and_place() -> None:
    page = outline_of("<h1>Rain</h1><div>a <a href=/x>link</a><p>b</p>c</div><nav>d</nav>")

    assert [(block.text, block.tag, block.linked, block.boilerplate) for block in page.blocks] == [
        ("Rain", "h1", 0, False),
        ("a link", "div", 4, False),
        ("b", "p", 0, False),
        ("c", "div", 0, False),
        ("d", "nav", 0, True),
    ]
    assert page.hrefs == ["/x"]


def test_scripts_styles_and_hidden_content_are_no_text() -> None:
    html = "<script>a</script><style>b</style><svg>c</svg><template>d</template><!-- e --><select>f</select>"

    assert outline_of(html).blocks == []


def test_what_calls_itself_boilerplate_is_believed_in_moderation() -> None:
    small = outline_of(f"<div>{PARAGRAPH * 3}</div><div class=related-stories>{PARAGRAPH}</div>")
    large = outline_of(f"<div class=comments-page>{PARAGRAPH * 3}</div><div>{PARAGRAPH}</div>")
    all_of_it = outline_of(f"<div class=comment>{PARAGRAPH}</div>" * 4)

    assert [block.boilerplate for block in small.blocks] == [False] * 3 + [True]
    assert not any(block.boilerplate for block in large.blocks)
    assert not any(block.boilerplate for block in all_of_it.blocks)


def test_tables_count_cells_of_their_own() -> None:
    page = outline_of("<table><tr><th>a<td>b<tr><td><table><tr><td>c</table></table><tr><td>d")

    assert [(table.cells, table.has_header, table.is_nested) for table in page.tables] == [
        ((1,), False, False),
        ((2, 1), True, True),
    ]


def test_meta_is_kept_under_each_of_its_names() -> None:
    page = outline_of(
        '<meta property="og:title dc.title" content=" a "><meta name="OG:TITLE" content="b"><meta name=x>'
    )

    assert page.meta == {"og:title": ["a", "b"], "dc.title": ["a"]}


def test_the_walk_is_bounded() -> None:
    assert len(outline_of("<p>x" * 100, max_nodes=20).blocks) < 20


def test_an_empty_tree_has_an_empty_outline() -> None:
    from handlers.page.html import parse_page

    assert walk_page(parse_page("").tree, HINTS, 10).blocks == []
