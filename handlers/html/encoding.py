"""One parse a page: bytes or text in, a Lexbor tree out, with the encoding that was used and why.

The parser is given UTF-8 bytes: a page that is in UTF-8 is not decoded first, which saves a third of the parse.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser

_CHARSET = r"charset\s*+=\s*+(?:[\"']\s*+)?([\w.:-]+)"
_CHARSET_IN_HEADER = re.compile(_CHARSET, re.IGNORECASE)
_CHARSET_IN_META = re.compile(_CHARSET.encode(), re.IGNORECASE)
_META = re.compile(rb"<meta[^>]*+", re.IGNORECASE)
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_HEAD_BYTES = 4096
_SAMPLE_BYTES = 64 * 1024
_TELLING_BYTES = 8
_READ_AS = {  # what browsers read under a label that names a narrower set (WHATWG Encoding)
    "iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "tis-620": "cp874",
    "gb2312": "gb18030", "gbk": "gb18030", "big5": "big5hkscs", "cp950": "big5hkscs", "shift_jis": "cp932",
    "euc_kr": "cp949",
}  # fmt: skip
_GUESSES = ("gb18030", "big5hkscs", "cp932", "euc_jp", "cp949")
_LETTERS = {  # the characters that running text of an encoding is made of
    "gb18030": re.compile(r"[的一是不了在人有我他这中大来上国个到说们为]"),
    "big5hkscs": re.compile(r"[的一是不了在人有我他這中大來上國個到說們為]"),
    "cp932": re.compile(r"[ぁ-んァ-ヶ]"),
    "euc_jp": re.compile(r"[ぁ-んァ-ヶ]"),
    "cp949": re.compile(r"[가-힣]"),
}
# Without events the parser skips work that only scripts could see, among it one that is quadratic in options.
_OPTIONS = int(LexborDocumentOptions.WO_EVENTS)


@dataclass(frozen=True, slots=True)
class Page:
    """A parsed page.

    Attributes:
        tree: The Lexbor tree; every reader of the page works on this one parse.
        encoding: Python codec name the bytes were read with.
        encoding_from: ``text``, ``bom``, ``header``, ``meta``, ``detected`` or ``assumed``.
    """

    tree: LexborHTMLParser
    encoding: str
    encoding_from: str


@dataclass(frozen=True, slots=True)
class PageBytes:
    """A page's bytes in UTF-8 (invalid sequences may remain), the encoding they came in, and how that is known."""

    utf8: bytes
    encoding: str
    encoding_from: str


def parse_page(body: str | bytes, content_type: str | None = None) -> Page:
    r"""Parses a page. Never raises on any content: undecodable bytes become U+FFFD.

    Args:
        body: The HTML, as text or as the bytes that came over the wire.
        content_type: The Content-Type header; its charset is believed before the page's own.

    >>> parse_page(b"<title>caf\xe9</title>", "text/html; charset=latin-1").tree.css_first("title").text()
    'café'
    """
    return parse_bytes(page_bytes(body, content_type))


def page_bytes(body: str | bytes, content_type: str | None = None) -> PageBytes:
    r"""A page as UTF-8, ready to be parsed. Never raises; arguments as for ``parse_page``.

    >>> page_bytes("\ufeff<p>", None).utf8
    b'<p>'
    """
    if isinstance(body, str):
        return PageBytes(_utf8(body.removeprefix("\ufeff")), "utf-8", "text")
    encoding, source = _find_encoding(body, content_type)
    if encoding == "utf-8":
        return PageBytes(body.removeprefix(codecs.BOM_UTF8), encoding, source)
    return PageBytes(_utf8(body.decode(encoding, "replace").removeprefix("\ufeff")), encoding, source)


def parse_bytes(page: PageBytes) -> Page:
    """The parse of a page's UTF-8 bytes."""
    return Page(LexborHTMLParser(page.utf8, options=_OPTIONS), page.encoding, page.encoding_from)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        # Lone surrogates come from JSON escapes; they stand for no character.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _find_encoding(body: bytes, content_type: str | None) -> tuple[str, str]:
    for bom, name in _BOMS:
        if body.startswith(bom):
            return name, "bom"
    in_header = _CHARSET_IN_HEADER.search(content_type or "")
    if in_header and (codec := _codec(in_header.group(1))):
        return codec, "header"
    # Tags do not overlap, so the two expressions together read each byte of the head at most twice.
    in_tags = (_CHARSET_IN_META.search(tag[0]) for tag in _META.finditer(body[:_HEAD_BYTES]))
    in_meta = next(filter(None, in_tags), None)
    if in_meta and (codec := _codec(in_meta.group(1).decode("ascii", "replace"))):
        # A declaration that can be read as ASCII can't be in UTF-16.
        if codec == "utf-8" or codec.startswith("utf-16"):
            return "utf-8", "meta"
        # Pages are saved and sent on as UTF-8 under their old declaration; text in another encoding is never valid
        # UTF-8 by chance, once it has more than a few characters beyond ASCII.
        return ("utf-8", "detected") if _is_utf8_beyond_ascii(body) else (codec, "meta")
    return _detect(body[:_SAMPLE_BYTES])


def _is_utf8_beyond_ascii(body: bytes) -> bool:
    if body.isascii():
        return False
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return False
    return len(body) - len(text) >= _TELLING_BYTES


def _detect(sample: bytes) -> tuple[str, str]:
    """The encoding of undeclared bytes: UTF-8 where it fits, else the one whose everyday letters turn up most."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        pass
    else:
        return "utf-8", "assumed"
    best, most = "cp1252", 0
    high_bytes = sum(byte > 127 for byte in sample)
    for encoding in _GUESSES:
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(sample)
        except UnicodeDecodeError:
            continue
        found = len(_LETTERS[encoding].findall(text))
        # A twentieth of the double-byte characters: chance hits in Western text stay far below it.
        if found > most and found * 40 > high_bytes:
            best, most = encoding, found
    return best, "detected"


def _codec(label: str) -> str | None:
    try:
        info = codecs.lookup(label)
        # The codec registry also holds transforms such as "hex", and codecs that refuse "replace".
        if not info._is_text_encoding or not isinstance(b"<".decode(info.name, "replace"), str):
            return None
    except (LookupError, ValueError, UnicodeError):
        return None
    return _READ_AS.get(info.name, info.name)
