"""What is committed while a screen is open, hostile pages among it, and pages of other sites."""

import time
from urllib.parse import urlencode

from playwright.sync_api import Browser, expect

from tests.console.conftest import TOKEN, Demonstration, Visits

_NEW = "https://news.example.org/new"
_HOSTILE = "https://hostile.example/page"
_ATTACK = (
    '<script>window.hacked = 1</script><img src=x onerror="window.hacked = 2">'
    '<a href="javascript:window.hacked=3">go</a>'
    '<svg onload="window.hacked = 4"></svg><iframe srcdoc="<script>parent.hacked = 5</script>"></iframe>'
    "</div></main></html><style>* { display: none }</style> end of the attack \u202egnp.exe"
)
_TITLE = '"><script>window.hacked = 6</script>\u202e{{ 7 * 7 }}'


def test_a_new_decision_appears_without_a_reload(visits: Visits, demonstration: Demonstration) -> None:
    page = visits().open("/")
    url = f"{_NEW}?at={time.time()}"
    demonstration.publish("pages.crawled.v1", {"url": url, "html": "<title>New</title><p>A new page.</p>"})
    row = page.locator("#rows tr", has_text="score_page").filter(has_text="news.example.org/new")
    expect(row.first).to_be_visible()
    assert row.first.locator("[data-open]").get_attribute("href") == "/page?" + urlencode({"url": url})


def test_a_hostile_page_is_shown_as_text(visits: Visits, demonstration: Demonstration) -> None:
    paragraph = "<p>Filler of a long page, which is still below the limit of eight megabytes.</p>"
    html = f"<title>{_TITLE}</title><h1>{_TITLE}</h1><p>{_ATTACK}</p>" + paragraph * 90_000
    assert 7_000_000 < len(html) < 8_388_608
    demonstration.publish("pages.crawled.v1", {"url": _HOSTILE, "html": html})
    visit = visits()
    page = visit.open("/")
    row = page.locator("#rows tr", has_text="hostile.example/page")
    expect(row.first).to_be_visible()
    page = visit.open("/page?" + urlencode({"url": _HOSTILE}))
    expect(page.locator(".page-text").first).to_contain_text("end of the attack")
    assert "\u202e" not in page.locator(".page-text").first.inner_text()
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img, main iframe, main script, main style").count() == 0
    assert page.locator('a[href^="javascript:"]').count() == 0
    page.locator(".history a").first.click()
    page.wait_for_load_state()
    assert page.evaluate("window.hacked") is None


def test_another_site_can_neither_read_nor_act(browser: Browser, demonstration: Demonstration) -> None:
    page = browser.new_page()
    try:
        page.goto(demonstration.address + "/sign-in")
        page.get_by_label("Token").fill(TOKEN)
        page.get_by_role("main").get_by_role("button", name="Sign in").click()
        page.get_by_role("button", name="Sign out").wait_for()
        # The same browser with its cookie, on a page of another origin.
        page.goto("data:text/html,<title>other</title>")
        read = "async (url) => { try { return await (await fetch(url)).text() } catch { return 'blocked' } }"
        assert page.evaluate(read, demonstration.address + "/live/dots") == "blocked"
        page.evaluate(
            """(url) => { const form = document.createElement('form'); form.method = 'post'; form.action = url;
            document.body.append(form); form.submit(); }""",
            demonstration.address + "/sign-out",
        )
        expect(page.locator("body")).to_contain_text("may not ask")
        page.goto(demonstration.address + "/")
        expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    finally:
        page.close()
