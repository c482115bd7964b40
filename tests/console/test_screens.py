"""Every screen and object by its address: what it shows, both themes, a narrow screen, and the keyboard."""

from itertools import product
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import Visit, Visits

PAGE = "/page?" + urlencode({"url": "http://kalender.aarhus-guide.example/event/jazz-at-the-harbour-house"})
DEEP = {
    "/page": "Pages",
    PAGE: "Jazz at the Harbour House",
    "/batch": "Batches",
    "/batch/events-in-aarhus": "events in Aarhus today",
    "/claim": "Claims",
    "/claim/tower": "They said it would be closed next week because of that.",
    "/relevance": "Requests for sources",
    "/relevance/who-plays": "who plays jazz at the Harbour House",
    "/query": "Queries",
    "/query/reservoir": "How full was the Shimen reservoir in November 2026?",
    "/sign-in": "Sign in",
}
WHAT_IF = "/what-if?url=https://slow-kitchen.example/bread-without-kneading&tier_b=5"
SIGNED_IN = ["/dead-letters", "/replays", "/what-if", "/review", "/cost", WHAT_IF]
"""The screens with actions."""
SHOWN = {"/": "#dots-count", PAGE: ".page-text", WHAT_IF: "#result .score"}
"""What comes after the rest of a screen."""


def opened(visit: Visit, path: str) -> Page:
    """A whole screen, with its actions."""
    if path in SIGNED_IN:
        visit.sign_in()
    page = visit.open(path)
    if path in SHOWN:
        expect(page.locator(SHOWN[path]).first).to_be_visible()
    return page


@pytest.mark.parametrize("path", ["/", *DEEP, *SIGNED_IN])
def test_a_screen_in_both_themes_and_widths(visits: Visits, tmp_path: Path, path: str) -> None:
    visit = visits(viewport={"width": 1440, "height": 900})
    page = opened(visit, path)
    if path in DEEP:
        expect(page.get_by_role("heading", level=1)).to_have_text(DEEP[path])
    for width, theme in product((1440, 390), ("light", "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        page.screenshot(path=tmp_path / f"{theme}-{width}.png")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert visit.violations() == []


def test_all_entries_and_actions_are_on_a_narrow_screen(visits: Visits, tmp_path: Path) -> None:
    visit = visits(viewport={"width": 390, "height": 844})
    visit.sign_in()
    for path in ("/page", "/batch", "/dead-letters"):
        page = visit.open(path)
        page.screenshot(path=tmp_path / f"{path[1:]}.png", full_page=True)
        for link in page.locator(".side a, main .button, .decisions a, .cards a").all():
            box = link.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 390
    page = visit.open("/page")
    row = page.locator(".decisions tr[data-row]").first
    verdict, title = row.locator(".says").bounding_box(), row.locator("[data-open]").bounding_box()
    assert verdict is not None
    assert title is not None
    assert verdict["y"] < title["y"]  # the verdict is first
