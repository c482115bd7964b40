"""Pages of web archives: which responses are pages, what is refused, and damaged or hostile archives."""

import gzip
import sys
import zipfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from schemas.pages import CrawledPage
from streams.publish import sources, warc
from streams.publish.entries import Refused, SourceError
from streams.runtime.extras import install_line, missing_extra
from streams.topology import PAGES_CRAWLED
from streams.topology.codec import OutputRecord, decode
from tests.archives import packed, warc_record
from tests.samples import instance

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
    assert "not an HTTP response" in instance(Refused, no_http).reason
    assert instance(Refused, no_http).place == f"{file}:0"
    assert "larger than 8388608 bytes" in instance(Refused, unpacked).reason
    assert "more than 8454144" in instance(Refused, large).reason
    assert isinstance(page, CrawledPage)


RECORDS = [warc_record(f"https://a.example/{number}", http(HTML)) for number in range(4)]
MEMBERS = [packed([record]) for record in RECORDS]
LENGTH = b"Content-Length: %d" % len(http(HTML))


def kept(found: Iterable[CrawledPage | Refused]) -> list[int | None]:
    """The numbers of the pages, and None for what was refused."""
    return [int(page.url[-1]) if isinstance(page, CrawledPage) else None for page in found]


@pytest.mark.parametrize("form", ["plain", "members", "one member"])
@pytest.mark.parametrize(
    ("record", "numbers"),
    [
        (RECORDS[1].replace(LENGTH, b"Content-Length: 9"), [0, None, 2, 3]),
        (RECORDS[1].replace(LENGTH, LENGTH + b"0"), [0, None, 2, 3]),
        (RECORDS[1].replace(LENGTH, LENGTH + b"00000000"), [0, None, 2, 3]),
        (RECORDS[1].replace(LENGTH, b"Content-Length: many"), [0, None, 2, 3]),
        (RECORDS[1].replace(b"WARC/1.0", b"WORC/1.0"), [0, None, 2, 3]),
        (RECORDS[1].replace(b"WARC-Type", b"Type"), [0, None, 2, 3]),
        (RECORDS[1][:-60], [0, None, 2, 3]),
        (RECORDS[1] + b"between records", [0, 1, None, 2, 3]),
        (RECORDS[1][:-4], [0, 1, 2, 3]),
        (RECORDS[1].replace(b"WARC-Type", b"warc-type").replace(b"Content-Length", b"content-length"), [0, 1, 2, 3]),
        (RECORDS[1].replace(http(HTML), b"\0").replace(b"\r\n", b"\n").replace(b"\0", http(HTML)), [0, 1, 2, 3]),
        (warc_record("https://a.example/1", http(HTML).replace(b"\r\n", b"\n")), [0, 1, 2, 3]),
    ],
    ids=["short", "long", "huge", "no length", "no version", "no type", "cut", "junk", "no end", "lower", "LF", "HTTP"],
)
def test_a_damaged_record_costs_that_record(
    tmp_path: Path, form: str, record: bytes, numbers: list[int | None]
) -> None:
    records = [RECORDS[0], record, *RECORDS[2:]]
    file = tmp_path / "crawl.warc.gz"
    contents = {"plain": b"".join(records), "members": packed(records), "one member": packed([b"".join(records)])}
    file.write_bytes(contents[form])
    found = read(file)
    assert kept(found) == numbers
    offset = len(RECORDS[0]) + len(RECORDS[1]) * (numbers[1] == 1)
    inner = f"+{len(RECORDS[1])}" if numbers[1] == 1 else ""
    place = {"plain": offset, "members": f"{len(MEMBERS[0])}{inner}", "one member": f"0+{offset}"}[form]
    assert [page.place for page in found if isinstance(page, Refused)] in ([], [f"{file}:{place}"])


@pytest.mark.parametrize(
    ("content", "numbers", "offset"),
    [
        ([MEMBERS[0], MEMBERS[1][:-8] + bytes(4) + MEMBERS[1][-4:], *MEMBERS[2:]], [0, None, 2, 3], len(MEMBERS[0])),
        ([MEMBERS[0], MEMBERS[1][:90], *MEMBERS[2:]], [0, None, 2, 3], len(MEMBERS[0])),
        ([MEMBERS[0], b"between members", *MEMBERS[1:]], [0, None, 1, 2, 3], len(MEMBERS[0])),
        ([b"damaged", MEMBERS[0][7:], *MEMBERS[1:]], [None, 1, 2, 3], 0),
        ([*MEMBERS[:3], MEMBERS[3][:-9]], [0, 1, 2, None], sum(map(len, MEMBERS[:3]))),
        ([packed([b"".join(RECORDS)])[:-5], bytes(5)], [0, 1, 2, None], f"0+{sum(map(len, RECORDS[:3]))}"),
    ],
    ids=["check sum", "cut", "junk", "first", "last", "check sum of all"],
)
def test_a_damaged_member_costs_its_record(
    tmp_path: Path, content: list[bytes], numbers: list[int | None], offset: int | str
) -> None:
    file = tmp_path / "crawl.warc.gz"
    file.write_bytes(b"".join(content))
    found = read(file)
    assert kept(found) == numbers
    assert [page.place for page in found if isinstance(page, Refused)] in ([], [f"{file}:{offset}"])


def test_a_record_in_the_content_of_a_damaged_one_is_not_read(tmp_path: Path) -> None:
    forged = http(HTML + b"\r\n\r\n" + warc_record("https://forged.example/9", http(HTML)))
    file = archive(tmp_path, forged, http(HTML))
    assert kept(read(file)) == [0, 1]
    member = warc_record("https://a.example/0", forged).replace(b"Content-Length: ", b"Content-Length: 9", 1)
    file.write_bytes(packed([member, RECORDS[1]]))
    assert kept(read(file)) == [None, 1]


def test_package_has_its_archives_in_order(tmp_path: Path) -> None:
    file = tmp_path / "crawl.wacz"
    with zipfile.ZipFile(file, "w") as package:
        for number in (1, 0):
            content = packed([warc_record(f"https://a.example/{number}", http(HTML))])
            package.writestr(f"archive/data-{number}.warc.gz", content)
        package.writestr("datapackage.json", "{}")
    assert [getattr(page, "url", page) for page in read(file)] == ["https://a.example/0", "https://a.example/1"]
    damaged = bytearray(file.read_bytes())
    damaged[damaged.index(b"\x1f\x8b", damaged.index(b"data-0.")) + 40] ^= 0xFF
    file.write_bytes(damaged)
    assert kept(read(file)) == [None, 1]
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
    one.write_bytes(b"no archive")
    assert kept(read(listing)) == [None, 0]
    listing.write_bytes(gzip.compress(b"crawl-data/missing.warc.gz\n"))
    with pytest.raises(SourceError, match=r"names crawl-data/missing\.warc\.gz.*download it there"):
        read(listing)
    listing.write_bytes(gzip.compress(b"")[:10] + b"\xff" * 20)
    assert sources.size_of(listing) == 0, "the list is damaged"


def test_list_reaches_no_archive_outside_of_its_folder(tmp_path: Path) -> None:
    listing = tmp_path / "lists" / "warc.paths"
    listing.parent.mkdir()
    (listing.parent / "link.warc.gz").symlink_to(tmp_path / "crawl.warc.gz")
    for name in (str(archive(tmp_path, http(HTML))), "../crawl.warc.gz", "link.warc.gz"):
        listing.write_text(name)
        with pytest.raises(SourceError, match="is neither below"):
            read(listing)


def test_missing_package_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastwarc.warc", None)
    with pytest.raises(ModuleNotFoundError) as missing:
        read(archive(tmp_path, http(HTML)))
    assert missing_extra(missing.value) == f"fastwarc is not installed: {install_line('warc')}"


def test_a_large_member_is_unpacked_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warc, "_IN_MEMORY", 500)
    file = tmp_path / "crawl.warc.gz"
    file.write_bytes(packed([b"".join(RECORDS * 100)]))
    assert kept(read(file)) == [0, 1, 2, 3] * 100


def test_records_passed_over_are_counted_by_kind(tmp_path: Path) -> None:
    kinds = ("resource", "request", "metadata", "conversion", "revisit", "warcinfo", "made-up", "request")
    file = archive(tmp_path, http(b"", "404 Not Found"), http(b"GIF89a", kind="image/gif"), http(HTML), name="a.warc")
    with file.open("ab") as added:
        added.writelines(warc_record("https://a.example/", http(HTML), kind) for kind in kinds)
    passed: Counter[str] = Counter()
    assert len(pages(entry.record(PAGES_CRAWLED) for entry in sources.read(file, PAGES_CRAWLED, passed=passed))) == 1
    expected = Counter(kinds) | {"unknown": 1, "response without HTML": 1, "response with another status": 1}
    del expected["made-up"]
    assert passed == expected
