"""Pages of web archives: which responses are pages, what is refused, and damaged or hostile archives."""

import gzip
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from schemas.pages import CrawledPage
from streams.publish import sources
from streams.publish.entries import Refused, SourceError
from streams.runtime.extras import missing_extra
from streams.topology import PAGES_CRAWLED, RETRIEVAL_BATCHES
from streams.topology.codec import OutputRecord, decode
from tests.archives import packed, warc_record

HTML = b"<title>T</title><p>Some text."
BIG5 = "<p>\u6e2c\u8a66".encode("big5")


def http(body: bytes, status: str = "200 OK", kind: str = "text/html", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def chunked(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


def archive(tmp_path: Path, *responses: bytes, name: str = "crawl.warc.gz") -> Path:
    file = tmp_path / name
    records = [warc_record(f"https://a.example/{number}", response) for number, response in enumerate(responses)]
    file.write_bytes(packed(records) if name.endswith(".gz") else b"".join(records))
    return file


def pages(entries: Iterable[OutputRecord | Refused | None]) -> list[CrawledPage | Refused]:
    found: list[CrawledPage | Refused] = []
    for entry in entries:
        if isinstance(entry, Refused):
            found.append(entry)
        elif entry is not None:
            page = decode(PAGES_CRAWLED, entry.value, entry.headers, None)
            assert isinstance(page, CrawledPage), page
            found.append(page)
    return found


def read(file: Path) -> list[CrawledPage | Refused]:
    return pages(entry.record(PAGES_CRAWLED) for entry in sources.read(file, PAGES_CRAWLED))


@pytest.mark.parametrize("name", ["crawl.warc.gz", "CRAWL.WARC"])
def test_html_responses_are_pages(tmp_path: Path, name: str) -> None:
    redirect = http(b"", "301 Moved", Location="/x")
    image, missing = http(b"GIF89a", kind="image/gif"), http(HTML, "404 Not Found")
    page = http(BIG5, kind="text/html; charset=big5")
    found = read(archive(tmp_path, page, redirect, image, missing, http(HTML, kind="application/xhtml+xml"), name=name))
    assert [getattr(page, "url", page) for page in found] == ["https://a.example/0", "https://a.example/4"]
    assert isinstance(found[0], CrawledPage)
    assert (found[0].body, found[0].content_type) == (BIG5, "text/html; charset=big5")
    assert found[0].fetched_at is not None
    assert found[0].fetched_at.isoformat() == "2025-01-02T03:04:05+00:00"


@pytest.mark.parametrize(
    "response",
    [
        http(gzip.compress(HTML), Content_Encoding="gzip"),
        http(chunked(HTML), Transfer_Encoding="chunked"),
        http(chunked(gzip.compress(HTML)), Content_Encoding="gzip", Transfer_Encoding="chunked"),
        http(HTML, Content_Encoding="gzip"),
    ],
    ids=["gzip", "chunked", "both", "stored unpacked"],
)
def test_payloads_are_unpacked(tmp_path: Path, response: bytes) -> None:
    [page] = read(archive(tmp_path, response))
    assert isinstance(page, CrawledPage)
    assert page.body == HTML


def test_bad_records_are_refused_and_the_rest_continues(tmp_path: Path) -> None:
    bomb = http(gzip.compress(b"a" * (64 << 20)), Content_Encoding="gzip")
    file = archive(tmp_path, b"no http", bomb, http(b"a" * (9 << 20)), http(HTML))
    no_http, unpacked, large, page = read(file)
    assert isinstance(no_http, Refused)
    assert isinstance(unpacked, Refused)
    assert isinstance(large, Refused)
    assert "not an HTTP response" in no_http.reason
    assert no_http.place == f"{file}:0"
    assert "larger than 8388608 bytes" in unpacked.reason
    assert "more than 8454144" in large.reason
    assert isinstance(page, CrawledPage)


def test_an_archive_that_ends_early_is_refused_at_its_end(tmp_path: Path) -> None:
    file = archive(tmp_path, http(HTML), http(HTML * 50), name="crawl.warc")
    file.write_bytes(file.read_bytes()[:-500])
    page, cut = read(file)
    assert isinstance(page, CrawledPage)
    assert isinstance(cut, Refused)
    assert "the archive ends in the record" in cut.reason


@pytest.mark.parametrize(
    "content",
    [b"<html>no archive" * 10, gzip.compress(b"no archive" * 10), b"\x1f\x8bdamaged"],
    ids=["html", "gzip of no archive", "damaged"],  # gzip writes the time, and ids must be equal in all processes
)
def test_what_is_no_archive_is_reported(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "crawl.warc.gz"
    file.write_bytes(content)
    with pytest.raises(SourceError, match=str(file)):
        read(file)


def test_package_has_its_archives_in_order(tmp_path: Path) -> None:
    file = tmp_path / "crawl.wacz"
    with zipfile.ZipFile(file, "w") as package:
        for number in (1, 0):
            content = packed([warc_record(f"https://a.example/{number}", http(HTML))])
            package.writestr(f"archive/data-{number}.warc.gz", content)
        package.writestr("datapackage.json", "{}")
    assert [getattr(page, "url", page) for page in read(file)] == ["https://a.example/0", "https://a.example/1"]
    file.write_bytes(b"no package")
    with pytest.raises(SourceError, match="not a zip file"):
        read(file)


def test_list_of_archives_is_read_below_its_folder(tmp_path: Path) -> None:
    (tmp_path / "crawl-data").mkdir()
    one, other = archive(tmp_path, http(HTML)), archive(tmp_path / "crawl-data", http(HTML), name="b.warc.gz")
    listing = tmp_path / "warc.paths.gz"
    listing.write_bytes(gzip.compress(b"elsewhere/crawl.warc.gz\ncrawl-data/b.warc.gz\n\n"))
    assert len(read(listing)) == 2
    assert sources.size_of(listing) == one.stat().st_size + other.stat().st_size
    assert [entry.end for entry in sources.read(listing, PAGES_CRAWLED)][-1] <= sources.size_of(listing)
    listing.write_bytes(gzip.compress(b"crawl-data/missing.warc.gz\n"))
    with pytest.raises(SourceError, match=r"names crawl-data/missing\.warc\.gz.*download it there"):
        read(listing)


def test_list_reaches_no_archive_outside_of_its_folder(tmp_path: Path) -> None:
    listing = tmp_path / "lists" / "warc.paths"
    listing.parent.mkdir()
    (listing.parent / "link.warc.gz").symlink_to(tmp_path / "crawl.warc.gz")
    for name in (str(archive(tmp_path, http(HTML))), "../crawl.warc.gz", "link.warc.gz"):
        listing.write_text(name)
        with pytest.raises(SourceError, match="is neither below"):
            read(listing)


def test_damaged_list_has_no_size(tmp_path: Path) -> None:
    listing = tmp_path / "warc.paths.gz"
    listing.write_bytes(gzip.compress(b"")[:10] + b"\xff" * 20)
    assert sources.size_of(listing) == 0


def test_archive_suits_topics_of_pages_only(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not take pages"):
        list(sources.read(archive(tmp_path, http(HTML)), RETRIEVAL_BATCHES))


def test_missing_package_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastwarc.warc", None)
    with pytest.raises(ModuleNotFoundError) as missing:
        read(archive(tmp_path, http(HTML)))
    assert missing_extra(missing.value) == "fastwarc is not installed: pip install 'assay[warc]'"
