"""Support of a page's text: DOIs and citations, a references section, figures, the credit of a news agency.

Only the main text, its links and its references count, not boilerplate.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from handlers.html.outline import HEADING_NAMES, Block
from handlers.html.reading import PageReadingSection
from handlers.text.scripts import has_cjk

_DOI = re.compile(r"10\.(?<![\d.]10\.)\d{4,9}/[^\s\"'<>&?#，。）)\]】]{2,120}")
_ARXIV = re.compile(r"arxiv(?:\.org/(?:abs|pdf)/|:\s?)(\d{4}\.\d{4,5})", re.IGNORECASE)
_AUTHOR_YEAR = re.compile(
    r"([A-Z][^\W\d_]{1,30}(?: et al\.?| (?:&|and) [A-Z][^\W\d_]{1,30})?),? ((?:19|20)\d{2})[a-z]?[)）;,]"
)
_OPENING = re.compile(r"([^:：]{2,12})[:：]")
_MAX_HEADING = 40
_MAX_ENTRIES = 400
"""Texts below a references heading that are read."""
_MAX_NAME = 300
_DOI_REACH = 20
"""Characters before a DOI in which the text names it as one: "doi:", "https://doi.org/"."""
_ENTRY = re.compile(r"(?<!\d)(?:19|20)\d{2}(?!\d)|https?://|www\.|10\.\d{4}|^\s{0,4}(?:[-*•]|\[?\d{1,3}[\].)、])\s?\S")
_LISTED = frozenset(("li", "td", "th", "a"))
_MARKER = re.compile(r"\[(\d{1,3})\]")
_AMOUNT = {sign: re.compile(re.escape(sign) + r"\s?\d") for sign in "$€£¥₹"}
_UNITS = (
    r"\s?(?:%|％|percent\b|per cent\b|Prozent\b|°C|°F|km²"
    r"|(?:million|billion|trillion|Millionen|Milliarden|Mio|km|kg|mg|GW|MW|kWh"
    r"|people|percentage points)\b"
)
_QUANTITY = re.compile(r"[0-9]" + _UNITS + ")")
_QUANTITY_CJK = re.compile(r"[0-9０-９]" + _UNITS + "|[萬万億亿兆]|人次?|件|公里|公斤|公噸|噸|度)")
_NUMBERING = " \t0123456789.、:：)）（(][#§¶-一二三四五六七八九十"


class CitationWords:
    """The configured headings and agencies, ready for look-up."""

    def __init__(self, reading: PageReadingSection) -> None:
        self.headings = frozenset(heading.lower() for heading in reading.reference_headings)
        services = "|".join(sorted(map(re.escape, reading.wire_services), key=len, reverse=True))
        han = "|".join(re.escape(name) for name in reading.wire_services if not name.isascii())
        signed = rf"\(\s?(?:{services})(?![A-Za-z])[^()（）]{{0,40}}\)"
        self.wire = re.compile(
            # LONDON (Reuters) -, (AP) The …, Taipei, May 3 (CNA) The …: a place or a day before it, no sentence
            # that goes on behind it, as in "Channel NewsAsia (CNA) reported"
            rf"^(?:[^()（）:：]{{0,60}}{signed}\s{{0,2}}[-–—]|{signed}|[^()（）:：]{{0,50}}\d{{1,2}},?\s{signed}\s{{1,2}}[^\Wa-z])"
            rf"|^[^()（）]{{0,60}}[(（]\s?(?:{han})[^()（）]{{0,40}}[)）]"
            rf"|^\W{{0,3}}(?:{han})[^。\n]{{0,30}}(?:電|电|報導|报道|訊|讯)"
            rf"|^[^.。\n]{{0,40}}[,，]\s?[^.。\n]{{0,25}}\s?[(（/]?(?:{services})[)）/]?\s{{0,2}}[-–—]{{1,2}}\s"
        )


@dataclass(frozen=True, slots=True)
class References:
    """A references section: a range of the page's texts; a heading without entries is no section."""

    texts: range
    has_entries: bool


@dataclass(frozen=True, slots=True)
class Citations:
    """The citations of a page.

    Attributes:
        has_doi: Whether a DOI is cited, or the page declares its own.
        count: Different works that are cited.
        has_references_section: Whether a references heading has entries below it.
        uncited_dois: DOIs that the text mentions and does not cite.
    """

    has_doi: bool
    count: int
    has_references_section: bool
    uncited_dois: int


def find_references(
    blocks: Sequence[Block], texts: Sequence[str], links: Sequence[bool], words: CitationWords
) -> References | None:
    """The references section of a page: a heading with entries below it, or a line that holds both.

    An entry is a list item, or a text with a number before it, a link, a year or an address. The blocks refer to
    ``texts`` by index; ``links`` says for each text whether a link begins there.
    """
    empty: References | None = None
    for number, block in enumerate(blocks):
        text = block.text
        if len(text) <= _MAX_HEADING and block.tag not in _LISTED and _plain(text) in words.headings:
            below = blocks[number + 1 : number + 1 + _MAX_ENTRIES]
            stop = next((line.start for line in below if line.tag in HEADING_NAMES), len(texts))
            found = range(block.end, min(stop, block.end + _MAX_ENTRIES))
            listed = any(line.tag in _LISTED for line in below if line.start < stop)
            if listed or any(links[index] or _ENTRY.search(texts[index]) for index in found):
                return References(found, has_entries=True)
            empty = empty or References(found, has_entries=False)
        # Only Chinese lines put the heading and the sources on one line; "Sources:" in English opens image credits.
        elif not text[0].isascii() and (opening := _OPENING.match(text)) and _plain(opening[1]) in words.headings:
            return References(range(block.start, block.end), has_entries=True)
    return empty


def find_citations(text: str, references: str | None, hrefs: Iterable[str], declared: Iterable[str]) -> Citations:
    """The citations of a page.

    A DOI in running text counts if the text names it as one; in links and references it always counts. The page's own
    ``declared`` identifier is no citation, and counts as a DOI only beside references: else the page would be its only
    witness. Bracketed numbers count only with a references section.
    """
    own = {_doi(match) for name in declared for match in _DOI.finditer(name[:_MAX_NAME])}
    sources = [references or "", *(href for href in hrefs if "doi" in href)]
    cited = {_doi(match) for source in sources if "10." in source for match in _DOI.finditer(source)} - own
    mentioned: set[str] = set()
    if "10." in text:
        for found in _DOI.finditer(text):
            named = "doi" in text[max(0, found.start() - _DOI_REACH) : found.start()].lower()
            (cited if named else mentioned).add(_doi(found))
    cited -= own
    mentioned -= own
    has_doi = bool(cited) or bool(own and references is not None)
    whole = f"{text}\n{references or ''}"
    if "arxiv" in whole or "arXiv" in whole:
        cited.update(f"arxiv:{number}" for number in _ARXIV.findall(whole))
    for bracket in "(（":
        for inside in islice(text.split(bracket), 1, None):
            if match := _AUTHOR_YEAR.match(inside):
                cited.add(f"{match[1]} {match[2]}")
    if references is not None:
        cited.update(_MARKER.findall(text))
    return Citations(has_doi, len(cited), references is not None, len(mentioned - cited))


def has_figures(text: str, least: int) -> bool:
    """Whether a text has enough numbers with a unit, a magnitude or per cent (C-43); prices are no statistics."""
    figures = (_QUANTITY_CJK if has_cjk(text) else _QUANTITY).finditer(text)
    return next(islice(figures, least - 1, None), None) is not None


def has_prices(text: str) -> bool:
    """Whether a text names an amount of money by a currency's sign."""
    # A search for a fixed sign is fast, one for any of several is not.
    return any(sign in text and pattern.search(text) is not None for sign, pattern in _AMOUNT.items())


def is_wire_report(head: str, words: CitationWords) -> bool:
    """Whether an agency signs the first lines of a text; its name in passing does not count (R-196)."""
    return any(words.wire.search(line[:200]) for line in head.split("\n")[:6])


def _doi(match: re.Match[str]) -> str:
    return match[0].rstrip(".,;").lower()


def _plain(heading: str) -> str:
    """Without numbering, colon and edit link."""
    return (heading.partition("[")[0] or heading).strip(_NUMBERING).lower()
