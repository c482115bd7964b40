"""The forms of a crawled page, and scored pages from before there were scores."""

import json
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import ValidationError

from schemas.pages import MAX_CONTENT_TYPE, CrawledPage, CrawlerMetadata, ScoredPage
from tests.handlers.indexing.pages import scored_page
from tests.tables import tables

TABLES = tables(__file__)

URL = "https://a.example/"


@pytest.mark.parametrize("body", TABLES["exactly_one_body_is_needed"])
def test_exactly_one_body_is_needed(body: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="exactly one of html, html_base64 and content"):
        CrawledPage.model_validate({"url": URL, **body})


def test_a_content_type_without_end_is_cut() -> None:
    page = CrawledPage(url=URL, html="<p>", content_type="text/html; charset=" + " " * 1_000_000)
    assert page.content_type == "text/html; charset=".ljust(MAX_CONTENT_TYPE)


@pytest.mark.parametrize(("body", "read"), [({"content": ""}, ""), ({"content": "text"}, "text"), ({"html": ""}, "")])
def test_an_empty_body_is_one(body: dict[str, Any], read: str) -> None:
    assert CrawledPage.model_validate({"url": URL, **body}).body == read


@pytest.mark.parametrize(
    ("author", "names"), [(None, ()), ("Mette Friis", ("Mette Friis",)), (["A B", "C D"], ("A B", "C D")), ([], ())]
)
def test_an_author_may_come_as_text(author: Any, names: tuple[str, ...]) -> None:
    page = CrawledPage.model_validate({"url": URL, "content": "", "author": author})
    assert page.authors == names
    assert CrawledPage.model_validate_json(page.to_json()) == page


@pytest.mark.parametrize("wrong", TABLES["metadata_of_a_wrong_type_is_refused"])
def test_metadata_of_a_wrong_type_is_refused(wrong: Any) -> None:
    with pytest.raises(ValidationError, match="quality_metadata"):
        CrawledPage.model_validate({"url": URL, "content": "", "quality_metadata": wrong})


def test_missing_metadata_is_null_and_unknown_metadata_ignored() -> None:
    metadata = CrawlerMetadata.model_validate({"has_byline": True, "of_tomorrow": 1})
    assert {name: value for name, value in metadata.to_wire().items() if value is not None} == {"has_byline": True}


@pytest.mark.parametrize("body", [{"html": "<p>"}, {"html_base64": "PHA+"}])
def test_fields_beside_html_are_ignored_with_any_value(body: dict[str, Any]) -> None:
    foreign = {"title": 7, "date": 1714720000, "author": {"name": "A"}, "summary": [], "quality_metadata": "yes"}
    assert CrawledPage.model_validate({"url": URL, **body, **foreign}) == CrawledPage.model_validate(
        {"url": URL, **body}
    )


@pytest.mark.parametrize("field", ["title", "content", "date", "summary"])
def test_no_nul_in_texts(field: str) -> None:
    with pytest.raises(ValidationError, match="NUL"):
        CrawledPage.model_validate({"url": URL, "content": "", field: "a\x00b"})


@pytest.mark.parametrize(
    ("written", "value", "again"),
    [
        ("2024-05-03", date(2024, 5, 3), "2024-05-03"),
        ("2024-05-03T00:00:00", datetime.fromisoformat("2024-05-03T00:00:00"), "2024-05-03T00:00:00"),
        ("2024-05-03T08:00:00Z", datetime(2024, 5, 3, 8, tzinfo=UTC), "2024-05-03T08:00:00Z"),
        (
            "2024-05-03T08:00:00+08:00",
            datetime(2024, 5, 3, 8, tzinfo=timezone(timedelta(hours=8))),
            "2024-05-03T08:00:00+08:00",
        ),
        ("2023-02-10T10:00:00+99:99", None, None),
        ("May 2024", None, None),
        (None, None, None),
    ],
)
def test_the_date_of_a_scored_page_is_a_day_or_an_instant(
    written: str | None, value: object, again: str | None
) -> None:
    page = scored_page("B", date=written, cts_score=None, page_id=None)
    assert page.date == value
    assert type(page.date) is type(value)
    assert json.loads(page.to_json())["date"] == again
    assert ScoredPage.model_validate_json(page.to_json()) == page
