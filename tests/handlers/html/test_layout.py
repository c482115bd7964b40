from __future__ import annotations

import pytest

from handlers.html.hints import OTHERS
from handlers.html.layout import is_event
from handlers.html.structured_data import StructuredData
from tests.handlers.html.rules import layout_of
from tests.tables import tables

TABLES = tables(__file__)

STORY = "<p>The rain came in the night and filled the river, and all the bridges of the town were closed.</p>" * 6


@pytest.mark.parametrize(("html", "marks"), TABLES["stated"])
def test_stated(html: str, marks: tuple[tuple[str, str, str], ...]) -> None:
    assert [(mark.name, mark.value, mark.text) for mark in layout_of(html).stated] == list(marks)


def test_class_names_are_read_around_the_heading_only() -> None:
    near = f"<h1>Rain</h1><p class=byline>By Ada</p><span class=pub-date>May 3</span>{STORY}"
    far = f"<p class=byline>By Ada</p>{'<p>word</p>' * 90}<h1>Rain</h1>{STORY}"

    assert [(mark.name, mark.text) for mark in layout_of(near).named] == [
        ("hint:byline", "By Ada"),
        ("hint:date", "May 3"),
    ]
    assert not layout_of(far).named


def test_a_menu_that_repeats_the_heading_is_not_it() -> None:
    html = f"<title>Rain again</title><h2>Rain again</h2>{'<p>menu</p>' * 90}<h1>Rain again</h1>{STORY}"
    layout = layout_of(html)

    assert (layout.heading, layout.heading_text, layout.first) == (91, "Rain again", 92)


@pytest.mark.parametrize("html", TABLES["parts_of_others"])
def test_parts_of_others(html: str) -> None:
    layout = layout_of(html)
    lines = layout.outline.blocks()
    found = {block.text: bool(layout.said(block.start, block.element) & OTHERS) for block in lines}

    assert not any(is_others for text, is_others in found.items() if text.startswith("own"))
    assert found["other"]


@pytest.mark.parametrize(("html", "kind", "url", "is_so"), TABLES["announcements_of_events"])
def test_announcements_of_events(html: str, kind: str | None, url: str, is_so: bool) -> None:
    assert is_event(layout_of(html), StructuredData(type=kind), url) is is_so
