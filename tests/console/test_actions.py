"""The screens with actions in a browser: redrive, replays, what if, review, cost."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from aiokafka import AIOKafkaProducer
from playwright.sync_api import Error, Page, expect

from tests.console.conftest import Demonstration, Visits
from tests.samples import environment

BREAD = "https://slow-kitchen.example/bread-without-kneading"
BAD = "https://broken.example/"


def feed(demonstration: Demonstration, *records: tuple[str, bytes]) -> None:
    """Writes records to the topic of crawled pages."""

    async def work() -> None:
        async with AIOKafkaProducer(bootstrap_servers=demonstration.kafka) as producer:
            for key, value in records:
                await producer.send_and_wait(f"{demonstration.topic_prefix}pages.crawled.v1", value, key=key.encode())

    # This thread has the event loop of Playwright.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work()).result()


def assay(demonstration: Demonstration, *arguments: str, **settings: str) -> str:
    """Runs a command on the demonstration's topics."""
    kafka = {"BOOTSTRAP_SERVERS": demonstration.kafka, "TOPIC_PREFIX": demonstration.topic_prefix}
    variables = environment(**{f"ASSAY_KAFKA__{name}": value for name, value in kafka.items()}, **settings)
    done = subprocess.run(
        [sys.executable, "-m", "assay", *arguments], env=variables, capture_output=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def press(page: Page, key: str) -> None:
    """Presses a key when the page's script has run."""
    page.wait_for_load_state()
    page.keyboard.press(key)


def test_a_dead_letter_is_shown_and_sent_again_after_a_dry_run(visits: Visits, demonstration: Demonstration) -> None:
    feed(demonstration, (BAD, b"<script>document.title = 'hacked'</script>\xe2\x80\xae"))
    visit = visits()
    visit.sign_in()
    page = visit.open("/dead-letters?q=host:broken.example state:undecodable")
    eventually(page, lambda: expect(page.locator("tr[data-row]")).to_have_count(1, timeout=3000))
    press(page, "j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/dead-letters/score_page/\d+/\d+$"))
    assert "hacked" in page.locator("pre").nth(1).inner_text()
    expect(page.locator("pre .code-point")).to_have_text("U+202E")
    assert "hacked" not in page.title()
    press(page, "r")
    expect(page.get_by_role("heading", level=1)).to_have_text("1 would be sent again")
    page.get_by_role("button", name="Send 1 again").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("1 sent again")
    # It dies again, and the letter that was sent is no longer among those that wait.
    page.goto(f"{visit.address}/dead-letters?q=broken.example")
    eventually(page, lambda: expect(page.locator(".others li")).to_have_count(1, timeout=3000))  # one group


def test_what_if_changes_the_decision_at_once(visits: Visits) -> None:
    page = visits().open(f"/what-if?url={BREAD}")
    result = page.locator("#result")
    expect(result.locator(".score").first).to_have_text("10")
    slider = page.get_by_label("Points of source tier 3")
    slider.focus()
    for _ in range(30):
        page.keyboard.press("ArrowRight")
    expect(result.locator(".score").nth(1)).to_have_text("40")
    expect(result.locator(".badge").nth(2)).to_have_text("tier B")
    expect(result.get_by_text("tier_3: 40")).to_be_visible()
    with page.expect_download() as download:
        result.get_by_role("link", name="Download as YAML").click()
    assert download.value.suggested_filename == "what-if.yaml"


def eventually(page: Page, check: Callable[[], None]) -> None:
    """Loads the page again until the check holds; the demonstration works at its own pace."""
    for _ in range(20):
        try:
            check()
        except AssertionError:
            with suppress(Error):  # a form that was just sent still loads its page, and that ends this load
                page.reload()
        else:
            return
    check()
