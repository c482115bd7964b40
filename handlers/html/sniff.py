"""Whether a crawled body is a page at all: its declared type, its first bytes and its control characters decide.

A body and its Content-Type go in; what it looks like instead of a page comes out, or None where it may be read.
"""

from __future__ import annotations

import codecs

_READABLE = ("text/", "application/xhtml", "application/xml", "application/octet-stream", "unknown/")
_MAGIC = (
    (b"%PDF-", "a PDF document"), (b"\x89PNG", "a PNG image"), (b"GIF8", "a GIF image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"PK\x03\x04", "a zip archive"), (b"\x1f\x8b", "gzip data"), (b"RIFF", "a RIFF container"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"MZ\x90", "a Windows program"), (b"\x7fELF", "a program"), (b"OggS", "Ogg data"), (b"ID3", "MP3 audio"),
    (b"BZh", "bzip2 data"), (b"\xfd7zXZ", "xz data"), (b"\x28\xb5\x2f\xfd", "zstd data"), (b"Rar!", "a RAR archive"),
    (b"\xd0\xcf\x11\xe0", "an Office document"), (b"wOF", "a web font"), (b"\x00\x00\x01\x00", "an icon"),
)  # fmt: skip
_FIRST_BYTES = tuple(magic for magic, _ in _MAGIC)
_SAMPLE = 4096
_MOST_CONTROLS = 0.04
_CONTROLS = bytes(sorted(set(range(32)) - set(b"\t\n\r\f\x1b")))


def not_a_page(body: str | bytes, content_type: str | None) -> str | None:
    """What a body is, in plain words, where it is neither HTML nor text; None where it may be read.

    An HTML page without any content is a page; no bytes at all are none.

    >>> not_a_page(b"%PDF-1.7", None)
    'looks like a PDF document'
    >>> not_a_page("<html></html>", "text/html") is None
    True
    """
    if not body:
        return "has no bytes"
    declared = (content_type or "").split(";")[0].strip().lower()
    if declared and "/" in declared and not declared.startswith(_READABLE) and not declared.endswith("+xml"):
        return f"is declared as {declared[:80]}"
    if isinstance(body, str):
        sample = body[:_SAMPLE].encode("utf-8", "replace")
    else:
        sample = body[:_SAMPLE]
        if (
            sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
            or b"utf-16" in (content_type or "").lower().encode()
        ):
            return None
    if sample.startswith(_FIRST_BYTES):
        return f"looks like {next(meaning for magic, meaning in _MAGIC if sample.startswith(magic))}"
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    if controls > _MOST_CONTROLS * len(sample):
        return f"looks like binary data: {controls} of its first {len(sample)} bytes are control characters"
    return None
