from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.page.dates import DateWords, find_date, parse_date
from handlers.page.marks import look_near
from handlers.page.structured_data import StructuredData
from tests.handlers.page.rules import READING, outline_of

WORDS = DateWords(READING)


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2024-05-03", "2024-05-03"),
        ("2024-05-03T08:09", "2024-05-03T08:09:00"),
        ("2024-05-03T08:09:10.123Z", "2024-05-03T08:09:10Z"),
        ("2024-05-03 08:09:10 +0800", "2024-05-03T08:09:10+08:00"),
        ("2024/5/3", "2024-05-03"),
        ("2024年5月3日 10:00", "2024-05-03"),
        ("2024년 5월 3일", "2024-05-03"),
        ("民國113年5月3日", "2024-05-03"),
        ("113年5月3日", "2024-05-03"),
        ("發布日期：113-05-03", "2024-05-03"),
        ("公告日期 113/05/03", "2024-05-03"),
        ("令和6年5月3日", "2024-05-03"),
        ("平成元年5月3日", "1989-05-03"),
        ("113-05-03", None),
        ("20240503", "2024-05-03"),
        ("Published 3rd of May, 2024", "2024-05-03"),
        ("May 3, 2024 at 5 pm", "2024-05-03"),
        ("Fri, 03 May 2024 10:00:00 GMT", "2024-05-03"),
        ("3. Mai 2024", "2024-05-03"),
        ("3 de mayo de 2024", "2024-05-03"),
        ("le 3 août 2024", "2024-08-03"),
        ("03.05.2024, 10:12 Uhr", "2024-05-03"),
        ("13/5/2024", "2024-05-13"),
        ("1714694400", "2024-05-03T00:00:00+00:00"),
        ("2024-13-45", None),
        ("2024-02-30", None),
        ("May 2024", None),
        ("yesterday", None),
        ("", None),
        ("version 1.2.3", None),
    ],
)
def test_parse_date(text: str, iso: str | None) -> None:
    assert parse_date(text) == iso


def test_years_of_the_republic_need_no_words_on_a_chinese_page() -> None:
    assert parse_date("113-05-03", is_chinese=True) == "2024-05-03"


@given(st.text(max_size=80))
def test_any_text_is_a_date_or_none(text: str) -> None:
    found = parse_date(text)

    assert found is None or datetime.fromisoformat(found).year > 0


@pytest.mark.parametrize(
    ("html", "iso", "seen_in"),
    [
        ('<meta property="article:published_time" content="2024-05-03">', "2024-05-03", "meta article:published_time"),
        ('<meta name="pubdate" content="nonsense"><time datetime="2024-05-04">', "2024-05-04", "time"),
        ('<span itemprop="datePublished" content="2024-05-03">x</span>', "2024-05-03", "itemprop:datepublished"),
        ('<div class="entry-date">3 May 2024</div>', "2024-05-03", "date by class name"),
        ("<p>3 May 2024</p><p>Words.</p>", "2024-05-03", "visible date"),
        ("<p>Updated 9 June 2024</p><p>Published 3 May 2024</p>", "2024-05-03", "visible date"),
        ("<p>Published 3 May 2024, updated 9 June 2024</p>", "2024-05-03", "visible date"),
        ("<p>Updated 9 June 2024</p>", "2024-06-09", "visible date"),
        ("<p>3 days ago</p>", "", ""),
        ("<time class=updated datetime=2024-06-09></time><time>3 May 2024</time>", "2024-05-03", "time"),
        ("<abbr class=published title=2024-05-03>5 am</abbr>", "2024-05-03", "date by class name"),
        ("<p>發布日期：113-05-03</p><p>內容</p>", "2024-05-03", "visible date"),
        ("<p>Karlsruhe (3.5.2024). " + "Words that go on. " * 20, "2024-05-03", "visible date"),
        ("<p>word</p>" * 90 + "<p>Last edited on 3 May 2024</p>", "2024-05-03", "labelled date"),
        ("<p>word</p>" * 90 + "<p>© 3 May 2024</p>", "", ""),
        ("<p>word</p>" * 90 + "<h1>Rain</h1><p>3 May 2024</p>" + "<p>word</p>" * 90, "2024-05-03", "visible date"),
        ('<footer><time datetime="2001-01-01"></footer><time datetime="2024-05-03">', "2024-05-03", "time"),
    ],
)
def test_find_date(html: str, iso: str, seen_in: str) -> None:
    page = outline_of(html)
    found = find_date(page, StructuredData(), "https://example.com/", look_near(page, 0), WORDS, None)

    assert (found.iso if found else "", found.seen_in if found else "") == (iso, seen_in)


def test_structured_data_comes_first_and_the_url_before_what_is_merely_visible() -> None:
    page = outline_of("<p>3 May 2019</p>")
    url = "https://example.com/2020/08/05/story"

    near = look_near(page, 0)

    stated = find_date(page, StructuredData(published="2024-05-03"), url, near, WORDS, None)
    in_url = find_date(page, StructuredData(), url, near, WORDS, None)

    assert stated is not None
    assert stated.iso == "2024-05-03"
    assert in_url is not None
    assert in_url.iso == "2020-08-05"


@pytest.mark.parametrize(
    ("url", "iso"),
    [
        ("https://example.com/2024/05/03/rain", "2024-05-03"),
        ("https://example.com/2024-05-03-rain.html", "2024-05-03"),
        ("https://example.com/20240503/rain", "2024-05-03"),
        ("https://example.com/rain-20240503.html", "2024-05-03"),
        ("https://example.com/2024/12/rain", None),
        ("https://example.com/2024/13/45/", None),
        ("https://example.com/", None),
    ],
)
def test_days_in_addresses(url: str, iso: str | None) -> None:
    page = outline_of("")
    found = find_date(page, StructuredData(), url, look_near(page, 0), WORDS, None)

    assert (found.iso if found else None) == iso


@pytest.mark.parametrize(
    ("published", "iso"),
    [
        ("2024-05-04T01:30:00Z", "2024-05-03"),
        ("2024-05-04T01:30:00+02:00", "2024-05-04T01:30:00+02:00"),
        ("2024-05-09T01:30:00Z", "2024-05-09T01:30:00Z"),
    ],
)
def test_the_address_has_the_day_of_the_site_where_universal_time_has_another(published: str, iso: str) -> None:
    page = outline_of("")
    url = "https://example.com/2024/05/03/rain"
    found = find_date(page, StructuredData(published=published), url, look_near(page, 0), WORDS, None)

    assert found is not None
    assert found.iso == iso


@pytest.mark.parametrize("stated", ["2031-01-01", "2024-05-06", "1066-10-14"])
def test_absurd_dates_are_none(stated: str) -> None:
    fetched_at = datetime(2024, 5, 4, tzinfo=UTC)

    page = outline_of("")

    assert find_date(page, StructuredData(published=stated), "", look_near(page, 0), WORDS, fetched_at) is None
