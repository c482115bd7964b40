from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import SelectolaxError

from handlers.html.encoding import not_a_page, page_bytes, parse_bytes
from tests.cpu import cpu_seconds
from tests.tables import tables

TABLES = tables(__file__)


@pytest.mark.parametrize(
    ("body", "content_type", "text", "encoding"),
    [
        ("<p>豪雨", None, "豪雨", "utf-8"),
        ("<p>豪雨".encode(), None, "豪雨", "utf-8"),
        ("\ufeff<p>豪雨".encode(), "text/html; charset=big5", "豪雨", "utf-8"),
        ("<p>豪雨".encode("utf-16"), None, "豪雨", "utf-16-le"),
        ("<p>豪雨特報".encode("big5"), "text/html; charset=Big5", "豪雨特報", "big5hkscs"),
        ('<meta charset="gb2312"><p>镕'.encode("gbk"), None, "镕", "gb18030"),
        ("<p>“quoted”".encode("cp1252"), "text/html; charset=iso-8859-1", "“quoted”", "cp1252"),
        ("<meta charset=utf-16><p>é".encode(), None, "é", "utf-8"),
        ("<p>我們在這裡的人是不一樣的".encode("big5"), None, "我們在這裡的人是不一樣的", "big5hkscs"),
        ("<p>我们在这里的人是不一样的".encode("gbk"), None, "我们在这里的人是不一样的", "gb18030"),
        ("<p>これは日本語のページです".encode("shift_jis"), None, "これは日本語のページです", "cp932"),
        ("<p>Müller über Straße".encode("cp1252"), None, "Müller über Straße", "cp1252"),
        ('<meta name=x><META\ncharset = "\tbig5"><p>豪雨特報'.encode("big5"), None, "豪雨特報", "big5hkscs"),
        # UTF-8 under an old declaration, and two bytes that could be UTF-8.
        ('<meta charset="gb2312"><p>台北的天氣與交通'.encode(), None, "台北的天氣與交通", "utf-8"),
        ('<meta charset="gb2312"><p>台北的天氣與交通'.encode("gb18030"), None, "台北的天氣與交通", "gb18030"),
        ('<meta charset="iso-8859-1"><p>Ã©'.encode("latin-1"), None, "Ã©", "cp1252"),
        # Half a character, and half a pair of surrogates.
        ("<p>豪".encode()[:-1], None, "\ufffd", "utf-8"),
        ("a\ud800b", None, "a\ufffdb", "utf-8"),
        (b"<p>abc", "text/html; charset=hex", "abc", "utf-8"),
        (b"<p>abc", "text/html; charset=nonsense", "abc", "utf-8"),
    ],
)  # fmt: skip
def test_encodings(body: str | bytes, content_type: str | None, text: str, encoding: str) -> None:
    page = page_bytes(body, content_type)
    tree = parse_bytes(page.utf8)
    assert tree.body is not None
    assert tree.body.text() == text
    assert page.encoding == encoding


@pytest.mark.parametrize(("encoding", "text"), TABLES["undeclared"])
def test_undeclared_single_bytes_are_read_by_their_alphabet(encoding: str, text: str) -> None:
    body = f"<p>{text}".encode(encoding)
    assert page_bytes(body).utf8.decode() == f"<p>{text}"


@given(st.sampled_from(["don’t", "Zürich", "señor", "café®", "naïve", "smørrebrød", "20°", "“so”", "¶", "144×144"]))
def test_few_letters_of_western_text_are_no_other_script(word: str) -> None:
    assert (
        page_bytes(f"<p>It rained again in the old town, {word}, as they say. ".encode("cp1252")).encoding == "cp1252"
    )


@pytest.mark.parametrize(
    ("head", "text", "encoding"),
    [
        ("a{}" * 30_000, "Привет, это большой город на севере страны", "cp1251"),
        ("", "Le café d'été était fermé, Home\xa0\xa0\xa0About\xa0\xa0\xa0Contact", "cp1252"),
        ("", "他们的孩子在学校学习中文和英文,老师说他们学得很好。", "gb18030"),
    ],
)
def test_the_first_letters_beyond_ascii_decide(head: str, text: str, encoding: str) -> None:
    assert page_bytes(f"<style>{head}</style><p>{text}".encode(encoding)).encoding == encoding


@given(st.binary(max_size=200), st.one_of(st.none(), st.text(max_size=40)))
def test_any_bytes_can_be_parsed(body: bytes, content_type: str | None) -> None:
    assert parse_bytes(page_bytes(body, content_type).utf8).html is not None


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"<p>text", "text/html; charset=" + " " * 32_000 + "!"),
        (b"<p>text", "text/html; " + "charset=" * 4_000 + "!"),
        (b"<meta" * 79 + b"charset=" + b" " * 3_690 + b"!<p>text</p>", None),
        (b"<meta charset=" * 300 + b"!<p>text</p>", None),
    ],
    ids=["blanks in the header", "words in the header", "blanks in the head", "words in the head"],
)
def test_a_charset_is_searched_in_linear_time(body: bytes, content_type: str | None) -> None:
    """Each blank behind "charset=" was looked at once for each blank before it: 9 seconds for the 4 KB page."""
    assert cpu_seconds(lambda: page_bytes(body, content_type)) < 1


def test_a_parser_without_memory_is_out_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handlers.html.encoding.LexborHTMLParser", Mock(side_effect=SelectolaxError("can't parse")))
    with pytest.raises(MemoryError):
        parse_bytes(b"<p>")


@pytest.mark.parametrize(
    ("body", "content_type", "is_page"),
    [
        *((b"<p>words", content_type, True) for content_type in TABLES["types_of_pages"]),
        *((b"<p>words", content_type, False) for content_type in TABLES["types_of_other_things"]),
        ("<p>words".encode("utf-16"), None, True),
        ("<p>words".encode("utf-16-le"), "text/html; charset=utf-16le", True),
        ("<p>words".encode("utf-16-le"), None, False),
        (b'<?xml version="1.0"?>\n<!-- news --><rss version="2.0">', None, False),
        (b"\xef\xbb\xbf<feed xmlns='http://www.w3.org/2005/Atom'>", None, False),
        ('<?xml version="1.0"?><?xml-stylesheet href="a.xsl"?><urlset>', None, False),
        ('<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN"><html>', None, True),
        ("<!-- <rss> --><article><p>RSS feeds", None, True),
        ("<?xml version='1.0'?><kml><Document>", None, False),
        ("<?xml version='1.0'?><p>A page that is served as XHTML.", None, True),
        ("<svg style='display:none'></svg><main><p>Rain", None, True),
        ("<!DOCTYPE html><feed>", None, True),
    ],
)
def test_not_a_page(body: bytes | str, content_type: str | None, is_page: bool) -> None:
    """Feeds, site maps, binary data and what is declared as something else are no pages."""
    reason = not_a_page(body, content_type)
    assert (reason is None) is is_page
    assert ("declared" in (reason or "")) is (content_type is not None and not is_page)
