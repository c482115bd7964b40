"""What a page leans on: DOIs and citations, a references section, figures and tables, a wire agency's credit.

Main text and outline go in, counts and answers come out. All patterns are linear and bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, islice

from handlers.page.lines import Block
from handlers.page.outline import Outline
from handlers.page.reading import PageReadingSection
from handlers.page.tables import has_data_table
from handlers.page.text import MainText, has_cjk

_DOI = re.compile(r"10\.(?<![\d.]10\.)\d{4,9}/[^\s\"'<>&?#，。）)\]】]{2,120}")
_ARXIV = re.compile(r"arxiv(?:\.org/(?:abs|pdf)/|:\s?)(\d{4}\.\d{4,5})", re.IGNORECASE)
_AUTHOR_YEAR = re.compile(
    r"([A-Z][^\W\d_]{1,30}(?: et al\.?| (?:&|and) [A-Z][^\W\d_]{1,30})?),? ((?:19|20)\d{2})[a-z]?[)）;,]"
)
_OPENING = re.compile(r"([^:：]{2,12})[:：]")
_MAX_HEADING = 40
_TEXTS_AFTER = 12
_LISTED = frozenset(("li", "td", "th", "a"))
_MARKER = re.compile(r"\[(\d{1,3})\]")
_AMOUNT = {sign: re.compile(re.escape(sign) + r"\s?\d") for sign in "$€£¥₹"}
_UNITS = (
    r"\s?(?:%|％|percent\b|per cent\b|Prozent\b|€|°C|°F|km²"
    r"|(?:million|billion|trillion|Millionen|Milliarden|Mio|km|kg|mg|GW|MW|kWh"
    r"|euros?|dollars?|people|percentage points)\b"
)
_QUANTITY = re.compile(r"[0-9]" + _UNITS + ")")
_QUANTITY_CJK = re.compile(r"[0-9０-９]" + _UNITS + "|[萬万億亿兆]|元|美元|人次?|件|公里|公斤|公噸|噸|度)")
_NUMBERING = " \t0123456789.、:：)）（(][#§¶-一二三四五六七八九十"


class CitationWords:
    """The configured headings and agencies, ready for look-up."""

    def __init__(self, reading: PageReadingSection) -> None:
        self.headings = frozenset(heading.lower() for heading in reading.reference_headings)
        services = "|".join(sorted(map(re.escape, reading.wire_services), key=len, reverse=True))
        han = "|".join(re.escape(name) for name in reading.wire_services if not name.isascii())
        self.wire = re.compile(
            # (AP) or （中央社記者…電） near the beginning, or an agency's name opening the line
            rf"^[^()（）]{{0,60}}[(（]\s?(?:{services})(?![A-Za-z])[^()（）]{{0,40}}[)）]"
            rf"|^\W{{0,3}}(?:{han})[^。\n]{{0,30}}(?:電|电|報導|报道|訊|讯)"
            rf"|^[^.。\n]{{0,40}}[,，]\s?[^.。\n]{{0,25}}\s?[(（/]?(?:{services})[)）/]?\s{{0,2}}[-–—]{{1,2}}\s"
        )


@dataclass(frozen=True, slots=True)
class Citations:
    """DOIs and citations seen, the number of different ones, and whether there is a references section."""

    has_doi: bool
    count: int
    has_references_section: bool


def find_citations(outline: Outline, main: MainText, words: CitationWords) -> Citations:
    """What the main text and its links cite. Bracketed numbers count where a references section explains them.

    Args:
        outline: The page.
        main: Its main text; a references section stands in it or not far after it.
        words: The configured headings.
    """
    text = main.text
    dois = {match.rstrip(".,;") for match in _DOI.findall(text)} if "10." in text else set()
    for href in outline.hrefs:
        if "10." in href and "doi" in href:
            dois.update(match.rstrip(".,;") for match in _DOI.findall(href))
    for name in ("citation_doi", "dc.identifier", "prism.doi"):
        for content in outline.meta.get(name, ()):
            dois.update(_DOI.findall(content[:300]))
    references = has_references_section(outline, outline.blocks(main.first, main.end + _TEXTS_AFTER), words)
    cited = {doi.lower() for doi in dois}
    if "arxiv" in text or "arXiv" in text:
        cited.update(f"arxiv:{number}" for number in _ARXIV.findall(text))
    for bracket in "(（":
        for inside in islice(text.split(bracket), 1, None):
            if match := _AUTHOR_YEAR.match(inside):
                cited.add(f"{match[1]} {match[2]}")
    if references:
        cited.update(_MARKER.findall(text))
    return Citations(bool(dois), len(cited), references)


def has_references_section(outline: Outline, blocks: Iterable[Block], words: CitationWords) -> bool:
    """Whether a heading, or a line that begins like one, opens a list of references.

    Args:
        outline: The page, for its headings.
        blocks: The lines that are looked at.
        words: The configured headings.
    """
    if any(_plain(heading) in words.headings for _, heading in outline.headings):
        return True
    for block in blocks:
        text = block.text
        found = len(text) <= _MAX_HEADING and block.tag not in _LISTED and _plain(text) in words.headings
        # Only Chinese lines put the heading and the sources on one line; "Sources:" in English opens image credits.
        if not found and not text[0].isascii() and (opening := _OPENING.match(text)):
            found = _plain(opening[1]) in words.headings
        if found and not outline.is_boilerplate(block.element):
            return True
    return False


def has_statistics(outline: Outline, text: str, reading: PageReadingSection) -> bool:
    """A data table, or enough numbers with a unit, per cent or currency (C-43)."""
    figures = [(_QUANTITY_CJK if has_cjk(text) else _QUANTITY).finditer(text)]
    # A search for a fixed sign is fast, one for any of several is not.
    figures += [pattern.finditer(text) for sign, pattern in _AMOUNT.items() if sign in text]
    if next(islice(chain.from_iterable(figures), reading.min_figures - 1, None), None) is not None:
        return True
    return has_data_table(outline, reading)


def is_wire_report(head: str, words: CitationWords) -> bool:
    """Whether an agency signs the beginning of the text; its name in passing does not count (R-196).

    Args:
        head: The first lines of the main text.
        words: The configured agencies.
    """
    return any(words.wire.search(line[:200]) for line in head.split("\n")[:6])


def _plain(heading: str) -> str:
    """Without numbering, colon and edit link."""
    return (heading.partition("[")[0] or heading).strip(_NUMBERING).lower()
