from __future__ import annotations

import json

import pytest
from selectolax.lexbor import LexborHTMLParser

from handlers.html.balanced import balanced
from handlers.html.encoding import parse_page
from tests.handlers.html.hostile import mixture
from tests.handlers.html.rules import READING


def _tree(html: bytes) -> LexborHTMLParser:
    body = balanced(html, READING)
    assert isinstance(body, bytes)
    return parse_page(body.decode("utf-8", "replace")).tree


@pytest.mark.parametrize(
    ("html", "written"),
    [
        (b"<div><B class=x>1 < 2<!-- 3 --></div>4", b"<div><span  class=x>1 &lt; 2</span></div>4"),
        (b"<p>1<p>2<ul><li>3<li>4</ul>", b"<p>1</p><p>2<ul><li>3</li><li>4</li></ul>"),
        (b"<dl><dt>1<dd>2<dt>3</dl>", b"<dl><dt>1</dt><dd>2</dd><dt>3</dt></dl>"),
        (
            b"<table><tr><td>1<td>2<tr><th>3</table>4",
            b"<table><tr><td>1</td><td>2</td></tr><tr><th>3</th></tr></table>4",
        ),
        (b"<a>1<p>2<a>3</a>", b"<a>1<p>2<a>3</a>"),
        (b"<a>1<p>2</a>3", b"<a>1<p>2</a>3"),
        (b"<span><div>1</span>2</div>3", b"<span><div>12</div>3"),
        (b"<div>1</section></p>2</div></div>", b"<div>12</div>"),
        (b"<form>1<form>2</form>3", b"<form>12</form>3"),
        (b"<svg><path d=x /><use></svg>1<br>", b"<svg><path  d=x /></path><use></use></svg>1<br>"),
        (b"<svg><title/><g>1</g></svg>", b"<svg><g>1</g></svg>"),
        (b"<svg><link><g></svg>", b"<svg><link></link><g></g></svg>"),
        (b"<script>1</script>2<style>3</style>", b"2"),
        (b"<html a=1><body><html b=2><body c=3>1", b"<html  a=1><body >1"),
        (b"<p a='<q>'>1<<!---->q>", b"<p  a='&lt;q>'>1&lt;q>"),
        (b"<p<q r>1</p<q>", b"<p &lt;q r>1</p>"),
    ],
)
def test_every_element_is_closed_by_a_tag_of_its_own(html: bytes, written: bytes) -> None:
    assert balanced(html, READING) == written


def test_text_titles_and_structured_data_are_kept() -> None:
    data = b'{"@type": "Article", "headline": "a <b> c"}'
    tree = _tree(
        b"<title>T < x</title><script type=application/ld+json>" + data + b"</script><p class=a>One <b>two</b></p>"
    )
    script, title, paragraph = tree.css_first("script"), tree.css_first("title"), tree.css_first("p.a")

    assert script is not None
    assert json.loads(script.text())["headline"] == "a <b> c"
    assert title is not None
    assert title.text() == "T < x"
    assert paragraph is not None
    assert paragraph.text() == "One two"


def test_what_comes_after_all_that_is_read_is_left_away() -> None:
    limits = READING.model_copy(update={"max_nodes": 1000})
    body = balanced(b"<p>x" * 5000, limits)

    assert isinstance(body, bytes)
    assert body.count(b"<p>") == 2000


def test_many_long_tags_lose_their_attributes() -> None:
    tag = b"<p " + b" ".join(b"a%d" % number for number in range(500)) + b">"
    body = balanced(tag * 2000, READING)

    assert isinstance(body, bytes)
    assert body.count(b"a499") == 800
    assert body.count(b"<p") == 2000


def test_text_between_the_parts_of_a_table_is_kept_as_long_as_it_is_little() -> None:
    few, many = (balanced(b"<table>" + b"text<tr>" * number, READING) for number in (100, 50_000))

    assert isinstance(few, bytes)
    assert few.count(b"text") == 100
    assert isinstance(many, bytes)
    assert 1000 < many.count(b"text") < 10_000


@pytest.mark.parametrize("seed", range(100))
def test_what_is_written_is_written_again_as_it_is(seed: int) -> None:
    first = balanced(mixture(seed, 3000), READING)
    if isinstance(first, bytes):
        second = balanced(first, READING)

        assert isinstance(second, bytes)
        assert parse_page(second).tree.css("*").__len__() == parse_page(first).tree.css("*").__len__()
