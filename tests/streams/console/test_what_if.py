"""The screen ``what_if``: a page under the settings in force and under changed ones."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from schemas.pages import CrawledPage
from streams.console.what_if import SLIDERS, change_of, changed_settings
from streams.settings.model import load_settings
from streams.workers.settings import WorkersSettings
from tests.streams.console.consoles import AUTHORIZED, OWN, OwnConsole, settings

HTML = "<title>Report</title><h2>Part</h2><p>The report has 12 pages.</p>"
URL = "https://a.example/report"


@pytest.fixture
def console() -> Iterator[OwnConsole]:
    its = OwnConsole()
    its.context.settings = its.settings.model_copy(update={"workers": WorkersSettings(processes=0)})
    with its.served() as its.client:
        yield its


def tried(console: OwnConsole, **form: Any) -> str:
    answer = console.client.post("/what-if/try", data=form, headers=OWN)
    assert answer.status_code == 200, answer.text
    return answer.text


def sides(text: str) -> list[str]:
    """The score, tier and label of each side."""
    words = ("score 18", "score 33", "tier A", "tier B", "tier C", "LOW", "MEDIUM")
    parts = text.split('<p class="verdict">')[1:3]
    # Not digits of a version, which is a hexadecimal number.
    return [
        " ".join(word for word in words if re.search(rf"\b{word.removeprefix('score ')}\b", part)) for part in parts
    ]


def test_the_sliders_begin_at_the_settings_or_the_address(console: OwnConsole) -> None:
    text = console.client.get("/what-if").text
    for slider in SLIDERS:
        most = slider.most(settings())
        assert f'name="{slider.name}" type="range" min="0" max="{most}" value="{slider.value(settings())}"' in text
    text = console.client.get("/what-if?tier_b=20&high=none&medium=1000").text
    assert 'name="tier_b" type="range" min="0" max="100" value="20"' in text
    assert f'name="high" type="range" min="0" max="100" value="{settings().trust_labels.high}"' in text


def test_a_pasted_page_is_scored_under_both(console: OwnConsole) -> None:
    text = tried(console, html=HTML, source_3="25", tier_b="30", medium="33")
    assert sides(text) == ["score 18 tier C LOW", "score 33 tier B MEDIUM"]
    assert '<tr class="differs"><th scope="row">base</th><td class="number">10</td><td class="number">25</td>' in text
    assert "base_scores:\n    tier_3: 25" in text


def test_a_crawled_page_is_found_by_its_address(console: OwnConsole) -> None:
    console.write(CrawledPage(url=URL, html=HTML))
    assert "the newest crawled record of the address" in tried(console, url=URL)


def test_an_unknown_address_is_not_fetched_without_the_token(
    console: OwnConsole, monkeypatch: pytest.MonkeyPatch
) -> None:
    class FetchedError(Exception):
        pass

    def fetch(*_: Any) -> None:
        raise FetchedError

    monkeypatch.setattr("streams.console.what_if.FetchWorker", fetch)
    answer = console.client.post("/what-if/try", data={"url": URL}, headers=OWN)
    assert "Sign in to fetch it" in answer.text
    with pytest.raises(FetchedError):
        console.client.post("/what-if/try", data={"url": URL}, headers=OWN | AUTHORIZED)


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({"html": HTML, "tier_a": "10"}, "must be above tier_b.min_cts"),
        ({"url": "ftp://a.example/"}, "The address begins with http:// or https://"),
        ({}, "Paste the HTML of a page"),
    ],
)
def test_what_is_impossible_is_explained(console: OwnConsole, form: dict[str, str], says: str) -> None:
    assert says in tried(console, **form)


def test_no_slider_leads_beyond_a_score_of_100(console: OwnConsole) -> None:
    text = tried(console, html=HTML, source_3="99")
    assert sides(text)[1].startswith("tier B")
    assert "tier_3: 40" in text


def test_a_hostile_page_is_text(console: OwnConsole) -> None:
    html = "<title><script>alert(1)</script></title><p onclick=alert(1)>‮<img src=x onerror=alert(1)> text</p>"
    text = tried(console, html=html, url="javascript:alert(1)")
    assert "<script" not in text
    assert "onerror" not in text.replace("&lt;img src=x onerror", "")


def test_a_form_that_is_too_long_is_refused(console: OwnConsole) -> None:
    headers = OWN | {"content-length": str(30 << 20), "content-type": "application/x-www-form-urlencoded"}
    assert console.client.post("/what-if/try", content=b"html=x", headers=headers).status_code == 413


def test_the_settings_are_a_file_for_the_commands(console: OwnConsole, tmp_path: Path) -> None:
    answer = console.client.get("/what-if/settings.yaml?tier_a=60&domain=a.example&tier=1")
    assert answer.headers["content-disposition"] == 'attachment; filename="what-if.yaml"'
    file = tmp_path / "what-if.yaml"
    file.write_bytes(answer.content)
    document = yaml.safe_load(answer.text)
    assert set(document) == {"tiered_indexing", "source_tiers"}
    loaded = load_settings(file)
    assert loaded.tiered_indexing.tier_a.min_cts == 60
    assert loaded.source_tiers.tier_1 == (*settings().source_tiers.tier_1, "a.example")
    assert console.client.get("/what-if/settings.yaml?tier_a=10").status_code == 422


def test_a_source_leaves_its_former_tier() -> None:
    listed = settings().source_tiers.tier_2[0]
    change = change_of({"domain": listed.upper(), "tier": "3"}, settings())
    changed = changed_settings(change, settings()).source_tiers
    assert listed not in changed.tier_2
    assert changed.tier_3[-1] == listed
