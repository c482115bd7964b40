import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.html.structured_data import SchemaTypes, StructuredData, find_title, read_structured_data, site_in_title
from tests.handlers.html.rules import READING, layout_of, outline_of
from tests.tables import tables

TABLES = tables(__file__)

TYPES = SchemaTypes(READING)
ARTICLE = TABLES["article"]


def read(*scripts: Any, item_types: tuple[str, ...] = (), part_types: tuple[str, ...] = ()) -> StructuredData:
    texts = [script if isinstance(script, str) else json.dumps(script) for script in scripts]
    return read_structured_data(texts, list(item_types), list(part_types), TYPES, 100_000)


@pytest.mark.parametrize(
    "script",
    [
        *TABLES["shapes"],
        "<!-- " + json.dumps(ARTICLE) + " -->",
        json.dumps(ARTICLE)[:-1] + ",}",
        json.dumps(ARTICLE) + ";",
        json.dumps(ARTICLE).replace("Rain", "Ra\nin").replace("Ra\nin", "Rain"),
    ],
)
def test_shapes(script: Any) -> None:
    data = read(script)
    assert (data.type, data.is_article) == ("NewsArticle", True)
    assert (data.published, data.headline, data.authors) == ("2024-05-03", "Rain", ("Ada Lovelace",))


@pytest.mark.parametrize(("scripts", "types", "parts", "expected"), TABLES["read"].values(), ids=TABLES["read"])
def test_read(
    scripts: tuple[Any, ...], types: tuple[str, ...], parts: tuple[str, ...], expected: dict[str, Any]
) -> None:
    data = read(*scripts, item_types=types, part_types=parts)
    assert {name: getattr(data, name) for name in expected} == expected


@pytest.mark.parametrize(("script", "name"), TABLES["the_parts_of_a_thing_are_not_the_page"])
def test_the_parts_of_a_thing_are_not_the_page(script: dict[str, Any], name: str) -> None:
    assert read(script).type == name


@pytest.mark.parametrize("around", ["// <![CDATA[\n{}\n// ]]>", "/*<![CDATA[*/ {} /*]]>*/", "<!--\n{}\n//-->", "{};"])
def test_what_is_around_json_is_passed_over(around: str) -> None:
    authors = [{"givenName": "Ada", "additionalName": "K.", "familyName": "Lovelace"}, {"name": "Al &amp; Bo\ud83d"}]
    data = read(around.replace("{}", json.dumps(ARTICLE | {"author": authors})))
    assert data.authors == ("Ada K. Lovelace", "Al & Bo\ufffd")


@pytest.mark.parametrize(
    "script", ["", "null", "7", "[[[", "[" * 5000, '{"a":' * 5000 + "1" + "}" * 5000, '{"@type": 3}']
)
def test_nothing_raises(script: str) -> None:
    assert read(script).type is None


def test_what_is_too_long_is_not_read() -> None:
    assert read(ARTICLE | {"articleBody": "x" * 200_000}).type is None


def title(html: str, stated: str = "", site: str = "", headline: str = "") -> str:
    data = StructuredData(is_article=bool(headline), headline=headline)
    layout = layout_of(html)
    return find_title(layout.outline, data, stated, layout.heading_text, site, "www.example.com")


@pytest.mark.parametrize(("html", "stated", "site", "expected"), TABLES["find_title"])
def test_find_title(html: str, stated: str, site: str, expected: str) -> None:
    assert title(html, stated, site) == expected


def test_an_articles_headline_goes_before_the_windows_title() -> None:
    assert title("<title>Window</title>", headline="Rain again") == "Rain again"


@pytest.mark.parametrize(("window", "host", "heading", "expected"), TABLES["sites_in_titles"])
def test_a_headline_may_begin_with_the_sites_name(window: str, host: str, heading: str, expected: str) -> None:
    page = outline_of(f"<title>{window}</title><h1>{heading}</h1>")
    assert find_title(page, StructuredData(), "", heading, "", host) == expected


@given(st.text(max_size=60), st.text(max_size=30))
def test_any_title_is_read(stated: str, site: str) -> None:
    assert len(title("<h1>Rain</h1>", stated, site)) <= 500
    assert site_in_title(stated, "www.example.com") in stated
