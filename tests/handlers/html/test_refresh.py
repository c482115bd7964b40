"""Pages that send their reader on by themselves."""

from __future__ import annotations

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from handlers.html.refresh import refreshed_to

URL = "https://harbour.example/walks/old"
NEW = "https://harbour.example/walks/new"


def onward(content: str) -> str | None:
    tag = f'<meta http-equiv="refresh" content="{html.escape(content)}">'
    return refreshed_to(LexborHTMLParser(f"<head>{tag}</head><p>One moment."), URL, 10)


@pytest.mark.parametrize(
    "content",
    [
        "0;url=new",
        "0; URL = 'new'",
        '3,"new"',
        " 10 ;\n url=/walks/new ",
        "0 new",
        "1.5;url=new",
        ";url=new",
        "0;url='new'x",
    ],
)
def test_ways_of_writing_it(content: str) -> None:
    assert onward(content) == NEW


@pytest.mark.parametrize(
    "content",
    ["", "0", "5;", "11;url=new", "999999999999;url=new", "0;url=old", "0;url=#x", "0;url=mailto:a@b.example"],
)
def test_pages_that_stay(content: str) -> None:
    assert onward(content) is None


def test_the_first_that_leads_elsewhere_counts() -> None:
    tags = '<meta http-equiv=refresh content=5><meta http-equiv=x content="0;url=no"><meta http-equiv=" Refresh " '
    assert refreshed_to(LexborHTMLParser(tags + 'content="0;url=new">'), URL, 10) == NEW
    assert refreshed_to(LexborHTMLParser("<meta http-equiv><meta http-equiv=refresh>"), URL, 10) is None


@given(st.text(max_size=200))
def test_nothing_raises(content: str) -> None:
    onward(content)
    onward(f"0;url={content}")


def test_long_ones_cost_nothing() -> None:
    for part in ("0 ", "9", " ;", "url=", "'"):
        onward(part * 500_000)
