"""Who wrote a page: names out of structured data, metadata, markup and the first lines of the text.

An outline goes in; names and whether they were stated as author or shown as a byline come out (R-190, R-191, C-43).
Text that is no name - an address, a sentence, the site's own name - is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from handlers.page.marks import named_marks, stated_marks
from handlers.page.outline import Mark, Outline
from handlers.page.reading import PageReadingSection
from handlers.page.structured_data import StructuredData

_SPLIT = re.compile(
    r"\s*(?:,\s?(?:and|und|et|y|e)\s|\s(?:and|und|et|y|e|&|\||•|·|with)\s|[,;、，/|•·&]|\n)\s*", re.IGNORECASE
)
_TAIL = re.compile(
    r"\s*(?:\(.{0,200}|\s[-–—|].{0,200}|(?<!\d)\d{1,2}[:./]\d.{0,200}|(?:19|20)\d{2}.{0,200}|@.{0,100}|https?:.{0,200})$"
)
_HAN_NAME = re.compile(r"[\u4e00-\u9fff·]{2,5}")
_CREDENTIALS = frozenset(("phd", "ph.d.", "md", "m.d.", "jr.", "jr", "sr.", "rn", "mba", "dds", "esq.", "ii", "iii"))
_TEXTS_BEFORE = 30
_TEXTS_AFTER = 16
_LINES_BEFORE = 10
_LINES_AFTER = 4
_MAX_NAMES = 20
_MAX_NAME_CHARACTERS = 60
_MAX_NAME_WORDS = 6


@dataclass(frozen=True, slots=True)
class Credit:
    """Who wrote it.

    Attributes:
        names: In the order given.
        has_author: Stated in metadata or structured data.
        has_byline: Shown on the page.
        seen_in: Where the names were seen.
    """

    names: tuple[str, ...] = ()
    has_author: bool = False
    has_byline: bool = False
    seen_in: str = ""


class BylineWords:
    """The configured words around names, compiled once."""

    def __init__(self, reading: PageReadingSection) -> None:
        words = "|".join(sorted(map(re.escape, reading.byline_words), key=len, reverse=True))
        han = "|".join(sorted(map(re.escape, reading.byline_words_zh), key=len, reverse=True))
        self.introduction = re.compile(rf"^\W{{0,5}}(?:{words})(?:\s{{0,3}}[:：]\s{{0,3}}|\s{{1,3}})", re.IGNORECASE)
        self.han = re.compile(
            rf"^[\W]{{0,5}}(?:[\u4e00-\u9fff]{{0,8}})?(?:{han})\s{{0,3}}[:：/／]?\s{{0,3}}([\u4e00-\u9fff·]{{2,4}}(?:[、]\s?[\u4e00-\u9fff·]{{2,4}}){{0,5}})(?=[／/\s）)】〕，,。]|$|{han})"
        )
        self.han_wire = re.compile(r"[（(]\s?中央社記者([\u4e00-\u9fff]{3}(?:、[\u4e00-\u9fff]{3}){0,3})")
        self.names = tuple(reading.author_names)


def find_credit(outline: Outline, data: StructuredData, content_first: int, words: BylineWords, site: str) -> Credit:
    """The author credit of a page.

    Args:
        outline: The page.
        data: Its structured data.
        content_first: Index of the text with which the main text begins.
        words: The configured names and words.
        site: The site's name, which is not an author's.
    """
    not_names = {site.casefold(), data.publisher.casefold(), ""}
    stated = _clean(data.authors, not_names)
    seen_in = "json-ld author"
    if not stated:
        for name in words.names:
            if stated := _clean(tuple(outline.meta.get(name, ())), not_names):
                seen_in = f"meta {name}"
                break
    marks = [mark for mark in stated_marks(outline) if not mark.boilerplate]
    shown, shown_in = _shown(outline, marks, content_first, words, not_names)
    return Credit(
        names=(stated or shown)[:_MAX_NAMES],
        has_author=bool(stated) or any(mark.name == "itemprop:author" for mark in marks),
        has_byline=bool(shown),
        seen_in=seen_in if stated else shown_in,
    )


def _shown(
    outline: Outline, stated: list[Mark], content_first: int, words: BylineWords, not_names: set[str]
) -> tuple[tuple[str, ...], str]:
    named = [mark for mark in named_marks(outline, content_first) if not mark.boilerplate]
    for kind in ("itemprop:author", "rel:author", "hint:byline"):
        for mark in [mark for mark in (*stated, *named) if mark.name == kind][:8]:
            text = (mark.value if kind == "itemprop:author" else "") or mark.text
            if len(text) <= 200 and (names := _clean((_without_introduction(text, words),), not_names)):
                return names, kind
    before = outline.blocks(content_first - _TEXTS_BEFORE, content_first)[-_LINES_BEFORE:]
    for block in (*before, *outline.blocks(content_first, content_first + _TEXTS_AFTER)[:_LINES_AFTER]):
        if outline.is_boilerplate(block.element):
            continue
        head = block.text[:200]
        if match := words.han.search(head) or words.han_wire.search(head):
            return tuple(match[1].split("、")), "text"
        if len(block.text) <= 120 and words.introduction.search(head) and head[:1].isupper():
            rest = _without_introduction(head, words)
            if rest[:1].isupper() and (names := _clean((rest,), not_names)):
                return names, "text"
    return (), ""


def _without_introduction(text: str, words: BylineWords) -> str:
    if match := words.han.search(text):
        return match[1]
    return words.introduction.sub("", text, count=1)


def _clean(texts: tuple[str, ...], not_names: set[str]) -> tuple[str, ...]:
    found: dict[str, str] = {}
    for text in texts[:_MAX_NAMES]:
        if "://" in text or text.startswith("www."):
            continue
        for part in _SPLIT.split(text[:400])[:_MAX_NAMES]:
            name = _TAIL.sub("", part).strip(" \t.,:;·-–—|\"'“”()[]")
            if name.lower().startswith("by "):
                name = name[3:].strip()
            if _is_name(name) and name.casefold() not in not_names:
                found.setdefault(name.casefold(), name)
    return tuple(found.values())


def _is_name(text: str) -> bool:
    if not 2 <= len(text) <= _MAX_NAME_CHARACTERS or len(text.split()) > _MAX_NAME_WORDS:
        return False
    if text.lower() in _CREDENTIALS or any(sign in text for sign in "@/<>{}=?!#"):
        return False
    # A nickname may hold digits; in several words they are a date, a time or a count.
    return any(sign.isalpha() for sign in text) and (" " not in text or not any(sign.isdigit() for sign in text))
