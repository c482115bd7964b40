from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.page.html import parse_page
from handlers.page.limits import admitted
from tests.handlers.page.rules import READING

SMALL = READING.model_copy(update={"max_depth": 50, "max_attributes": 20, "max_reopened": 1000, "max_steps": 20_000})


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
        (b"".join(b"<hTml a%d>" % number for number in range(10_000)), "html or body"),
        (b"".join(b"<body/a%d='>'>" % number for number in range(10_000)), "html or body"),
        (b"<p>" + b"<b/a=1>" * 40 + b"<p>x" * 3000, "formatting"),
        (b"<b a=1><table><tr><td></b></table>" * 40 + b"<p>x" * 3000, "formatting"),
        (b"<p>" + b"<b a=1>" * 40 + b"</i>" * 40 + b"</p>" + b"<p>x" * 3000, "formatting"),
        (b"<div>" * 40 + b"<p>x" * 3000 + b"<div>" * 20, "steps"),
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
        b"<table>" + b"<tr><td><b class=x>y</td></tr>" * 2000 + b"</table>",
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
