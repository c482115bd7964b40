import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.html.encoding import parse_page
from handlers.html.limits import admitted
from tests.handlers.html.hostile import SHAPES, mixture
from tests.handlers.html.rules import READING
from tests.samples import instance

SMALL = READING.model_copy(update={"max_tags": 100_000, "max_depth": 50, "max_steps": 2_000_000, "max_names": 30_000})
MOST_REPEATED = READING.max_steps // 120
ADDED_BY_PARSER = 8
"""Elements inside each other: html, body, parts of tables, and formatting that is opened again."""
PLAIN = b"".join(b"<%s>" % name * 3 for name in b"b big code em font i nobr s small strike strong tt u".split())


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"<div>" * 51, "nested"),
        (b"<div>" * 51 + b"</div>" * 51, "nested"),
        (b"<DIV>" * 51, "nested"),
        (b"<div></q>" * 51, "nested"),
        (b"<div><object></div></object>" * 51, "nested"),
        (b"<div><!--</div>-->" * 51, "nested"),
        (b"<div><!x></div>" * 30 + b"<div><!x </div>>" * 51, "nested"),
        (b"<svg>" + b"<g><![CDATA[></g>]]>" * 51, "nested"),
        (b"<div x=\">\" y='</div>'>" * 51, "nested"),
        (b"<svg>" + b"<option>" * 51, "nested"),
        (b"<script>'</div>'</script><div>" * 60, "nested"),
        (b"<div>" * 40 + b"<p>x</p>" * 30_000, "nested"),
        (b"<p " + b"a=1 b " * 40_000 + b">", "comparisons"),
        (b"<p " + b"a=1 b " * 40_000, "comparisons"),
        (b"<p " + b'a=">" b ' * 40_000 + b">", "comparisons"),
        (b"<p " + b"a='<i>' b " * 40_000 + b">", "comparisons"),
        (b"<p " + b'a="><q c=" ' * 40_000 + b">", "comparisons"),
        (b"<p><a " + b"a=1 b=2 c=3 d=4 " * 4 + b">" + b"<div>x</div>" * 10_000, "a link has"),
        (b"".join(b"<br a%d>" % number for number in range(90_000)), "different names"),
        (b"".join(b"<x%d></x%d>" % (number, number) for number in range(35_000)), "different names"),
        (b"<br>" * 100_001, "tags"),
    ],
)
def test_refused(body: bytes, says: str) -> None:
    reason = instance(str, admitted(body, SMALL))
    assert says in reason


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<div>" * 50,
        b"<div><p>x</div>" * 200,
        b"<ul><li>x<li>y<p>z</ul>" * 200,
        b"<ul>" + b"<li>x<br>" * 200,
        b"<table>" + b"<tr><td>y</td></tr>" * 2000 + b"</table>",
        b"<table><tr><td>x</table>" * 200,
        b'<p title="' + b"word " * 40_000 + b'">',
        b"<div title='x>y'><!-- x --><br>y</div>" * 200,
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
def test_what_repair_would_multiply_gets_other_names(body: bytes) -> None:
    written = admitted(body, READING)
    if isinstance(written, bytes):
        tree = parse_page(written.decode()).tree
        nodes = sum(1 for _ in tree.root.traverse(include_text=True)) if tree.root is not None else 0
        assert nodes < 3 * body.count(b"<") + MOST_REPEATED
        assert max(len(node.attributes) for node in tree.css("html, body")) <= 10


@pytest.mark.parametrize("name", SHAPES)
def test_hostile_shapes_make_few_nodes_per_tag(name: str) -> None:
    body = SHAPES[name](200_000)
    written = admitted(body, READING)
    if isinstance(written, bytes):
        tree = parse_page(written.decode("utf-8", "replace")).tree
        assert tree.root is not None
        assert sum(1 for _ in tree.root.traverse(include_text=True)) < 3 * body.count(b"<") + MOST_REPEATED


def test_an_ordinary_page_is_parsed_as_it_came() -> None:
    page = (
        b"<!DOCTYPE html><html lang=en><head><title>T</title><script>if (a < b && c > d) { x = '<p>' }</script>"
        + b"<body>"
        + b"<ul><li>One<li>Two</ul><p class=x>Some <i class=y>text</i> and <a href=/z>more</a><br>of it." * 200
        + b"<table><tr><td>1<td>2</table>" * 50
    )
    assert admitted(page, READING) is page


def test_large_data_of_a_script_is_cut_and_structured_data_kept() -> None:
    data = b" ".join(b"n%d=1" % number for number in range(SMALL.max_names + 1))
    page = b"<p>One<script>%s</script><script type='application/ld+json'>%s</script><style>%s</style>Two" % (
        data,
        data,
        data,
    )
    assert admitted(page, SMALL) == page.replace(b"<script>" + data, b"<script>").replace(b"<style>" + data, b"<style>")


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
    """In any context the parser does not see the flood: the page is refused, or the flood is not parsed."""
    flood = b"<q " + b" ".join(b"a%d" % number for number in range(30_000)) + b">"
    body = admitted(hidden.replace(b"%s", flood), SMALL)
    if isinstance(body, bytes):
        tree = parse_page(body.decode()).tree
        assert max((len(node.attributes) for node in tree.css("*")), default=0) ** 2 <= 2 * SMALL.max_steps


@pytest.mark.parametrize("seed", range(80))
def test_no_page_is_deeper_than_allowed(seed: int) -> None:
    body = admitted(mixture(seed, 3000), SMALL)
    if isinstance(body, bytes):
        assert _depth(body) <= SMALL.max_depth + ADDED_BY_PARSER


def _depth(body: bytes) -> int:
    level = [parse_page(body.decode("utf-8", "replace")).tree.root]
    depth = 0
    while level := [child for node in level if node is not None for child in node.iter()]:
        depth += 1
    return depth
