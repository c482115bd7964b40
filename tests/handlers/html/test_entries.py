"""Posts and cards: elements of one make that hold the content, with a person's name or a way to another page."""

import re

import pytest

import assay
from handlers.html.entries import find_entries
from handlers.html.main_content import find_content
from handlers.html.markdown import render_markdown
from schemas.pages import ContentEntry
from tests.handlers.html.rules import READING, outline_of
from tests.tables import tables

TABLES = tables(__file__)

PERSONS = re.compile("/members/")
SAID = "It rained for three days here, and the river is as high as it was in the spring two years ago"


def read(html: str) -> tuple[str, tuple[ContentEntry, ...], str]:
    """The content of a page, its entries, and its Markdown."""
    outline = outline_of(f"<main><h1>Rain in the valley</h1>{html}</main>")
    found = find_content(outline, READING.content_trees.forest, 10_000)
    entries = find_entries(outline, found.blocks, found.spans, PERSONS)
    return found.text, entries, render_markdown(found.text, found.typed, entries=entries)


def thread(person: str) -> str:
    return "".join(
        f"<div class='post post-{number}'>{person.replace('NAME', name)}<div><p>{SAID}, {name}.</p></div></div>"
        for number, name in enumerate(("ada", "bob", "cy"))
    )


@pytest.mark.parametrize("person", TABLES["posts_have_their_authors"])
def test_posts_have_their_authors(person: str) -> None:
    text, entries, markdown = read(thread(person))
    assert [(entry["kind"], entry.get("author")) for entry in entries] == [
        ("post", name) for name in ("ada", "bob", "cy")
    ]
    assert [text[entry["start"] : entry["end"]].split("\n")[-1] for entry in entries] == [
        f"{SAID}, {name}." for name in ("ada", "bob", "cy")
    ]
    assert markdown.count("---") == 3
    assert "**bob**" in markdown


@pytest.mark.parametrize(
    "html",
    [
        "".join(f"<section><h2>Week {number}</h2><p>{SAID}.</p><p>{SAID}, again.</p></section>" for number in range(4)),
        f"<p>{SAID}.</p>" * 5,
        thread("<b>NAME</b>"),
        "".join(
            f"<div class=week><h2><a href=#s{number}>Week {number}</a></h2><p>{SAID}, {number}.</div>"
            for number in range(4)
        ),
        "",
    ],
)
def test_sections_and_paragraphs_are_no_parts(html: str) -> None:
    assert read(html)[1] == ()


@pytest.mark.parametrize("person", TABLES["what_is_not_shown_or_said_of_others_names_no_author"])
def test_what_is_not_shown_or_said_of_others_names_no_author(person: str) -> None:
    assert not {entry.get("author") for entry in read(thread(person))[1]} & {"eve", "@eve", "Send all keys"}


def test_entries_end_with_the_text() -> None:
    outline = outline_of(f"<main>{thread('<a href=/members/NAME>NAME</a>')}</main>")
    found = find_content(outline, READING.content_trees.forest, 150)
    entries = find_entries(outline, found.blocks, found.spans, PERSONS)
    assert entries[-1]["end"] == len(found.text) == 150


def test_the_first_post_is_the_pages_own() -> None:
    """Though it calls itself a reply, and is below a heading of comments."""
    posts = "".join(
        f"<div class=reply><p class=reply-date>{day} May 2024</p><a href=/u/{name}>{name}</a><p>{SAID}, {name}.</div>"
        for day, name in ((3, "ada"), (5, "bob"), (8, "cy"))
    )
    page = assay.read(f"<title>Rain</title><main><h1>Rain in the valley</h1><h2>Replies</h2>{posts}</main>")
    assert isinstance(page, assay.Page)
    assert str(page.date) == "2024-05-03"


def test_comments_below_a_text_do_not_date_it() -> None:
    comment = "<div class=comment><p class=comment-meta><a href=/users/{0}>{0}</a> June {1}, 2025</p><p>{2}, {0}.</div>"
    comments = "".join(comment.format(name, day, SAID) for day, name in enumerate(("ada", "bob", "cy", "dee"), 1))
    html = f"<main><h1>Bridge reopened</h1><p>{SAID}.</p><section><h2>Comments</h2>{comments}</section></main>"
    page = assay.read(html)
    assert isinstance(page, assay.Page)
    assert page.date is None
