"""Fetched pages as details: content, or why the page has no content."""

import html as markup
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from handlers.fetch_page import FetchPageRules
from handlers.html.detail import Detail, refreshed_to, trail_of, why_elsewhere
from handlers.html.encoding import page_bytes, parse_bytes
from schemas.replies import FetchedPage, FetchFailure, FetchRefused
from tests.rules import shipped_rules
from tests.samples import instance
from tests.tables import tables

TABLES = tables(__file__)

RULES = shipped_rules(FetchPageRules)
READER = RULES.reader
URL = "https://harbour.example/walks/lantern"
STORY = "The walk follows the river to the old mill, with songs on the way, and ends with soup for everybody. " * 4


def page(html: str | bytes, final_url: str = URL, content_type: str = "text/html; charset=utf-8") -> FetchedPage:
    body = html.encode() if isinstance(html, str) else html
    return FetchedPage(URL, final_url, 200, content_type, body, datetime(2026, 1, 2, tzinfo=UTC))


def reason(fetched: FetchedPage) -> FetchFailure | None:
    found = READER.detail(fetched)
    return found.reason if isinstance(found, FetchRefused) else None


def test_a_page_is_read_with_its_titles() -> None:
    found = READER.detail(page(f"<title>Lantern walk | Harbour</title><h1>The lantern walk</h1><p>{STORY}</p>"))
    assert isinstance(found, Detail)
    assert found.content.titles[1:] == ("Lantern walk | Harbour", "The lantern walk")
    assert "old mill" in found.content.text


def test_window_title_counts_beside_an_empty_heading() -> None:
    assert reason(page("<title>Just a moment...</title><h1>harbour.example</h1><p>Wait.</p>")) is FetchFailure.CHALLENGE
    html = f"<title>Harbour</title><h1>Page not found</h1><p>{STORY}</p>"
    assert reason(page(html)) is FetchFailure.SOFT_404


def test_noscript_content_is_read_on_a_page_built_by_scripts() -> None:
    html = f"<title>Lantern walk</title><div id=app></div><NOSCRIPT><h1>Lantern walk</h1><p>{STORY}</p></NOSCRIPT>"
    found = instance(Detail, READER.detail(page(html)))
    assert "old mill" in found.content.text
    assert found.page.body == html.encode(), "the page goes out as it came"
    wanting = "<title>App</title><div id=root></div><noscript>You need to enable JavaScript to run this app.</noscript>"
    assert reason(page(wanting)) is FetchFailure.NO_CONTENT


ROBOT = "<p>Please verify that you are human.</p>"
CONTACT = "<h3>Your name</h3><input><h3>Email</h3><input type=email><h3>Message</h3><textarea></textarea>"


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        *((form, expected and FetchFailure[expected]) for form, expected in TABLES["bot_test_of_a_form"]),
        (CONTACT.replace("<textarea></textarea>", "") + ROBOT, FetchFailure.CHALLENGE),
    ],
)
def test_the_bot_test_of_a_form_for_messages_keeps_no_reader_out(form: str, expected: FetchFailure | None) -> None:
    asked = "<p>Please choose the topic that suits your question best.</p><p>A clerk answers within a day.</p>" * 3
    html = f"<title>Harbour office</title><main><form>{asked}{form}</form></main>"
    assert reason(page(html)) is expected


@pytest.mark.parametrize(
    ("fetched", "expected"),
    [
        (page("<title>Lantern walk</title><p>Soon"), FetchFailure.NO_CONTENT),
        (page(b""), FetchFailure.NOT_HTML),
        (page(b"%PDF-1.7 \x00"), FetchFailure.NOT_HTML),
        (page("<div>" * 5_000), FetchFailure.NO_CONTENT),
        (page(f"<h1>Welcome</h1><p>{STORY}</p>", "https://harbour.example/"), FetchFailure.SOFT_404),
        (page(f"<h1>Welcome</h1><p>{STORY}</p>", "https://harbour.example/login"), FetchFailure.CHALLENGE),
    ],
)
def test_page_without_content_is_not_a_detail(fetched: FetchedPage, expected: FetchFailure) -> None:
    assert reason(fetched) is expected


WAIT = "<title>Lantern walk</title>{}<p>The lantern walk is over there, one moment."


@pytest.mark.parametrize(
    ("content", "expected"), [(content, expected and FetchFailure[expected]) for content, expected in TABLES["refresh"]]
)
def test_page_with_a_refresh_redirect_has_no_content(content: str, expected: FetchFailure | None) -> None:
    tag = f'<META HTTP-EQUIV="Refresh" CONTENT="{content}">'
    assert reason(page(WAIT.format(tag))) is expected
    assert reason(page(f"{tag}<h1>Lantern walk</h1><p>{STORY * 3}</p>")) is None, "that is a text of its own"
    assert reason(page(WAIT.format(f"<noscript>{tag}</noscript>"))) is None
    stated = READER.no_listing(page(WAIT.format(tag)), has_items=True)
    assert (stated.reason if stated else None) in (expected, None)
    assert (stated is None) == (expected is None)


def test_listing_behind_a_consent_wall_is_a_challenge() -> None:
    html = "<ul>" + "".join(f"<li><a href=/walks/{n}>Walk {n}</a></li>" for n in range(5)) + "</ul>"
    walled = READER.no_listing(page(html, "https://harbour.example/consent"), has_items=True)
    assert walled is not None
    assert walled.reason is FetchFailure.CHALLENGE
    assert READER.no_listing(page(html, "https://harbour.example/"), has_items=True) is None


@pytest.mark.parametrize(
    ("asked", "final", "expected"),
    [(asked, final, expected and FetchFailure[expected]) for asked, final, expected in TABLES["where_redirects_led"]],
)
def test_where_redirects_led(asked: str, final: str, expected: FetchFailure | None) -> None:
    assert why_elsewhere(asked, final, RULES.page_refusals) is expected


OLD = "https://harbour.example/walks/old"
NEW = "https://harbour.example/walks/new"


def onward(content: str) -> str | None:
    tag = f'<meta http-equiv="refresh" content="{markup.escape(content)}">'
    return refreshed_to(LexborHTMLParser(f"<head>{tag}</head><p>One moment."), OLD, 10)


@pytest.mark.parametrize("content", TABLES["ways_of_writing_a_refresh"])
def test_ways_of_writing_a_refresh(content: str) -> None:
    assert onward(content) == NEW


@pytest.mark.parametrize(
    "content",
    ["", "0", "5;", "11;url=new", "999999999999;url=new", "0;url=old", "0;url=#x", "0;url=mailto:a@b.example"],
)
def test_pages_that_stay(content: str) -> None:
    assert onward(content) is None


def test_the_first_that_leads_elsewhere_counts() -> None:
    tags = '<meta http-equiv=refresh content=5><meta http-equiv=x content="0;url=no"><meta http-equiv=" Refresh " '
    assert refreshed_to(LexborHTMLParser(tags + 'content="0;url=new">'), OLD, 10) == NEW
    assert refreshed_to(LexborHTMLParser("<meta http-equiv><meta http-equiv=refresh>"), OLD, 10) is None


@given(st.text(max_size=200))
def test_any_refresh_is_read(content: str) -> None:
    onward(content)
    onward(f"0;url={content}")


def test_long_refreshes_cost_nothing() -> None:
    for part in ("0 ", "9", " ;", "url=", "'"):
        onward(part * 500_000)


LINKS = '<a href="/">Home</a> <a href="/b">Books</a>'


@pytest.mark.parametrize(
    ("html", "trail"),
    [
        *TABLES["section_trail_of_a_page"],
        (f'<body class="has-breadcrumbs">{LINKS * 5}<div class="breadcrumb">{LINKS}</div>', ("Home", "Books")),
        (f'<div class="breadcrumb"><a href="/">{"x" * 301}</a></div>', ()),
    ],
)
def test_section_trail_of_a_page(html: str, trail: tuple[str, ...]) -> None:
    assert trail_of(parse_bytes(page_bytes(html).utf8)) == trail
