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


def test_the_best_type_of_several_scripts_wins() -> None:
    assert read({"@type": "Organization"}, {"@type": "Product"}, {"@type": "Article"}).type == "Article"
    assert read({"@type": "Organization"}, {"@type": "Product"}).type == "Product"
    assert read({"@type": "Organization"}).type == "Organization"


@pytest.mark.parametrize(("script", "name"), TABLES["the_parts_of_a_thing_are_not_the_page"])
def test_the_parts_of_a_thing_are_not_the_page(script: dict[str, Any], name: str) -> None:
    assert read(script).type == name


def test_structured_authors_are_separated_from_organisations() -> None:
    person, agency = {"@type": "Person", "name": "Ada Lovelace"}, {"@type": "NewsMediaOrganization", "name": "Agency"}
    data = read(ARTICLE | {"author": [agency, person]})
    assert (data.authors, data.organizations) == (("Ada Lovelace",), ("Agency",))


def test_an_author_may_be_an_object_in_a_text() -> None:
    assert read(ARTICLE | {"author": json.dumps({"name": "Ada Lovelace"})}).authors == ("Ada Lovelace",)


def test_microdata_types_count_and_other_vocabularies_do_not() -> None:
    assert read(item_types=("https://schema.org/BlogPosting",)).type == "BlogPosting"
    assert read(item_types=("https://data-vocabulary.org/Review",)).type is None


def test_the_parts_of_an_item_are_not_the_page() -> None:
    product, review = ("https://schema.org/Product",), ("https://schema.org/Review", "https://schema.org/Person")
    assert read(item_types=product, part_types=review).type == "Product"
    assert read(item_types=("https://schema.org/WebPage",), part_types=review).type == "Review"
    assert read(part_types=("https://schema.org/Person",)).type == "Person"


def test_quotation_marks_inside_of_a_text_are_repaired() -> None:
    data = read('{"@type": "NewsArticle", "headline": ""So" a "quoted" word", "author": [{"name": "Ada"}, "Bo"]}')
    assert (data.headline, data.authors) == ('"So" a "quoted" word', ("Ada", "Bo"))


def test_json_that_is_cut_yields_its_readable_fields() -> None:
    data = read(
        '{"@type": "NewsArticle", "datePublished": "2024-05-03", "author": {"name": "Ada"}, "headline": "a "cut'
    )
    assert (data.type, data.published, data.authors, data.headline) == ("NewsArticle", "2024-05-03", ("Ada",), "")


@pytest.mark.parametrize("around", ["// <![CDATA[\n{}\n// ]]>", "/*<![CDATA[*/ {} /*]]>*/", "<!--\n{}\n//-->", "{};"])
def test_what_is_around_json_is_passed_over(around: str) -> None:
    authors = [{"givenName": "Ada", "additionalName": "K.", "familyName": "Lovelace"}, {"name": "Al &amp; Bo\ud83d"}]
    data = read(around.replace("{}", json.dumps(ARTICLE | {"author": authors})))
    assert data.authors == ("Ada K. Lovelace", "Al & Bo\ufffd")


def test_comments_have_other_authors() -> None:
    data = read({"@type": "WebPage", "comment": [{"@type": "Article", "author": "Somebody"}]})
    assert data.type == "WebPage"


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


def test_values_of_many_forms_are_texts() -> None:
    value = {"@type": "Article", "headline": ["Rain", "Snow"], "description": {"@value": "Wet."}, "datePublished": 17}
    found = read(value)
    assert (found.headline, found.description, found.published) == ("Rain", "Wet.", "17")
