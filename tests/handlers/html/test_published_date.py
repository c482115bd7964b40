from datetime import UTC, datetime

import pytest

from handlers.html.bylines import NameWords
from handlers.html.marks import StoryWords, is_event
from handlers.html.published_date import DatedPage, DateWords, FoundDate, find_date
from handlers.html.structured_data import StructuredData
from handlers.text.dates import MomentReader, Origin
from tests.handlers.html.rules import PATTERNS, READING, outline_of, story_of
from tests.tables import tables

TABLES = tables(__file__)

WORDS = DateWords(READING, MomentReader(PATTERNS), NameWords(READING, PATTERNS))
NO_DATA = StructuredData()


def found_on(
    html: str, data: StructuredData = NO_DATA, url: str = "https://example.com/", fetched_at: datetime | None = None
) -> FoundDate | None:
    story = story_of(outline_of(html))
    event = is_event(story, data, url, StoryWords(READING))
    return find_date(DatedPage(story, data, url, event, Origin("day"), fetched_at), WORDS)


def date_of(html: str, data: StructuredData = NO_DATA, url: str = "https://example.com/") -> str | None:
    found = found_on(html, data, url)
    return found.value.isoformat() if found else None


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
        ("<meta property=article:modified_time content=2024-06-09>", "2024-06-09", "meta article:modified_time"),
        ("<p>The old mill by the river has been closed to all guests since <time>3 May 2024</time> for good.", "", ""),
        ("<p>word</p>" * 90 + "<span><time datetime=2024-05-03></time>word</span>", "", ""),
        ("<time class=updated datetime=2024-06-09></time><time>3 May 2024</time>", "2024-05-03", "time"),
        ("<abbr class=published title=2024-05-03>5 am</abbr>", "2024-05-03", "date by class name"),
        ("<p>發布日期：113-05-03</p><p>內容</p>", "2024-05-03", "visible date"),
        ("<p>Karlsruhe (3.5.2024). " + "Words that go on. " * 20, "2024-05-03", "dateline"),
        ("<p>word</p>" * 90 + "<p>Last edited on 3 May 2024</p>", "2024-05-03", "labelled date"),
        ("<p>word</p>" * 90 + "<p>© 3 May 2024</p>", "", ""),
        ("<p>word</p>" * 90 + "<h1>Rain</h1><p>3 May 2024</p>" + "<p>word</p>" * 90, "2024-05-03", "visible date"),
        ('<footer><time datetime="2001-01-01"></footer><time datetime="2024-05-03">', "2024-05-03", "time"),
    ],
)
def test_find_date(html: str, iso: str, seen_in: str) -> None:
    found = found_on(html)
    assert (found.value.isoformat() if found else "", found.seen_in if found else "") == (iso, seen_in)


@pytest.mark.parametrize(
    "line",
    TABLES["date_with_a_label_or_credit_may_have_names_beside_it"],
)
def test_date_with_a_label_or_credit_may_have_names_beside_it(line: str) -> None:
    assert date_of(f"<h1>Rain</h1><p>{line}</p>{STORY}") == "2024-05-03"
    assert date_of(f"<h1>Rain</h1><p>Meeting on 3 May 2024</p>{STORY}") is None


STORY = "<p>" + "Words that go on and tell what happened there. " * 8 + "</p>"


@pytest.mark.parametrize(
    "html",
    [
        # Sentences of the text, however short.
        "<h1>Ada</h1><p>She was born on 12 May 1991 in Oslo.</p>",
        "<h1>Act</h1><p>The Act came into force on 25 May 2018.</p>",
        f"<h1>Plan</h1><p>On 3 May 2024, the council met. {'It went on for hours. ' * 20}</p>",
        f"<h1>Ada</h1><p>Ada Lovelace (10 December 1995) was a writer. {'She wrote. ' * 30}</p>",
        f"<h1>Plan</h1><p>The book was published on 3 May 2011.</p>{STORY}",
        "<h1>Plan</h1><p>It began on <time datetime=2024-05-03>3 May</time>, when the council met for many hours.</p>",
        # Lines with something else in them.
        "<h1>Sale</h1><p>Sale ends 30 June 2024</p>",
        "<h1>Ada</h1><p>Born: 12 May 1991</p>",
        "<h1>Site</h1><p>© 3 May 2024 Example</p>",
        "<h1>Opening days</h1><p>3 May 2024</p><p>9 May 2024</p><p>13 May 2024</p>",
        f"<h1>Drug</h1>{STORY}<p>3 March 2011</p>",
        # What others wrote.
        "<h1>Phones</h1><p>A phone.</p><div class=review><p>1 Oct 2024</p><p>I like it.</p></div>",
        "<h1>Phones</h1><p>A phone.</p><div class=product-reviews><time datetime=2024-10-01>1 Oct</time></div>",
        "<h1>Phones</h1><p>A phone.</p><h2>Customer reviews (2)</h2><p>1 Oct 2024</p><p>I like it.</p>",
        "<h1>Phones</h1><p>A phone.</p><h2>3 Kommentare</h2><p><time datetime=2024-10-01>1. Okt. 2024</time></p>",
        "<h1>票</h1><p>內容</p><h3>網友評論</h3><p>發布日期：2024-10-01</p>",
        "<h1>Tap?</h1><p>It drips.</p><div class=answer><p>Posted 1 Oct 2024</p></div>",
        # Days of events.
        "<h1>Jazz</h1><p class=event-date>29 November 2023</p>",
        "<main class=single-event><h1>Jazz</h1><p>29 November 2023</p></main>",
        "<h1>Jazz</h1><p>29 November 2023</p><p>Doors: 7 pm</p>",
        "<h1>Jazz</h1><p>29.11.2023</p><p>Einlass 19 Uhr</p>",
        "<h1>演唱會</h1><p>2023年11月29日</p><p>地點：台北小巨蛋</p>",
        "<h1>Fair</h1><p>12–14 June 2023</p>",
        "<h1>Changes</h1><h2>1.2.0 (2024-05-03)</h2><p>A fault is mended.</p>",
        "<h1>Questions</h1><h2>Since when?</h2><p>Since 3 May 1999.</p>",
        "<h1>Final</h1><p>4 May 2024</p><p>Kick-off: 15:00</p>",
        # Days of things and persons.
        "<h1>Novel</h1><ul><li>ISBN: 978-3-16-148410-0</li><li>Publication date: 3 May 2011</li></ul>",
        "<h1>Ada</h1><dl><dt>Born</dt><dd>12 May 1991</dd></dl>",
        "<h1>Ada</h1><table><tr><th>Born</th><td>12 May 1991</td></tr><tr><td>Died<td>1 May 2021</tr></table>",
        "<h1>Fair</h1><p>3 May 2023 – 5 May 2023</p>",
    ],
)
def test_other_day_is_not_the_date_of_publication(html: str) -> None:
    assert date_of(html) is None


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


@pytest.mark.parametrize(
    ("line", "iso"),
    TABLES["short_line_beside_heading_may_hold_dates_and_names_only"],
)
def test_short_line_beside_heading_may_hold_dates_and_names_only(line: str, iso: str) -> None:
    assert date_of(f"<h1>Title of it</h1><p>{line}</p>{STORY}") == iso


def test_a_list_of_terms_may_hold_the_date() -> None:
    terms = "<dt>From</dt><dd>Council</dd><dt>Updated:</dt><dd>9 June 2024</dd><dt>Published:</dt><dd>3 May 2024</dd>"
    assert date_of(f"<h1>Plan</h1><dl>{terms}</dl>{STORY}") == "2024-05-03"
    assert date_of(f"<h1>Plan</h1>{STORY * 9}<table><tr><th>Published<td>3 May 2024</table>") == "2024-05-03"


def test_date_of_a_book_comes_only_from_metadata() -> None:
    assert date_of("<h1>Novel</h1><p>Published: 3 May 2011</p>", StructuredData(type="Book", is_thing=True)) is None


def test_a_story_may_begin_with_place_and_day() -> None:
    assert date_of(f"<h1>Farms</h1><p>(18.01.2018) Farmers fear it. {STORY[3:]}") == "2018-01-18"
    assert date_of(f"<h1>Farms</h1><p>OSLO, 3 May 2024 – Farmers fear it. {STORY[3:]}") == "2024-05-03"


def test_date_sources_rank_structured_data_url_visible_text() -> None:
    url = "https://example.com/2020/08/05/story"
    assert date_of("<p>3 May 2019</p>", StructuredData(published="2024-05-03"), url) == "2024-05-03"
    assert date_of("<p>3 May 2019</p>", url=url) == "2020-08-05"


@pytest.mark.parametrize(
    ("url", "iso"),
    TABLES["days_in_addresses"],
)
def test_days_in_addresses(url: str, iso: str | None) -> None:
    assert date_of("", url=url) == iso


@pytest.mark.parametrize(
    ("published", "iso"),
    [
        ("2024-05-04T01:30:00Z", "2024-05-03"),
        ("2024-05-04T01:30:00+02:00", "2024-05-04T01:30:00+02:00"),
        ("2024-05-09T01:30:00Z", "2024-05-09T01:30:00+00:00"),
    ],
)
def test_url_day_overrides_the_day_in_universal_time(published: str, iso: str) -> None:
    assert date_of("", StructuredData(published=published), "https://example.com/2024/05/03/rain") == iso


@pytest.mark.parametrize(
    "stated", ["2031-01-01", "2024-05-06", "1066-10-14", "2024-05-03T10:00:00+99:99", "2024-05-03T25:00:00", "garbage"]
)
def test_absurd_dates_are_ignored(stated: str) -> None:
    assert found_on("", StructuredData(published=stated), "", datetime(2024, 5, 4, tzinfo=UTC)) is None
