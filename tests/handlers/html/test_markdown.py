"""Markdown of pages: code keeps its lines, a table its cells, a list its depth; blocks are spans of the content."""

import pytest

from handlers.html.markdown import render_markdown
from tests.handlers.html.rules import content_of
from tests.tables import tables

TABLES = tables(__file__)
STORY = "<p>Three days of heavy rain have ended the longest drought in forty years, the weather office said.</p>"


def markdown_of(html: str) -> str:
    found = content_of(f"<main><h1>Rain</h1>{STORY}{html}</main>")
    rendered = render_markdown(found.text, found.typed)
    assert rendered.startswith("# Rain\n\nThree days")
    return rendered.partition("said.\n")[2].strip("\n")


@pytest.mark.parametrize("name", TABLES["code"])
def test_code_is_a_fenced_block_with_its_lines(name: str) -> None:
    """Each way of highlighting shows the same program."""
    program = "def f(x):\n    if x:\n\n        return 1\n\treturn 2"
    assert markdown_of(TABLES["code"][name]) in (f"```python\n{program}\n```", f"```\n{program}\n```"), name


@pytest.mark.parametrize(("html", "expected"), TABLES["markdown"])
def test_markdown(html: str, expected: str) -> None:
    assert markdown_of(html) == expected.strip("\n")


@pytest.mark.parametrize("html", [html for html, _ in TABLES["markdown"]])
def test_blocks_are_spans_of_the_content_in_order(html: str) -> None:
    found = content_of(f"<h1>Rain</h1>{STORY}{html}")
    lines = found.text.split("\n")
    starts = {sum(len(line) + 1 for line in lines[:number]) for number in range(len(lines))}
    ends = [0, *(block["end"] for block in found.typed)]
    for before, block in zip(ends, found.typed, strict=False):
        assert before <= block["start"] < block["end"] <= len(found.text)
        assert block["start"] in starts
        assert all(block["start"] <= begin <= end <= block["end"] for begin, end in block.get("cells", ()))


def test_a_fence_is_longer_than_those_in_the_code() -> None:
    assert markdown_of("<pre>```\na\n```</pre>") == "````\n```\na\n```\n````"


def test_a_title_is_added_where_the_content_has_none() -> None:
    assert render_markdown("It fell.", (), "Rain") == "# Rain\n\nIt fell."
