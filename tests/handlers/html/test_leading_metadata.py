"""Date and authors of whole pages, as a reader would say them: a head, a byline, a story, and what surrounds them."""

from datetime import UTC, datetime
from typing import Any

import pytest

from handlers.score_page import score_page
from schemas.pages import CrawledPage, ScoredPage
from tests.handlers.html.rules import RULES
from tests.samples import emitted
from tests.tables import tables

TABLES = tables(__file__)

TEXT = "The town will rebuild the old mill by the river, and it has asked its people what they want to see there. "
MENU = "<nav><a href=/news>News</a> <a href=/sport>Sport</a></nav>"
STORY = f"<p>{TEXT * 2}</p>" * 30
FOOTER = "<footer>© 2026 The Example. All rights reserved. Imprint, last changed 1 January 2026.</footer>"


def read(head: str = "", byline: str = "", below: str = "", above: str = "", **fields: Any) -> ScoredPage:
    html = (
        f"<html><head><title>The old mill</title>{head}</head><body>{MENU}{above}<article><h1>The old mill</h1>{byline}"
        f"{STORY}</article>{below}{FOOTER}</body></html>"
    )
    page = CrawledPage(url=fields.pop("url", "https://news.example.com/a"), html=html, **fields)
    return emitted(ScoredPage, score_page(page, RULES))


def meta(name: str, content: str) -> str:
    return f'<meta property="{name}" content="{content}">'


@pytest.mark.parametrize(("byline", "day"), TABLES["a_day_that_a_page_shows"])
def test_a_day_that_a_page_shows(byline: str, day: str | None) -> None:
    assert (str(read(byline=byline).date)[:10] if day else read(byline=byline).date) == day


@pytest.mark.parametrize(("head", "byline", "date"), TABLES["a_stated_date_is_the_day_that_the_page_shows"])
def test_a_stated_date_is_the_day_that_the_page_shows(head: str, byline: str, date: str) -> None:
    found = read(head, byline).date
    assert found is not None
    assert found.isoformat() == date


def test_a_day_after_the_fetch_is_not_that_of_publication() -> None:
    fetched = datetime(2024, 6, 1, tzinfo=UTC)
    assert read(byline="<p>Published 3 May 2030</p>", fetched_at=fetched).date is None
    assert (
        str(read(meta("article:published_time", "2030-05-03"), "<p>3 May 2024</p>", fetched_at=fetched).date)
        == "2024-05-03"
    )


@pytest.mark.parametrize("below", TABLES["what_others_wrote_has_other_days_and_names"])
def test_what_others_wrote_has_other_days_and_names(below: str) -> None:
    found = read(below=below)
    assert (found.date, found.authors) == (None, ())


def test_several_lines_that_date_something_date_no_page() -> None:
    assert read(below="<ul><li>Date: 3 May 2024</li></ul>").date is not None
    assert read(below="<ul><li>Date: 3 May 2024</li><li>Date: 9 June 2024</li></ul>").date is None


@pytest.mark.parametrize(("head", "byline", "names"), [*TABLES["authors_of_a_page"], *TABLES["authors_of_a_page_2"]])
def test_authors_of_a_page(head: str, byline: str, names: tuple[str, ...]) -> None:
    assert read(head, byline).authors == names


@pytest.mark.parametrize(("below", "names"), TABLES["a_credit_below_the_story_counts"])
def test_a_credit_below_the_story_counts(below: str, names: tuple[str, ...]) -> None:
    assert read(below=below).authors == names


def test_the_author_of_a_page_with_one_video_only() -> None:
    video = (
        "<div itemscope itemtype='https://schema.org/VideoObject'>"
        "<span itemprop=author itemscope itemtype='https://schema.org/Person'>"
        "<link itemprop=name content='Ann Lee'></span></div>"
    )
    assert read(below=video).authors == ("Ann Lee",)
    article = "<div itemscope itemtype='https://schema.org/Article'></div>"
    assert read(below=article + video).authors == ()
