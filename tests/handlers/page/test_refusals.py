"""Pages that came and are no content."""

from __future__ import annotations

import pytest

from handlers.fetch_page import FetchPageRules
from handlers.page.refusals import why_no_content
from schemas.outcome import FetchFailure
from tests.rules import shipped_rules

SECTION = shipped_rules(FetchPageRules).page_refusals
ARTICLE = "The council met on Tuesday and spoke for three hours about the bridge. " * 20


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        ("The bridge", ARTICLE, None),
        ("Opening hours", "Open from nine to five, every day of the week.", None),
        ("404 Not Found", "Please use the search.", FetchFailure.SOFT_404),
        ("Butik", "Siden findes ikke. Prøv igen.", FetchFailure.SOFT_404),
        ("Just a moment...", "", FetchFailure.CHALLENGE),
        ("Shop", "We saw unusual traffic. Are you a robot?", FetchFailure.CHALLENGE),
        ("Why sites say access denied", ARTICLE, None),
        ("Empty", "Loading", FetchFailure.NO_CONTENT),
        ("", "", FetchFailure.NO_CONTENT),
    ],
)
def test_only_short_pages_can_be_refusals(title: str, text: str, expected: FetchFailure | None) -> None:
    assert why_no_content(title, text, SECTION) is expected
