"""Records of an attacker, each with its expected result."""

import json
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

from tests.kafka.batches import Record, batch, bomb, gzip_announcing, lz4_announcing, numbered, zstd_announcing
from tests.kafka.malformed import MIB, PAGE, good_batch

URL = "https://hostile.example/page"
BLANKS = " " * 1_000_000
RAW = [("assay_url", URL.encode()), ("content-type", b"text/html; charset=utf-8")]
NARROW_PAGE = b"<meta" * 79 + b"charset=" + b" " * 3690 + b"!<p>text</p>"
"""4 KB, in which 79 searches for a charset begin."""

_CODES = "\\x5c" + "x5c" * 5
BACKSLASHES = "harbour festival " + (_CODES + "x5<b>c") * 2 + "x5c" * 5 + "x41" + "\\" * 2000
"""Codes that encode codes, with tags between their parts, before a run of backslashes."""


@dataclass(frozen=True, slots=True)
class Hostile:
    """A batch to write, and the expected result of each of its records.

    Attributes:
        name: What it is.
        data: The batch, as bytes for the wire.
        records: How many records it has.
        ends: ``emit``, or the reason of a dead letter.
    """

    name: str
    data: bytes
    ends: str
    records: int = 1


def _one(
    name: str, ends: str, value: bytes | None, *headers: tuple[str, bytes | None], key: bytes | None = b"k"
) -> Hostile:
    return Hostile(name, batch((key, value, headers)), ends)


def _json(name: str, ends: str, **fields: Any) -> Hostile:
    page = {"url": URL, "html": PAGE, **fields}
    return _one(name, ends, json.dumps({k: v for k, v in page.items() if v is not None}).encode())


def packed(small: Record) -> Iterator[Hostile]:
    """Batches that are enormous when they are unpacked, or of a good record, and with the wrong size or none."""
    yield Hostile("zstd, 700 MB", bomb("zstd", 700_000_000), "undecodable")
    yield Hostile("zstd, 700 MB, with the largest window", bomb("zstd", 700_000_000, window_log=27), "undecodable")
    for codec in ("gzip", "lz4", "snappy"):
        yield Hostile(f"{codec}, 200 MB", bomb(codec, 200_000_000), "undecodable")
    yield Hostile("zstd, no size", batch(small, codec="zstd", pack=zstd_announcing(None)), "emit")
    yield Hostile("lz4, 10 bytes", batch(small, codec="lz4", pack=lz4_announcing(10)), "undecodable")
    yield Hostile("lz4, 2**62 bytes", batch(small, codec="lz4", pack=lz4_announcing(1 << 62)), "undecodable")
    many = batch(*[(b"k", bytes(7 * MIB), RAW)] * 10, codec="zstd")
    yield Hostile("ten pages of 7 MiB in one batch", many, "undecodable", records=10)


def refused_by_the_broker() -> Iterator[Hostile]:
    """Wrong sizes that the broker finds."""
    small: Record = (b"k", PAGE.encode(), RAW)
    yield Hostile("zstd, 10 bytes", batch(small, codec="zstd", pack=zstd_announcing(10)), "")
    yield Hostile("gzip, 10 bytes", batch(small, codec="gzip", pack=gzip_announcing(10)), "")


def pages() -> Iterator[Hostile]:
    """Records for ``pages.crawled.v1``."""
    html = PAGE.encode()
    blanks = f"text/html; charset={BLANKS}!"
    yield _one("charset in a header, behind blanks", "emit", html, RAW[0], ("content-type", blanks.encode()))
    yield _json(
        "charset in a field, behind blanks",
        "emit",
        html=None,
        html_base64=b64encode(html).decode(),
        content_type=blanks,
    )
    yield _json("charset in a page of 4 KB", "emit", html=None, html_base64=b64encode(NARROW_PAGE).decode())
    yield _one("charset in a raw page of 4 KB", "emit", NARROW_PAGE, *RAW)
    yield _one("backslashes", "emit", f"<title>{escape(BACKSLASHES)}</title><p>{escape(BACKSLASHES)}".encode(), *RAW)
    yield _one("no JSON", "undecodable", b"<p>no address</p>")
    yield _one("depth 200,000", "undecodable", b"[" * 200_000 + b"]" * 200_000)
    yield _one(
        "depth 200,000 in a field", "undecodable", b'{"url":"u","context":' + b'{"a":' * 200_000 + b"1" + b"}" * 200_001
    )
    yield _one("elements in elements", "too_complex", b"<div>" * 2_000, *RAW)
    yield _one("elements in elements, 1 MB", "too_complex", b"<div>" * 200_000, *RAW)
    yield _json("an address of 9 KB", "invalid", url="https://hostile.example/" + "a" * 9000)
    yield _one("3,000 headers of 1 KB", "emit", html, *RAW, *[(f"h{n}", b"x" * 1024) for n in range(3000)])
    yield _one("one header, 3,000 times", "emit", html, *RAW, *[("assay_context", b"x" * 1024)] * 3000)
    yield _one(
        "bytes that are no UTF-8", "undecodable", b'{"url":"https://hostile.example/\xff\xfe","html":"<p>\xc3\x28"}'
    )
    yield _one(
        "headers that are no UTF-8", "emit", html, *RAW, ("traceparent", b"\xff\xfe"), ("assay_run", b"\xf8\x88")
    )
    yield _one("nothing", "undecodable", b"")
    yield _one("NUL bytes", "undecodable", bytes(1000))
    yield _json("NUL in text", "unreadable_page", html="<title>\0</title><p>" + "\0text " * 1000)
    yield _json("the year 1", "emit", fetched_at="0001-01-01T00:00:00+14:00")
    yield _json("the year 99999", "bad_instant", fetched_at="99999-01-01T00:00:00Z")
    yield _one("the year 99999 in a header", "bad_instant", html, *RAW, ("assay_fetched_at", b"99999-01-01T00:00:00Z"))
    yield _one("a lone surrogate", "emit", b'{"url":"https://hostile.example/","html":"<p>\\ud800</p>"}')
    yield _json("10**30", "emit", status=10**30)
    yield _one("a number of 5,000 digits", "undecodable", b'{"url":"u","html":"h","status":1' + b"0" * 5000 + b"}")
    yield _one("a tombstone", "undecodable", None)
    yield _one("a tombstone that says it is unreadable", "undecodable", None, ("assay_unreadable", b"\xff forged"))
    yield _one("a page that says it is unreadable", "emit", html, *RAW, ("assay_unreadable", b"forged"))
    yield _one(
        "notes of a retry",
        "emit",
        html,
        *RAW,
        ("x-orig-topic", b"t"),
        ("x-orig-offset", b"-1"),
        ("x-not-before", b"9" * 30),
        ("x-attempt", b"9" * 30),
    )
    yield _one("neither key nor value", "undecodable", None, key=None)
    yield _one(
        "bytes that are no base64", "invalid", b'{"url":"https://hostile.example/","html_base64":"\xe2\x82\xac"}'
    )
    yield _one(
        "8 MB of links",
        "emit",
        b"".join(b'<a href="http://d%d.example.org/">x</a>' % n for n in range(180_000)),
        *RAW,
    )
    yield _one(
        "8 MB of metadata",
        "too_complex",
        b"".join(b'<meta name=x%d content="y">' % n for n in range(250_000)),
        *RAW,
    )
    yield _one("8 MB and one byte", "too_large", bytes(8 * MIB + 1), *RAW)
    yield Hostile("an offset of 2**32", batch((b"k", html, RAW), pack=numbered(b"\x80\x80\x80\x80\x20")), "undecodable")
    wide = (b"a key that is read as an offset", html, RAW)
    odd = batch(wide, wide, pack=lambda data: data[:2] + b"\x80" + data[3:])
    yield Hostile("attributes that only the broker can read", odd, "undecodable", records=2)


def batches() -> Iterator[Hostile]:
    """Records for ``retrieval.batches.v1``."""
    fine = json.loads(good_batch(1).value or b"")
    result = fine["retrievedContent"][0]
    yield Hostile(
        "150,000 results",
        batch((b"k", json.dumps({**fine, "retrievedContent": [{"url": "https://a.example/"}] * 150_000}).encode(), [])),
        "invalid",
    )
    yield Hostile(
        "backslashes",
        batch(
            (
                b"k",
                json.dumps(
                    {**fine, "retrievedContent": [{**result, "title": BACKSLASHES, "content": BACKSLASHES}] * 20}
                ).encode(),
                [],
            )
        ),
        "emit",
    )
