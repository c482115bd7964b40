from datetime import UTC, datetime

import pytest

from handlers.html.names import NameWords
from handlers.html.published_date import Candidate, DatedPage, DateWords, candidates, find_date, measured
from handlers.html.structured_data import StructuredData
from handlers.text.dates import MomentReader, Origin
from tests.handlers.html.rules import PATTERNS, READING, layout_of
from tests.tables import tables

TABLES = tables(__file__)

WORDS = DateWords(READING, MomentReader(PATTERNS), NameWords(READING, PATTERNS))
NO_DATA = StructuredData()


def found_on(
    html: str, data: StructuredData = NO_DATA, url: str = "https://example.com/", fetched_at: datetime | None = None
) -> Candidate | None:
    return find_date(DatedPage(layout_of(html), data, url, Origin("day"), fetched_at), WORDS)


def date_of(html: str, data: StructuredData = NO_DATA, url: str = "https://example.com/") -> str | None:
    found = found_on(html, data, url)
    return found.value.isoformat() if found else None


@pytest.mark.parametrize(
    ("html", "iso", "seen_in"),
    [
        *TABLES["find_date"],
        ("<p>word</p>" * 90 + "<span><time datetime=2024-05-03></time>word</span>", "", ""),
        ("<p>Karlsruhe (3.5.2024). " + "Words that go on. " * 20, "2024-05-03", "dateline"),
        ("<p>word</p>" * 90 + "<p>Last edited on 3 May 2024</p>", "2024-05-03", "labelled date"),
        ("<p>word</p>" * 90 + "<p>© 3 May 2024</p>", "", ""),
        ("<p>word</p>" * 90 + "<h1>Rain</h1><p>3 May 2024</p>" + "<p>word</p>" * 90, "2024-05-03", "visible date"),
    ],
)
def test_find_date(html: str, iso: str, seen_in: str) -> None:
    found = found_on(html)
    assert (found.value.isoformat() if found else "", found.seen_in if found else "") == (iso, seen_in)


@pytest.mark.parametrize("line", TABLES["date_with_a_label_or_credit_may_have_names_beside_it"])
def test_date_with_a_label_or_credit_may_have_names_beside_it(line: str) -> None:
    assert date_of(f"<h1>Rain</h1><p>{line}</p>{STORY}") == "2024-05-03"
    assert date_of(f"<h1>Rain</h1><p>Meeting on 3 May 2024</p>{STORY}") is None


STORY = "<p>" + "Words that go on and tell what happened there. " * 8 + "</p>"


@pytest.mark.parametrize("html", TABLES["other_day_is_not_the_date_of_publication"])
def test_other_day_is_not_the_date_of_publication(html: str) -> None:
    assert date_of(html) is None


@pytest.mark.parametrize(("html", "iso"), TABLES["dates"].values(), ids=TABLES["dates"])
def test_dates(html: str, iso: str | None) -> None:
    assert date_of(html.replace("{STORY}", STORY).replace("{BODY}", STORY[3:])) == iso


@pytest.mark.parametrize(
    ("data", "url"),
    [
        (StructuredData(type="MusicEvent"), "https://example.com/jazz"),
        (NO_DATA, "https://example.com/events/2023/11/29/jazz"),
    ],
)
def test_an_announcement_is_dated_by_what_it_states_only(data: StructuredData, url: str) -> None:
    assert date_of("<h1>Jazz</h1><p>29 November 2023</p>", data, url) is None
    assert date_of("<h1>Jazz</h1><p>29 November 2023</p><p>Published: 3 May 2023</p>", data, url) == "2023-05-03"


@pytest.mark.parametrize(("line", "iso"), TABLES["short_line_beside_heading_may_hold_dates_and_names_only"])
def test_short_line_beside_heading_may_hold_dates_and_names_only(line: str, iso: str) -> None:
    assert date_of(f"<h1>Title of it</h1><p>{line}</p>{STORY}") == iso


def test_date_of_a_book_comes_only_from_metadata() -> None:
    assert date_of("<h1>Novel</h1><p>Published: 3 May 2011</p>", StructuredData(type="Book", is_thing=True)) is None


def test_shipped_trees_ask_only_what_is_measured() -> None:
    asked = {READING.date_trees.measures[number] for tree in READING.date_trees.trees for number in tree.measures}
    html = "<meta name=date content=2024-05-03><h1>Rain</h1><p>3 May 2024</p><time datetime=2024-05-03T10:00Z></time>"
    page = DatedPage(layout_of(f"{html}{STORY}"), NO_DATA, "https://example.com/2024/05/03/", Origin("day"), None)
    known = {name for one in measured(candidates(page, WORDS), page) for name in one}
    assert {name for name in asked if not name.startswith(("same ", "has "))} <= known


@pytest.mark.parametrize(("url", "iso"), TABLES["days_in_addresses"])
def test_days_in_addresses(url: str, iso: str | None) -> None:
    assert date_of("", url=url) == iso


@pytest.mark.parametrize(("published", "iso"), TABLES["url_day_overrides_the_day_in_universal_time"])
def test_url_day_overrides_the_day_in_universal_time(published: str, iso: str) -> None:
    assert date_of("", StructuredData(published=published), "https://example.com/2024/05/03/rain") == iso


@pytest.mark.parametrize(
    "stated", ["2031-01-01", "2024-05-06", "1066-10-14", "2024-05-03T10:00:00+99:99", "2024-05-03T25:00:00", "garbage"]
)
def test_absurd_dates_are_ignored(stated: str) -> None:
    assert found_on("", StructuredData(published=stated), "", datetime(2024, 5, 4, tzinfo=UTC)) is None
