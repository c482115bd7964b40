"""Pages as TSV keep tabs and line ends, and may have four columns (R-201)."""

import contextlib
import json
from functools import partial
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from handlers.score_page import score_page
from schemas.pages import CrawledPage, ScoredPage
from streams.publish.entries import Entry, EntryError, Refused
from streams.publish.tsv import COLUMNS, LEGACY_COLUMNS, escape, read_row, row_of
from streams.topology import PAGES_CRAWLED
from tests.handlers.test_score_page import AUTHOR, DATE, DOI, HEADING, LINK, REFERENCES, RULES, SCHEMA, TABLE, page
from tests.samples import emitted, instance
from tests.samples import scored as scored_page
from tests.tables import tables

TABLES = tables(__file__)

URL = "https://a.example/1"
METADATA = TABLES["metadata"]


def row(*columns: str) -> bytes:
    return "\t".join(columns).encode()


def read(line: bytes) -> CrawledPage:
    return instance(CrawledPage, read_row(line))


def refused(line: bytes) -> str:
    return instance(Refused, Entry("x:1", b"", 0, partial(read_row, line)).record(PAGES_CRAWLED)).reason


def scored(crawled: CrawledPage) -> ScoredPage:
    return emitted(ScoredPage, score_page(crawled, RULES))


class TestReading:
    def test_the_five_columns(self) -> None:
        page = read(row(URL, "A title", "One.\\nTwo.", "2024-05-03", json.dumps(METADATA)))
        assert (page.url, page.title, page.content, page.date) == (URL, "A title", "One.\nTwo.", "2024-05-03")
        assert page.quality_metadata is not None
        assert {name: getattr(page.quality_metadata, name) for name in METADATA} == METADATA

    @pytest.mark.parametrize(
        "line", [row(URL, "T", "text", ""), row(URL, "T", "text", "", ""), row(URL, "", "", "", " ")]
    )
    def test_without_metadata_nothing_was_observed(self, line: bytes) -> None:
        assert read(line).quality_metadata is None
        assert read(line).date is None

    def test_an_empty_object_is_metadata_that_says_nothing(self) -> None:
        metadata = read(row(URL, "T", "text", "", "{}")).quality_metadata
        assert metadata is not None
        assert set(metadata.to_wire().values()) == {None}

    @pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\r"])
    def test_line_ends_are_removed(self, end: bytes) -> None:
        page = read(row(URL, "T", "text", "2024-05-03") + end)
        assert (page.url, page.date) == (URL, "2024-05-03")

    def test_exactly_the_names_of_columns_are_skipped(self) -> None:
        assert read_row("\t".join(COLUMNS).encode() + b"\r\n") is None
        assert read_row("\t".join(LEGACY_COLUMNS).encode()) is None
        assert read(row("url", "title", "content", "")).url == "url"

    @pytest.mark.parametrize(
        "column",
        [
            '{"schema_type": "a\\u4e2d\\"b\\n"}',
            escape('{"schema_type": "a\\u4e2d\\"b\\n"}'),
            json.dumps({"schema_type": 'a中"b\n'}, ensure_ascii=False),
        ],
    )
    def test_metadata_may_be_escaped_like_a_text_or_be_plain_json(self, column: str) -> None:
        metadata = read(row(URL, "T", "text", "", column)).quality_metadata
        assert metadata is not None
        assert metadata.schema_type == 'a中"b\n'

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            *((row(*columns), reason) for columns, reason in tables(__file__)["refused"]),
            (row("https://a.example/" + "x" * 9000, "T", "text", ""), "url: String should have at most 8192"),
            (row(URL, "T", "text", "", "[" * 5000), "quality_metadata is not JSON"),
            (row(URL, "T") + b"\xff\t\t", "not UTF-8: byte 0xff at byte 22"),
        ],
    )
    def test_invalid_row_is_refused_with_reason(self, line: bytes, reason: str) -> None:
        assert reason in refused(line)

    @settings(max_examples=300)
    @given(st.binary(max_size=200) | st.lists(st.text(max_size=20), min_size=3, max_size=6).map(lambda c: row(*c)))
    def test_line_is_a_page_or_refused(self, line: bytes) -> None:
        with contextlib.suppress(EntryError, ValidationError):
            page = read_row(line)
            assert page is None or page.content is not None


TEXTS = st.text(st.characters(exclude_characters="\x00", codec="utf-8"), max_size=80)
AWKWARD = st.sampled_from(["\\t", "\t", "\n", "\r\n", "\\", "\\\\n", "\u2028", "\ufeff", '"', "\x85"])
MIXED = st.lists(TEXTS | AWKWARD, max_size=6).map("".join)


class TestThereAndBack:
    @given(MIXED, MIXED, MIXED)
    @example("\\", "\\t\t", "\\\\\n")
    def test_any_text_comes_back(self, url: str, title: str, content: str) -> None:
        told = {"url": f"x{url}", "title": title, "content": content}
        page = scored_page(told["url"], told["content"], title=told["title"])
        line = row_of(page)
        assert line.count(b"\n") == 1
        assert line.count(b"\t") == len(COLUMNS) - 1
        assert {name: getattr(read(line), name) for name in told} == told

    @settings(deadline=None, max_examples=150)
    @given(
        st.lists(st.sampled_from([HEADING, LINK, AUTHOR, DATE, TABLE, SCHEMA, DOI, REFERENCES]), unique=True),
        st.sampled_from(["https://www.agency.gov.tw/a", "https://udn.com/a", "https://b.example/a"]),
        st.none() | st.sampled_from(["https://www.agency.gov.tw/b", "https://evil.example/b"]),
        st.none() | st.sampled_from(["科技部", "The Post"]),
        st.booleans(),
    )
    def test_a_page_keeps_its_score(
        self, parts: list[str], url: str, final_url: str | None, site_name: str | None, extracted: bool
    ) -> None:
        claim = '<meta property="og:site_name" content="科技部">'
        body: dict[str, Any] = {"content": "A text.\n資料來源：觀測"} if extracted else {"html": page(claim, *parts)}
        before = scored(CrawledPage(url=url, final_url=final_url, site_name=site_name, **body))
        again = scored(read(row_of(before)))
        assert again.cts_score == before.cts_score
        assert (again.tier, again.trust_label, again.label_source) == (
            before.tier, before.trust_label, before.label_source,
        )  # fmt: skip
        assert again.trust_features == before.trust_features
        assert again.quality_metadata == before.quality_metadata
        assert (again.date, again.authors, again.content) == (before.date, before.authors, before.content)
        assert row_of(again) == row_of(before)

    def test_fields_without_a_column_are_kept_in_the_metadata(self) -> None:
        told = {
            "fetched_at": "2026-01-02T03:04:05Z",
            "final_url": "https://a.example/2",
            "site_name": "The Post",
            "authors": ["Mette Friis"],
            "summary": "Rain.",
        }
        before = scored(
            CrawledPage.model_validate(
                {"url": URL, "content": "Rain falls on the old harbour and the mill.", "quality_metadata": {}, **told}
            )
        )
        back = read(row_of(before))
        assert {name: back.to_wire()[name] for name in told} == told

    def test_site_name_in_crawler_metadata_is_ignored(self) -> None:
        back = read(row(URL, "T", "text", "", '{"site_name": "科技部", "assay": 7}'))
        assert back.site_name is None
