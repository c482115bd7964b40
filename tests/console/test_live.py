"""The screen ``live`` in a browser."""

import re

from playwright.sync_api import expect

from tests.console.conftest import Visits


def test_a_click_on_a_dot_opens_the_decision(visits: Visits) -> None:
    page = visits().open("/?span=all&topic=pages.scored.v1")
    canvas = page.locator("#dots canvas")
    expect(canvas).to_have_attribute("data-painted", re.compile(r"^[1-9]"))
    place = page.evaluate("""() => {
        const canvas = document.querySelector('#dots canvas'), draw = canvas.getContext('2d');
        const data = draw.getImageData(0, 0, canvas.width, canvas.height).data, ratio = devicePixelRatio;
        for (let y = 0; y < canvas.height; y++) for (let x = 30; x < canvas.width; x++) {
            const at = 4 * (y * canvas.width + x);
            if (data[at + 3] > 150 && Math.abs(data[at] - data[at + 1]) > 40) return { x: x / ratio, y: y / ratio };
        }
    }""")
    assert place is not None
    canvas.click(position=place)
    page.wait_for_url("**/decision/pages.scored.v1/**")
    expect(page.get_by_role("heading", level=1)).to_contain_text("score")


def test_the_keyboard_is_enough(visits: Visits) -> None:
    page = visits().open("/")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator("tr.current")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page).not_to_have_url(re.compile(r"/$"))
    page.wait_for_load_state()
    page.keyboard.press("g")
    page.keyboard.press("l")
    expect(page).to_have_url(re.compile(r"/$"))
    page.wait_for_load_state()
    page.keyboard.press("/")
    expect(page.get_by_role("combobox", name="Search all decisions")).to_be_focused()


def test_the_theme_is_kept(visits: Visits) -> None:
    page = visits(color_scheme="light").open("/")
    page.keyboard.press("t")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
