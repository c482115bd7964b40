"""Pages as they are read once: their text, also that of ``noscript``, their trail, and bot tests of their forms."""

from datetime import UTC, datetime
from itertools import permutations
from typing import Any

import pytest

from handlers.fetch_page import FetchPageRules
from handlers.html.encoding import page_bytes, parse_bytes
from handlers.html.read_page import Detail, trail_of
from schemas.replies import FetchedPage, FetchFailure, FetchRefused
from tests.rules import shipped_rules
from tests.samples import instance
from tests.tables import tables

TABLES = tables(__file__)
READER = shipped_rules(FetchPageRules).pages
URL = "https://harbour.example/walks/lantern"
STORY = "The walk follows the river to the old mill, with songs on the way, and ends with soup for everybody. " * 4


def page(html: str | bytes) -> FetchedPage:
    body = html.encode() if isinstance(html, str) else html
    return FetchedPage(URL, URL, 200, "text/html; charset=utf-8", body, datetime(2026, 1, 2, tzinfo=UTC))


def reason(fetched: FetchedPage) -> FetchFailure | None:
    found = READER.fetched(fetched)
    return found.reason if isinstance(found, FetchRefused) else None


def test_noscript_content_is_read_on_a_page_built_by_scripts() -> None:
    html = f"<title>Lantern walk</title><div id=app></div><NOSCRIPT><h1>Lantern walk</h1><p>{STORY}</p></NOSCRIPT>"
    found = instance(Detail, READER.fetched(page(html)))
    assert "old mill" in found.content.text
    assert found.page.body == html.encode(), "the page goes out as it came"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<title>Lantern walk</title><p>Hm", FetchFailure.EMPTY),
        (b"", FetchFailure.NOT_HTML),
        (b"%PDF-1.7 \x00", FetchFailure.NOT_HTML),
        ("<div>" * 5_000, FetchFailure.NO_CONTENT),
    ],
)
def test_page_without_content_is_refused(body: str | bytes, expected: FetchFailure) -> None:
    assert reason(page(body)) is expected


@pytest.mark.parametrize(("is_full", "state"), [(True, "empty"), (False, "content")])
def test_only_a_whole_text_can_be_empty(is_full: bool, state: str) -> None:
    assert READER.read_result(None, "Lantern walk", "Hm", URL, is_full=is_full)[0].kind == state


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
    assert trail_of(parse_bytes(page_bytes(html).utf8)) == tuple(trail)


@pytest.mark.parametrize("line", TABLES["credit_and_date_are_found_in_any_order"])
@pytest.mark.parametrize("separator", [" | ", " · ", "</span> <span>"])
def test_credit_and_date_are_found_in_any_order(line: dict[str, Any], separator: str) -> None:
    for other in ("", *line["others"]):
        for parts in permutations(filter(None, (line["credit"], line["date"], other))):
            head = f"<h1>Ferry stops</h1><div><span>{separator.join(parts)}</span></div>"
            found = instance(Detail, READER.fetched(page(f"{head}<p>{STORY}</p><p>{STORY}</p>"))).content
            assert (str(found.date)[:10], found.authors) == ("2025-03-03", line["authors"]), parts
