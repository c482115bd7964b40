import gzip
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from schemas.event import Run
from schemas.pages import MAX_PAGE_BYTES, CrawledPage
from streams.publish.entries import Entry, Refused, SourceError
from streams.publish.sources import Format, check_source, event_of, format_of, read
from streams.topology import PAGES_CRAWLED, RETRIEVAL_BATCHES, TOPIC_BYTES, Topic
from streams.topology.codec import OutputRecord
from tests.samples import instance
from tests.tables import tables

TABLES = tables(__file__)


def read_all(path: Path, run: str | None = None, stated: Format | None = None) -> list[OutputRecord | Refused]:
    found = (entry.record(PAGES_CRAWLED, Run(run) if run else None) for entry in read(path, PAGES_CRAWLED, stated))
    return [item for item in found if item is not None]


def records(path: Path, run: str | None = None) -> list[OutputRecord]:
    found = read_all(path, run)
    assert [item for item in found if isinstance(item, Refused)] == []
    return [item for item in found if isinstance(item, OutputRecord)]


def refusals(path: Path) -> list[str]:
    return [item.reason for item in read_all(path) if isinstance(item, Refused)]


def read_line(
    content: bytes | None, topic: Topic = PAGES_CRAWLED, run: str | None = None, written: Format = "jsonl"
) -> OutputRecord | Refused | None:
    entry = Entry("x:1", b"", 0, partial(event_of, content, topic, written), content)
    return entry.record(topic, Run(run) if run else None)


def headers(record: OutputRecord) -> dict[str, str]:
    return {name: (value or b"").decode() for name, value in record.headers}


def page_list(folder: Path, *cases: Any) -> Path:
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    return folder


def line(url: str, **fields: Any) -> bytes:
    return json.dumps({"url": url, "html": "<p>text", **fields}, ensure_ascii=False).encode()


class TestPageLists:
    def test_a_page_travels_as_the_bytes_it_is(self, tmp_path: Path) -> None:
        body = "<p>caf\u00e9".encode("latin-1")
        (tmp_path / "a.html.gz").write_bytes(gzip.compress(body))
        case = {"file": "a.html.gz", "url": "https://a.example/", "fetched_at": "2026-01-02T03:04:05Z"}
        [record] = records(page_list(tmp_path, case))
        assert (record.key, record.value) == (b"https://a.example/", body)
        assert headers(record)["content-type"] == "text/html"
        assert headers(record)["assay_url"] == "https://a.example/"
        assert headers(record)["assay_fetched_at"] == "2026-01-02T03:04:05+00:00"

    def test_the_list_itself_can_be_named_and_be_gzipped(self, tmp_path: Path) -> None:
        (tmp_path / "a.html").write_text("<p>a")
        (tmp_path / "cases.jsonl.gz").write_bytes(gzip.compress(b'{"file": "a.html", "id": "a-1"}\n\n'))
        for path in (tmp_path, tmp_path / "cases.jsonl.gz"):
            assert [record.key for record in records(path)] == [b"https://case.invalid/a-1"]

    @pytest.mark.parametrize("name", ["../secret.html", "/etc/hostname", "pages/../../secret.html", "link.html"])
    def test_nothing_outside_of_the_folder_is_read(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "secret.html").write_text("secret")
        folder = tmp_path / "folder"
        (folder / "pages").mkdir(parents=True)
        (folder / "link.html").symlink_to(tmp_path / "secret.html")
        [reason] = refusals(page_list(folder, {"file": name}))
        assert "outside of the folder" in reason

    @pytest.mark.parametrize(
        ("case", "reason"),
        [
            *TABLES["invalid_case_is_refused_with_its_line"],
            ({"file": "x" * 5000}, "too long"),
            ({"file": "a.html", "url": "x" * 9000}, "url: "),
        ],
    )
    def test_invalid_case_is_refused_with_its_line(self, tmp_path: Path, case: Any, reason: str) -> None:
        packed = gzip.compress(bytes(range(256)) * 20)
        (tmp_path / "pages").mkdir()
        (tmp_path / "a.html").write_text("<p>a")
        (tmp_path / "loop").symlink_to(tmp_path / "loop")
        (tmp_path / "broken.gz").write_bytes(b"not gzip")
        (tmp_path / "cut.gz").write_bytes(packed[:-12])
        (tmp_path / "torn.gz").write_bytes(packed[:12] + bytes(30) + packed[42:])
        found = read_all(page_list(tmp_path, {"file": "a.html"}, case))
        assert isinstance(found[0], OutputRecord)
        assert isinstance(found[1], Refused)
        assert reason in found[1].reason
        assert found[1].place.endswith("cases.jsonl:2")

    def test_a_large_page_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "large.html.gz").write_bytes(gzip.compress(b"x" * (MAX_PAGE_BYTES + 1)))
        assert refusals(page_list(tmp_path, {"file": "large.html.gz"})) == [
            f"the page is larger than {MAX_PAGE_BYTES} bytes"
        ]


class TestFolders:
    def test_html_files_get_an_address_of_their_name(self, tmp_path: Path) -> None:
        (tmp_path / "sub").mkdir()
        (tmp_path / "b c\u00e9.html").write_text("<p>b")
        (tmp_path / "sub" / "a.HTML.GZ").write_bytes(gzip.compress(b"<p>a"))
        (tmp_path / "notes.txt").write_text("no page")
        assert [(record.key, record.value) for record in records(tmp_path)] == [
            (b"https://file.invalid/b%20c%C3%A9.html", b"<p>b"),
            (b"https://file.invalid/sub/a.HTML.GZ", b"<p>a"),
        ]

    def test_a_link_to_a_page_elsewhere_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "secret.html").write_text("<p>secret")
        (tmp_path / "pages").mkdir()
        (tmp_path / "pages" / "link.html").symlink_to(tmp_path / "secret.html")
        [found] = read_all(tmp_path / "pages")
        assert "outside of the folder" in instance(Refused, found).reason

    def test_empty_folder_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(SourceError, match=r"no cases\.jsonl and no"):
            records(tmp_path)


class TestJsonLines:
    def test_lines_are_checked_one_by_one(self, tmp_path: Path) -> None:
        path = tmp_path / "pages.jsonl"
        path.write_bytes(b"\n".join([line("https://a.example/"), b"", b"{", b"[]", b'{"url": "u"}']) + b"\n")
        found = read_all(path)
        assert [item.place if isinstance(item, Refused) else item.key for item in found] == [
            b"https://a.example/",
            f"{path}:3",
            f"{path}:4",
            f"{path}:5",
        ]

    @pytest.mark.parametrize("damage", [slice(0, -12), slice(4, None)])
    def test_damaged_file_is_refused(self, tmp_path: Path, damage: slice) -> None:
        (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(line("https://a.example/") * 9)[damage])
        with pytest.raises(SourceError, match=r"a\.jsonl\.gz: "):
            records(tmp_path / "a.jsonl.gz")

    def test_what_no_topic_takes_is_refused(self) -> None:
        long_page = read_line(line("https://a.example/", html="\u00e9" * 5_000_000))
        assert isinstance(long_page, Refused)
        assert "larger than" in long_page.reason
        batch = {"batchId": "b", "query": "q" * (TOPIC_BYTES - 1000), "retrievedContent": []}
        long_batch = instance(Refused, read_line(json.dumps(batch).encode(), RETRIEVAL_BATCHES))
        assert long_batch.place == "x:1"

    def test_event_identity_depends_on_run_and_given_content(self) -> None:
        """A later version whose event has another optional field publishes a file under the same ids."""

        def identity(run: str | None, url: str = "https://a.example/", **fields: Any) -> str:
            record = instance(OutputRecord, read_line(line(url, **fields), run=run))
            assert headers(record).get("assay_run") == run
            return headers(record)["ce_id"]

        assert identity(None) == identity(None) == identity(None, site_name=None) != identity(None, site_name="A")
        ids = {identity(run, url) for url in ("https://a.example/", "https://b.example/") for run in (None, "r1", "r2")}
        assert len(ids) == 6


def test_a_path_is_checked_before_anything_is_sent(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text("")
    for path in (tmp_path, tmp_path / "cases.jsonl"):
        with pytest.raises(SourceError, match=r"retrieval\.batches\.v1 does not take pages"):
            check_source(path, RETRIEVAL_BATCHES)
    with pytest.raises(SourceError, match=r"TSV has pages, and retrieval\.batches\.v1 does not take pages"):
        check_source(Path("pages.tsv"), RETRIEVAL_BATCHES)
    with pytest.raises(SourceError, match="TSV has pages"):
        check_source(Path("-"), RETRIEVAL_BATCHES, "tsv")
    check_source(Path("-"), RETRIEVAL_BATCHES)
    with pytest.raises(SourceError, match="No such file"):
        check_source(tmp_path / "none.jsonl", PAGES_CRAWLED)


class TestTsv:
    ROWS = b"url\ttitle\tcontent\tdate\r\nhttps://a.example/1\tT\tone\\ntwo\t\r\n\r\nbad\nhttps://a.example/2\tT\tx\t"

    def test_lines_are_checked_one_by_one(self, tmp_path: Path) -> None:
        path = tmp_path / "pages.tsv"
        path.write_bytes(self.ROWS)
        found = read_all(path, "r1")
        assert [item.place if isinstance(item, Refused) else item.key for item in found] == [
            b"https://a.example/1",
            f"{path}:4",
            b"https://a.example/2",
        ]
        assert isinstance(found[0], OutputRecord)
        assert json.loads(found[0].value or b"")["content"] == "one\ntwo"
        assert headers(found[0])["assay_run"] == "r1"

    @pytest.mark.parametrize(("name", "stated"), [("pages.tsv.gz", None), ("pages.txt", "tsv"), ("pages.gz", "tsv")])
    def test_the_name_or_the_caller_says_that_it_is_tsv(self, tmp_path: Path, name: str, stated: Any) -> None:
        path = tmp_path / name
        path.write_bytes(gzip.compress(self.ROWS) if path.suffix == ".gz" else self.ROWS)
        found = read_all(path, None, stated)
        assert [isinstance(item, OutputRecord) for item in found] == [True, False, True]

    def test_what_the_caller_says_wins(self) -> None:
        assert format_of(Path("pages.tsv"), "jsonl") == "jsonl"
        assert format_of(Path("-"), None) == "jsonl"

    def test_a_row_too_large_is_refused(self) -> None:
        row = b"https://a.example/1\tT\t" + b"x" * (MAX_PAGE_BYTES + 1) + b"\t"
        found = instance(Refused, read_line(row, written="tsv"))
        assert "larger than" in found.reason
        assert isinstance(read_line(None, written="tsv"), Refused)


def test_removed_pages_are_named_by_their_addresses() -> None:
    gone = instance(CrawledPage, event_of(b"https://a.example/x\n", PAGES_CRAWLED, "removed"))
    assert (gone.url, gone.status) == ("https://a.example/x", 410)
    assert event_of(b" \n", PAGES_CRAWLED, "removed") is None
