from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.html.encoding import parse_page
from handlers.html.limits import admitted
from tests.handlers.html.hostile import SHAPES
from tests.handlers.html.rules import READING

SMALL = READING.model_copy(update={"max_depth": 50, "max_attributes": 20, "max_reopened": 1000, "max_steps": 100_000})
PLAIN = b"".join(b"<%s>" % name * 3 for name in b"b big code em font i nobr s small strike strong tt u".split())


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"<div>" * 51, "nested"),
        (b"<div>" * 51 + b"</div>" * 51, "nested"),
        (b"<DIV>" * 51, "nested"),
        (b"<div></q>" * 51, "nested"),
        (b"<div><object></div></object>" * 51, "nested"),
        (b"<!-- </div> --><div>" * 51, "nested"),
        (b"<script>'</div>'</script><div>" * 60, "nested"),
        (b"<p " + b"a=1 b " * 40_000 + b">", "attributes"),
        (b"<p " + b"a=1 b " * 40_000, "attributes"),
        (b"<p " + b'a=">" b ' * 40_000 + b">", "attributes"),
        (b"<p " + b"a='<i>' b " * 40_000 + b">", "attributes"),
        (b"<p " + b'a="><q c=" ' * 40_000 + b">", "attributes"),
        (b"<div>" * 40 + b"<p>x</p>" * 11_000, "steps"),
        (b"<p><a " + b"a=1 b=2 c=3 d=4 " * 4 + b">" + b"<div>x</div>" * 10_000, "links left open"),
        (b"".join(b"<br a%d>" % number for number in range(120_000)), "different names"),
        (b"".join(b"<x%d></x%d>" % (number, number) for number in range(35_000)), "different names"),
    ],
)
def test_refused(body: bytes, says: str) -> None:
    reason = admitted(body, SMALL)

    assert isinstance(reason, str)
    assert says in reason


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<div>" * 50,
        b"<div><p>x</div>" * 200,
        b"<ul>" + b"<li>x<br>" * 200,
        b"<table>" + b"<tr><td>y</td></tr>" * 2000 + b"</table>",
        b"<table><tr><td>x</table>" * 200,
        b"<!--" + b"<div>" * 200 + b"-->",
        b"<script>" + b"'<div>'" * 200 + b"</script>",
        b"<span><em>x</span></em>" * 20,
        b'<p title="' + b"word " * 40_000 + b'">',
        b"<script>a<b" + b" word" * 40_000 + b"</script>",
        b"<p></p" + b" a" * 100_000 + b">",
        b"<pre>" + b"a < b and " * 20_000 + b"</pre>",
        b"<p><b class=x>y</b>" * 3000,
        b"<p class=x>y</p>" * 6000,
    ],
)
def test_let_through(body: bytes) -> None:
    assert isinstance(admitted(body, SMALL), bytes)


@pytest.mark.parametrize(
    "body",
    [
        b"".join(b"<hTml a%d>" % number for number in range(10_000)),
        b"".join(b"<body/a%d='>'>" % number for number in range(10_000)),
        b"<p>" + b"".join(b"<b/a=%d>" % number for number in range(400)) + b"<p>x" * 9000,
        b"".join(b"<b a=%d><!--</b>-->" % number for number in range(400)) + b"<p>x" * 9000,
        b"<p><a href=" + b"/x" * 50 + b"".join(b" a%d" % number for number in range(500)) + b"><p>x" + b"<br>" * 9000,
        b"<p>" + PLAIN + b"<p>x" * 30_000,
        b"".join(b"<table><tr><td><font a=%d></table>" % number for number in range(4000)),
        b"<table>" + (b"x" * 100 + b"<input type=hidden>") * 12_000,
        b"<table>" + (b"x" * 100 + b"<tr class='a b'>") * 12_000,
        b"<svg>" + b"<link>" * 7000 + b"</x>" * 7000,
        b"<form><div></form>" * 3000,
        b"<span><p></span></p>" * 3000,
    ],
)
def test_what_repair_would_multiply_is_written_without_need_of_repair(body: bytes) -> None:
    written = admitted(body, READING)

    if isinstance(written, bytes):
        tree = parse_page(written.decode()).tree
        nodes = sum(1 for _ in tree.root.traverse(include_text=True)) if tree.root is not None else 0
        assert nodes < 3 * body.count(b"<")
        assert max(len(node.attributes) for node in tree.css("html, body")) <= 1


@pytest.mark.parametrize("name", SHAPES)
def test_no_hostile_shape_makes_more_nodes_than_it_has_tags_and_texts(name: str) -> None:
    body = SHAPES[name](200_000)
    written = admitted(body, READING)

    if isinstance(written, bytes):
        tree = parse_page(written.decode("utf-8", "replace")).tree
        assert tree.root is not None
        assert sum(1 for _ in tree.root.traverse(include_text=True)) < 3 * body.count(b"<") + 10


def test_an_ordinary_page_is_parsed_as_it_came() -> None:
    page = (
        b"<!DOCTYPE html><html lang=en><head><title>T</title><script>if (a < b && c > d) { x = '<p>' }</script>"
        + b"<body><ul><li>One<li>Two</ul><p class=x>Some <i class=y>text</i> and <a href=/z>more</a><br>of it." * 300
        + b"<table><tr><td>1<td>2</table>" * 50
    )
    assert admitted(page, READING) is page


@given(
    st.lists(
        st.sampled_from([b"<div", b">", b"<!--", b"-->", b'"', b"'", b"=", b"</", b"<script>", b" a", b"x"]),
        max_size=300,
    )
)
def test_never_raises(parts: list[bytes]) -> None:
    limits = SMALL.model_copy(update={"max_depth": 10})

    assert isinstance(admitted(b"".join(parts), limits), bytes | str)


@pytest.mark.parametrize(
    "hidden",
    [
        b"<svg><style>%s</style>",
        b"<select><title>%s</title>",
        b"<svg><title>%s</title>",
        b"<math><script>%s</script>",
        b'<svg><script type="application/ld+json">%s</script>',
        b'<svg><![CDATA[<p x="]]>%s">',
        b'<script><!--<script></script><p x="--></script>%s">',
        b'<!--><p x="-->%s">',
        b'<!-- --!><p x="-->%s">',
        b"<noscript>%s</noscript>",
        b'<textarea><p x="</textarea>%s">',
        b'<? <p x=">%s">',
        b'</ <p x=">%s">',
        b"<p x='<a y=\"'>%s\">",
    ],
)
def test_no_context_hides_a_tag_with_too_many_attributes(hidden: bytes) -> None:
    """Whatever a flood stands in, the parser does not see it: it is refused, or no part of what is parsed."""
    flood = b"<q " + b" ".join(b"a%d" % number for number in range(30_000)) + b">"
    body = admitted(hidden.replace(b"%s", flood), SMALL)
    if isinstance(body, bytes):
        tree = parse_page(body.decode()).tree
        assert max((len(node.attributes) for node in tree.css("*")), default=0) <= SMALL.max_attributes


def test_what_is_written_anew_keeps_text_titles_and_structured_data() -> None:
    data = b'{"@type": "Article", "headline": "a <b> c", "text": "' + b"word " * 40_000 + b'"}'
    page = b"<title>T < x</title><script type=application/ld+json>" + data + b"</script><p class=a>One <b>two</b></p>"
    body = admitted(page, SMALL)
    assert isinstance(body, bytes)
    tree = parse_page(body.decode()).tree
    script, title = tree.css_first("script"), tree.css_first("title")
    assert script is not None
    assert json.loads(script.text())["headline"] == "a <b> c"
    assert title is not None
    assert title.text() == "T < x"
    assert tree.body is not None
    assert tree.body.text() == "One two"
