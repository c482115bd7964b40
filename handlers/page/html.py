"""One parse a page: bytes or text in, a Lexbor tree out, with the encoding that was used and why."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser

_CHARSET_IN_HEADER = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_CHARSET_IN_META = re.compile(rb"<meta[^>]{0,400}?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_HEAD_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Page:
    """A parsed page.

    Attributes:
        tree: The Lexbor tree; every reader of the page works on this one parse.
        encoding: Python codec name the bytes were read with.
        encoding_from: ``text``, ``bom``, ``header``, ``meta`` or ``assumed``.
    """

    tree: LexborHTMLParser
    encoding: str
    encoding_from: str


def parse_page(body: str | bytes, content_type: str | None = None) -> Page:
    """Parses a page. Never raises on any content: undecodable bytes become U+FFFD.

    Args:
        body: The HTML, as text or as the bytes that came over the wire.
        content_type: The Content-Type header; its charset is believed before the page's own.

    >>> parse_page(b"<title>caf\\xe9</title>", "text/html; charset=latin-1").tree.css_first("title").text()
    'café'
    """
    if isinstance(body, str):
        return Page(LexborHTMLParser(body), "utf-8", "text")
    encoding, source = _find_encoding(body, content_type)
    return Page(LexborHTMLParser(body.decode(encoding, "replace")), encoding, source)


def _find_encoding(body: bytes, content_type: str | None) -> tuple[str, str]:
    for bom, name in _BOMS:
        if body.startswith(bom):
            return name, "bom"
    in_header = _CHARSET_IN_HEADER.search(content_type or "")
    if in_header and (codec := _codec(in_header.group(1))):
        return codec, "header"
    in_meta = _CHARSET_IN_META.search(body[:_HEAD_BYTES])
    if in_meta and (codec := _codec(in_meta.group(1).decode("ascii", "replace"))):
        return codec, "meta"
    return "utf-8", "assumed"


def _codec(label: str) -> str | None:
    try:
        info = codecs.lookup(label)
    except (LookupError, ValueError):
        return None
    # The codec registry also holds transforms such as "hex", which don't decode to text.
    return info.name if info._is_text_encoding else None
