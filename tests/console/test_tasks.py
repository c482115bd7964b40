"""Five tasks of a new user, each with at most six actions: typing, a key, or a click."""

import json

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.conftest import Demonstration, Visit, Visits
from tests.console.test_actions import assay, eventually, press

HOST, URL = "ledger.example", "https://ledger.example/rates"
TEXT = "<p>The rates of the harbour were decided in spring, and a table of them follows on the next page.</p>"
MOST = 6


class Hand:
    """Counts what a user does."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.actions = 0

    def search(self, text: str) -> None:
        """Types into the query bar and presses Enter: two actions, after a third for the key that leads there."""
        self.page.wait_for_load_state()
        self.page.keyboard.press("/")
        self.page.keyboard.type(text)
        self.page.keyboard.press("Enter")
        self.actions += 3

    def click(self, what: Locator) -> None:
        what.click()
        self.actions += 1


@pytest.fixture(params=[("light", 1440), ("dark", 390)], ids=["light-1440", "dark-390"])
def visit(visits: Visits, request: pytest.FixtureRequest) -> Visit:
    theme, width = request.param
    found: Visit = visits(color_scheme=theme, viewport={"width": width, "height": 844})
    found.sign_in()
    return found


@pytest.fixture(scope="module")
def ledger(demonstration: Demonstration) -> None:
    """A page with a wrong date, and one that scripts make."""
    html = f"<html lang=en><title>Rates of the harbour</title><h1>Rates of the harbour</h1>{TEXT * 8}</html>"
    shell = '<html><title>Ledger</title><body><div id="root"></div><script src="/app.js"></script></body></html>'
    demonstration.publish("pages.crawled.v1", {"url": URL, "html": html}, {"url": f"https://{HOST}/app", "html": shell})


def test_a_decision_is_marked_with_one_key(visits: Visits, demonstration: Demonstration) -> None:
    visit = visits()
    visit.sign_in()
    page = visit.open("/review?handler=score_page&reviewer=Ida")
    first = page.locator(".subject").first.inner_text()
    press(page, "y")
    expect(page.locator(".list .badge.good")).to_have_count(1, timeout=20_000)
    expect(page.locator(".subject").first).not_to_have_text(first)
    press(page, "n")
    page.keyboard.type("A")  # the field with the tier has the focus
    page.get_by_role("button", name="Mark as wrong").click()
    expect(page.locator(".list .badge.poor")).to_have_count(1, timeout=20_000)
    expect(page.get_by_role("region", name="Agreement by handler and version")).to_contain_text("50 %")
    rows = [json.loads(line) for line in assay(demonstration, "export", "reviews").splitlines()]
    assert sorted((row["right"], row["label"], row["reviewer"], row["missing"] == []) for row in rows) == [
        (False, "A", "Ida", True),
        (True, rows[0]["decided"], "Ida", True),
    ]


@pytest.mark.usefixtures("ledger")
def test_a_page_of_a_host_that_is_low_because_of_its_source(visit: Visit) -> None:
    hand = Hand(visit.open("/page"))
    hand.search(f"host:{HOST} label:LOW source:unlisted state:content since:today")
    row = hand.page.locator("tr[data-row]")
    eventually(hand.page, lambda: expect(row).to_have_count(1, timeout=3000))
    hand.click(row.locator("[data-open]"))
    expect(hand.page.get_by_role("heading", level=1)).to_have_text("Rates of the harbour")
    expect(hand.page.locator(".facts")).to_contain_text(f"{HOST} is not listed")
    assert hand.actions <= MOST


@pytest.mark.usefixtures("ledger")
def test_all_pages_that_need_a_browser(visit: Visit) -> None:
    hand = Hand(visit.open("/page"))
    eventually(
        hand.page, lambda: expect(hand.page.get_by_role("link", name="needs render")).to_be_visible(timeout=3000)
    )
    hand.click(hand.page.get_by_role("link", name="needs render"))
    expect(hand.page.locator("tr[data-row]").first).to_contain_text(HOST)
    with hand.page.expect_download() as download:
        hand.click(hand.page.get_by_role("link", name="Export as JSON lines"))
    assert HOST in download.value.path().read_text("utf-8")
    assert hand.actions <= MOST


@pytest.mark.usefixtures("ledger")
def test_a_wrong_date_is_corrected(visit: Visit, demonstration: Demonstration) -> None:
    hand = Hand(visit.open("/"))
    hand.search(URL)
    hand.click(hand.page.get_by_role("link", name="Review it"))
    hand.click(hand.page.get_by_text("Wrong…"))
    hand.page.get_by_label("date").fill("2026-03-21")
    hand.page.keyboard.press("Enter")
    hand.actions += 1
    marks = hand.page.get_by_role("region", name="Last marks").get_by_role("listitem").filter(has_text=URL)
    expect(marks.locator(".badge.poor")).to_be_visible()
    assert hand.actions <= MOST
    assert "2026-03-21" in assay(demonstration, "export", "reviews")
    marks.get_by_role("button", name="Undo").click()
    # The decision waits again, so its address can be elsewhere on the screen.
    expect(marks).to_have_count(0)
    assert "2026-03-21" not in assay(demonstration, "export", "reviews")
