import pytest

from handlers.html.limits import parse_within
from tests.cpu import cpu_seconds
from tests.handlers.html.hostile import mixture
from tests.handlers.html.rules import READING, outline_of
from tests.samples import instance

SMALL = READING.model_copy(update={"max_elements": 1000, "max_depth": 50})


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"<div>" * 70, "nested"),
        (b"<div>" * 70 + b"</div>" * 70, "nested"),
        (b"<div></q>" * 70, "nested"),
        (b"<svg>" + b"<option>" * 70, "nested"),
        (b"<p>x</p>" * 200 + b"<div>" * 70 + b"</div>" * 70 + b"<p>x</p>" * 200, "nested"),
        (b"<br>" * 1030, "elements"),
        (b"<p " + b" ".join(b"a%d=1" % number for number in range(20_000)) + b">", "20000 attributes of p"),
        (b"".join(b"<body a%d=1>" % number for number in range(20_000)), "401 attributes of body"),
        (b"".join(b"<font a%d=1><p>" % number for number in range(3000)), "opened again"),
        (b"<dl><dt>x<dd>y" * 20_000, "open elements are searched"),
    ],
)
def test_refused(body: bytes, says: str) -> None:
    assert says in instance(str, parse_within(body, SMALL))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<div>" * 47,
        b"<div><p>x</div>" * 200,
        b"<ul><li>x<li>y<p>z</ul>" * 200,
        b"<table>" + b"<tr><td>y</td></tr>" * 200 + b"</table>",
        b'<p title="' + b"word " * 40_000 + b'">',
        b"<br>" * 990,
    ],
)
def test_let_through(body: bytes) -> None:
    assert not isinstance(parse_within(body, SMALL), str)


def test_any_mixture_is_parsed_or_refused() -> None:
    for seed in range(80):
        assert parse_within(mixture(seed, 3000), READING), seed


def test_the_counts_of_a_large_page_cost_little() -> None:
    body = b"<p>The festival opens <b>today</b>.</p>" * 40_000
    assert cpu_seconds(lambda: parse_within(body, READING)) < 3


def test_deep_elements_are_read_without_recursion() -> None:
    page = outline_of("<x>" * 100_000 + "deep", max_nodes=200_000)
    assert [block.text for block in page.blocks()] == ["deep"]
