from __future__ import annotations

import pytest

from handlers.html.marks import StoryWords, is_event, look_near, stated_marks
from handlers.html.structured_data import StructuredData
from tests.handlers.html.rules import READING, outline_of, story_of
from tests.tables import tables

TABLES = tables(__file__)

WORDS = StoryWords(READING)


@pytest.mark.parametrize(("html", "marks"), TABLES["stated"])
def test_stated(html: str, marks: tuple[tuple[str, str, str, bool], ...]) -> None:
    found = stated_marks(story_of(outline_of(html)))

    assert [(mark.name, mark.value, mark.text, mark.boilerplate) for mark in found] == list(marks)


def test_class_names_are_read_around_the_text_only() -> None:
    line = "<p class=byline>By Ada</p>"
    far = line + "<p>word</p>" * 100

    assert [mark.name for mark in look_near(outline_of(far), 0).named] == ["hint:byline"]
    assert look_near(outline_of(far), 90).named == ()
    dated = outline_of("<div>x <span class=pub-date>May 3</span></div>")
    assert [mark.text for mark in look_near(dated, 0).named] == ["May 3"]


def parts(html: str) -> dict[str, bool]:
    """The texts that are not the page's own."""
    page = outline_of(html)
    story = story_of(page)
    return {block.text: story.holds(block.element, block.start) for block in page.blocks()}


@pytest.mark.parametrize("html", TABLES["parts_of_others"])
def test_parts_of_others(html: str) -> None:
    found = parts(html)

    assert not any(is_others for text, is_others in found.items() if text.startswith("own"))
    assert found["other"]


@pytest.mark.parametrize(("html", "kind", "url", "is_so"), TABLES["announcements_of_events"])
def test_announcements_of_events(html: str, kind: str | None, url: str, is_so: bool) -> None:
    page = outline_of(html)

    assert is_event(story_of(page), StructuredData(type=kind), url, WORDS) is is_so
