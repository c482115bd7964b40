from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from handlers.html.attributes import ATTRIBUTES, NAMES, has_long_tags, most_attributes
from handlers.html.encoding import parse_page

_REST = re.compile(ATTRIBUTES)
_PIECES = ["a", "b", "=", '"', "'", " ", "/", ">", "\t", "\n", "\v", "\f", "<", "é", "&", "`", "A"]


@given(st.lists(st.sampled_from(_PIECES), max_size=30).map("".join))
@example('="x=">" b')
@example('a=""b=">"c=\'>\'d')
@example("a= =>x")
@example("a/=b")
@example("\v \v\v")
def test_attributes_are_found_as_the_parser_finds_them(text: str) -> None:
    tag = f" {text}".encode()
    rest = _REST.match(tag)
    assert rest is not None
    paragraph = parse_page(b"<p" + tag + b"><i>").tree.css_first("p")
    ended = tag[rest.end() : rest.end() + 1] == b">" or rest.end() == len(tag)
    if paragraph is not None and ended and _closes_its_quotes(tag[: rest.end()]):
        names = {name.lower() for name in NAMES.findall(rest[0])}
        assert {name.encode() for name in paragraph.attributes} == names
        assert len(names) <= most_attributes(tag)


def _closes_its_quotes(attributes: bytes) -> bool:
    """Whether another tag begins right after: a value that has no end would hold it."""
    again = _REST.match(attributes + b"><i>")
    return again is not None and again.end() == len(attributes)


def _flood(number: int) -> bytes:
    return b" ".join(b"a%d" % index for index in range(number))


@pytest.mark.parametrize(
    "hidden",
    [
        b"<p %s>",
        b"</p %s>",
        b"<svg><style><p %s>",
        b"<p x='>' %s>",
        b'<p x=">" %s',
        b'<p ="x=">" %s>',
        b"<script><p x='%s'>",
        b"%s",
    ],
)
def test_a_long_tag_is_suspected_wherever_it_stands(hidden: bytes) -> None:
    text = b"<p class=x>Some text.</p>" * 4000

    assert has_long_tags(text + hidden.replace(b"%s", _flood(20_000)) + text)
    assert has_long_tags((text[:2500] + hidden.replace(b"%s", _flood(8_000))) * 10)


@pytest.mark.parametrize(
    "page",
    [
        b"<p class='x' id=y>It's \"said\" that <a href=/z>links</a> are short.</p>" * 20_000,
        b"<p>" + "一段沒有標點的文字".encode() * 20_000 + b"</p>",
        b"<script>" + b'{"name":"value","other":[1,2,3]},' * 20_000 + b"</script>",
        b"<div>\n" + b"\t" * 500_000 + b"</div>",
        b"<p title='" + b"x" * 500_000 + b"'>",
    ],
)
def test_ordinary_pages_are_not_suspected(page: bytes) -> None:
    assert not has_long_tags(page)
