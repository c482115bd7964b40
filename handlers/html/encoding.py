"""Parses a page from text or bytes, and detects bytes that are no page.

The parser reads UTF-8 bytes: a page in UTF-8 is not decoded first, which saves a third of the time.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from dataclasses import dataclass

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, SelectolaxError
from w3lib.encoding import html_body_declared_encoding, http_content_type_encoding, read_bom

from handlers.html.displayed import write_inline

_SAMPLE_BYTES = 64 * 1024
_SAMPLE_WORDS = 16 * 1024
_HIGH = bytes(range(128, 256))
_WORDS_BEYOND_ASCII = re.compile(rb"[A-Za-z]{0,40}[\x80-\xff][A-Za-z\x80-\xff]{0,60}")
_CAPITALS = re.compile(r"(?<=[a-zß-öø-ÿα-ωа-яά-ώ])[А-ЯΑ-ΩÀ-ÖØ-ÞŠŽ]|®(?=[a-zß-ž])")
_MIXED = re.compile(r"[A-Za-z][\u0370-\u1fff\u3040-\ud7ff]|[\u0370-\u1fff][A-Za-z]")
_SIGNS = frozenset("\xa0\xad’‘“”„‚«»‹›–—…•·¿¡€£§©®™°´²½№\u200e\u200f")
_CYRILLIC = "абвгдежзийклмнопрстуфхцчшщъыьэюяё абвгґдеєжзиіїйклмнопрстуфхцчшщьюяўыэё абвгдђежзијклљмнњопрстћуфхцчџшѓѕќ"
_GREEK = "αβγδεζηθικλμνξοπρστυφχψωςάέήίόύώϊϋ"
_HEBREW = "אבגדהוזחטיכךלמםנןסעפףצץקרשת"
_ARABIC = "ابتثجحخدذرزسشصضطظعغفقكلمنهويىةءآأإؤئـپچژگک"
_CENTRAL = "óąćęłńśźż áéíóúýčďěňřšťůž áäéíóôúýčďĺľňŕšťž áéíóöőúüű âăîşţ čćđšž"
_ALPHABETS = {  # letters beyond ASCII, by language; one that uses fewer of the bytes comes first
    "cp1252": "äöüßé àâæçéèêëîïôœùûüÿ áéíñóúüºª àáâãçéêíóôõúüºª àèéìíòóù áéèëïóöü åäöéüšž æøåéöü áðéíóúýþæö",
    "cp1250": _CENTRAL, "iso8859_2": _CENTRAL, "cp1254": "âçîöüğışi̇", "cp1257": "ąčęėįšųūž āčēģīķļņšūž äõöüšž",
    "cp1255": _HEBREW, "cp1253": _GREEK, "iso8859_7": _GREEK, "cp1251": _CYRILLIC, "koi8_u": _CYRILLIC,
    "iso8859_5": _CYRILLIC, "cp866": _CYRILLIC, "mac_cyrillic": _CYRILLIC, "cp1256": _ARABIC, "iso8859_6": _ARABIC,
    "cp874": "".join(map(chr, range(0x0E01, 0x0E5C))),
}  # fmt: skip
_TELLING_BYTES = 8
_FEW_LETTERS = 2
_HIGH_BYTE = re.compile(rb"[\x80-\xff]")
_LETTERS = {  # frequent characters of the languages of an encoding, and their least share of its double bytes
    "gb18030": (re.compile(r"[的一是不了在人有我他这中大来上国个到说们为]"), 0.03),
    "big5hkscs": (re.compile(r"[的一是不了在人有我他這中大來上國個到說們為]"), 0.03),
    "cp932": (re.compile(r"[ぁ-んァ-ヶ]"), 0.05),
    "euc_jp": (re.compile(r"[ぁ-んァ-ヶ]"), 0.05),
    "cp949": (re.compile(r"[가-힣]"), 0.8),
}
# Without events the parser omits work for scripts, of which some takes quadratic time in options.
_OPTIONS = int(LexborDocumentOptions.WO_EVENTS)
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
_FIRST = 4096
_ROOT = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*+(?P<xml><\?xml\b[^>]*+>)?"
    rb"(?:\s++|<\?[^>]*+>|<!--(?:[^-]|-(?!->))*+-->|<!(?P<doctype>[^>]*+)>)*+<(?P<root>[A-Za-z][\w:.-]{0,40})"
)
_XML_ROOTS = frozenset((b"rss", b"feed", b"urlset", b"sitemapindex", b"opml", b"rdf:rdf"))
"""Elements that begin feeds and site maps, which may lack the line that says that they are XML."""
_HTML_ROOTS = frozenset(
    (b"head", b"body", b"main", b"article", b"section", b"header", b"div", b"p", b"h1", b"title", b"meta")
)
_MOST_CONTROLS = 0.04
_CONTROLS = bytes(sorted(set(range(32)) - set(b"\t\n\r\f\x1b")))


@dataclass(frozen=True, slots=True)
class PageBytes:
    """A page's bytes in UTF-8 (invalid sequences may remain), and the codec with which they were read."""

    utf8: bytes
    encoding: str


def page_bytes(body: str | bytes, content_type: str | None = None) -> PageBytes:
    r"""A page as UTF-8, ready to be parsed. Never raises: bytes of no character become U+FFFD.

    ``body`` is text, or bytes as they came over the wire, whose ``content_type`` goes before the page's own statement.

    >>> page_bytes("\ufeff<p>", None).utf8
    b'<p>'
    """
    if isinstance(body, str):
        return PageBytes(whole(body.removeprefix("\ufeff")).encode(), "utf-8")
    encoding = _find_encoding(body, content_type)
    if encoding == "utf-8":
        return PageBytes(body.removeprefix(codecs.BOM_UTF8), encoding)
    return PageBytes(whole(body.decode(encoding, "replace").removeprefix("\ufeff")).encode(), encoding)


def parse_bytes(utf8: bytes) -> LexborHTMLParser:
    """The parse of a page's UTF-8 bytes. The parser fails only if it gets no memory."""
    try:
        tree = LexborHTMLParser(utf8, options=_OPTIONS)
    except SelectolaxError as error:
        raise MemoryError("the parser has no memory for the page") from error
    write_inline(tree, utf8)
    return tree


def not_a_page(body: str | bytes, content_type: str | None) -> str | None:
    """What a body is, in plain words, if it is neither HTML nor text; None if it may be read.

    An HTML page without content is a page; an empty body is not.

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
        sample = body[:_FIRST].encode("utf-8", "replace")
    else:
        sample = body[:_FIRST]
        if (
            sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
            or b"utf-16" in (content_type or "").lower().encode()
        ):
            return None
    if sample.startswith(_FIRST_BYTES):
        return f"looks like {next(meaning for magic, meaning in _MAGIC if sample.startswith(magic))}"
    if (root := _ROOT.match(sample)) is not None and b"html" not in (root["doctype"] or b"").lower():
        name = root["root"].lower()
        is_html = name.endswith(b"html") or name in _HTML_ROOTS
        if not is_html and (root["xml"] or name in _XML_ROOTS):
            return f"looks like XML that is no page: its root is {name.decode()}"
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    if controls > _MOST_CONTROLS * len(sample):
        return f"looks like binary data: {controls} of its first {len(sample)} bytes are control characters"
    return None


def whole(text: str) -> str:
    r"""A text with U+FFFD in place of lone surrogates, which come from JSON escapes and are no characters.

    >>> whole("a\ud83d b") == "a\ufffd b"
    True
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _find_encoding(body: bytes, content_type: str | None) -> str:
    """The codec by the byte order mark, the header, the page's declaration or its text, in this order."""
    declared = read_bom(body)[0] or _text_codec(http_content_type_encoding(content_type))
    if declared:
        return declared
    declared = _text_codec(html_body_declared_encoding(body))
    if declared is None:
        first = _HIGH_BYTE.search(body)
        return _detect(body[first.start() :][:_SAMPLE_BYTES]) if first else "utf-8"
    # A declaration that can be read as ASCII can't be in UTF-16. Many pages were converted to UTF-8 and kept their old
    # declaration: text in another encoding is not valid UTF-8 by chance, except for a few characters.
    is_utf8 = declared == "utf-8" or declared.startswith("utf-16") or _is_utf8_beyond_ascii(body)
    return "utf-8" if is_utf8 else declared


def _text_codec(name: str | None) -> str | None:
    """The codec, unless it is a transform such as "hex", or refuses "replace"."""
    try:
        return name if name and isinstance(b"<".decode(name, "replace"), str) else None
    except (LookupError, ValueError):
        return None


def _is_utf8_beyond_ascii(body: bytes) -> bool:
    if body.isascii():
        return False
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return False
    return len(body) - len(text) >= _TELLING_BYTES


def _detect(sample: bytes) -> str:
    """The encoding of undeclared bytes: UTF-8 if they are valid, else the one with most frequent characters."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        pass
    else:
        return "utf-8"
    best, most = "", 0
    high_bytes = len(sample) - len(sample.translate(None, _HIGH))
    for encoding, (letters, least) in _LETTERS.items():
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(sample)
        except UnicodeDecodeError:
            continue
        known = letters.findall(text)
        found = len(known) if len(set(known)) > _FEW_LETTERS else 0
        # Chance hits in Western text stay far below a twentieth or are inside of words, those of other languages in
        # Korean below four fifths.
        if found > most and 2 * found > least * high_bytes and found > len(_MIXED.findall(text)):
            best, most = encoding, found
    return best or _detect_alphabet(sample)


def _detect_alphabet(sample: bytes) -> str:
    """The single-byte encoding in which most letters beyond ASCII are of one language; of equal ones the first."""
    words = b" ".join(word for word in _WORDS_BEYOND_ASCII.findall(sample) if len(word) > 1)[:_SAMPLE_WORDS]
    wrong = {}
    for encoding, alphabets in _ALPHABETS.items():
        text = words.decode(encoding, "replace")
        beyond = {sign: number for sign, number in Counter(text).items() if sign > "\x7f" and sign not in _SIGNS}
        # A capital behind a small letter is a small letter of another encoding, and no word is in two scripts.
        wrong[encoding] = (
            len(_CAPITALS.findall(text))
            + len(_MIXED.findall(text))
            + min(
                sum(number for sign, number in beyond.items() if sign.lower() not in letters)
                for letters in alphabets.split()
            )
        )
    best = min(wrong, key=lambda encoding: wrong[encoding])
    return best if wrong["cp1252"] > 1 + 2 * wrong[best] else "cp1252"
