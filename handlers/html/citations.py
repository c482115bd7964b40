"""Support of a page's text: DOIs and citations, a references section, links, headings, figures, a credit of an agency.

Only the main text, its links and its references count, not boilerplate.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from unicodedata import normalize

from handlers.html.blocks import has_data_table
from handlers.html.hints import OTHERS
from handlers.html.layout import Layout
from handlers.html.links import absolute_url, host_of, owner_name, registered_domain, registrable_domain
from handlers.html.main_content import Content
from handlers.html.nodes import HEADING_NAMES
from handlers.html.outline import Block, Outline
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
_MAX_NAME, _MAX_LINES = 300, 5_000
"""Characters of a name, and lines at the end of a text in which references are looked for."""
_TEXTS_AFTER = 12
"""Texts after the main text in which a line, and not only a heading, can open the references."""
_DOI_NAMES = ("citation_doi", "dc.identifier", "prism.doi")
_COUNTED = ("h2", "h3")
_ELSEWHERE, _NO_SUPPORT = "outside the main text", "paid, to a shop or to the same owner"
_OF_OTHERS = ("doi_or_citation", "external_links", "references_section")
"""What a copy of another page has from it."""
_RUNNING = 60
"""Characters of a line of running text."""
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
_ADDRESS = re.compile(r"\x00(?:https?:)?//(?:[^/?#@\\\x00]{0,200}@)?([\w.-]{1,253})([^\x00]*)", re.IGNORECASE)
"""Host and rest of an address in a list of addresses, each after a NUL character."""
_SHOP = re.compile(r"/(?:products?|dp|itm|shop|store|buy|basket|cart|checkout)(?![^/?#])", re.IGNORECASE)
_FORWARDED = re.compile(r"=https?(?::|%3a)", re.IGNORECASE)
"""Of a query: an address to forward to, as counters of sales, share buttons and validators have it."""
_COPIED = re.compile(
    r"(?:[^\W\d_]{1,12} ){0,2}(?i:from|aus|de|da|di|van|fra|från)\s([^\W\d_a-z][\w-]{2,30}), [^\W\d][^\n.:!?]{3,40}\.?"
)
"""A line that names a publication and says what it is: "From Wikipedia, the free encyclopedia"."""
_NUMBERING = " \t0123456789.、:：)）（(][#§¶-一二三四五六七八九十"


class CitationWords:
    """The configured headings and agencies, ready for look-up."""

    def __init__(self, reading: PageReadingSection) -> None:
        self.reading = reading
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


@dataclass(frozen=True, slots=True)
class Support:
    """What supports the main text of a page.

    Attributes:
        external_links: Different links that ``count_external_links`` counts.
        headings: Headings h2 and h3.
        has_statistics: Whether there are figures or a table of data.
        not_counted: By component of the trust score, what the page has that gives no points.
    """

    citations: Citations
    external_links: int
    headings: int
    has_statistics: bool
    not_counted: dict[str, str]


def support_of(page: Outline, body: Content, layout: Layout, url: str, original: str, words: CitationWords) -> Support:
    """What supports the main text of the page at an address, whose canonical address is ``original``."""
    inside = own_lines(body.blocks, lambda line: _leads_elsewhere(page, line, url))
    text = "\n".join(block.text for block in inside)
    lines = page.blocks(body.blocks[0].start if body.blocks else 0)
    # A list of references counts though its links are no text.
    near, hidden = body.end + _TEXTS_AFTER, page.regions.hidden
    below = [line for line in lines if (line.start < near or line.tag in HEADING_NAMES) and not hidden[line.element]]
    references = find_references(below, page.texts, page.links, words)
    linked = (range(line.start, line.end) for line in inside if line.linked)
    places = chain(chain.from_iterable(linked), references or ())
    links = [link for index in places if page.links[index] and (link := page.link(index))]
    hrefs = [link.attrs.get("href") or "" for link in links]
    # A link says that it was paid for.
    is_paid = ["sponsored" in (link.attrs.get("rel") or "").lower().split() for link in links]
    free = [href for href, paid in zip(hrefs, is_paid, strict=True) if not paid]
    external, support = count_external_links(hrefs, url)[0], count_external_links(free, url)[1]
    declared = [content for name in _DOI_NAMES for content in page.meta.get(name, ())]
    citations = find_citations(text, _joined(references, page.texts), hrefs, declared)
    headings = [line for line in inside if line.tag in _COUNTED]
    own = sum(not layout.said(line.start, line.element) & OTHERS for line in headings)
    is_table = has_data_table(page, body.tables, words.reading)
    has_statistics = has_figures(text, words.reading.min_figures) or is_table
    others = sum(line.tag in _COUNTED for line in page.lines_with_links()) - own
    beyond = count_external_links(page.hrefs, url)[0] - external
    remarks = {
        "doi_or_citation": "a DOI that is mentioned and not cited" if citations.uncited_dois else "",
        "external_links": _many((beyond, _ELSEWHERE), (external - support, _NO_SUPPORT)),
        "references_section": "a references heading without entries" if references == range(0) else "",
        "headings": _many((others, _ELSEWHERE)),
        "statistics": "prices" if not has_statistics and has_prices(text) else "",
    }
    begin = page.blocks(max(0, body.first - _TEXTS_AFTER), body.first + _TEXTS_AFTER)
    if source := copied_from((line.text for line in begin), original, url):
        remarks |= dict.fromkeys(_OF_OTHERS, f"the page says that it is a copy from {source}")
        citations, support = Citations(False, 0, False, 0), 0
    remarks = {name: remark for name, remark in remarks.items() if remark}
    return Support(citations, support, own, has_statistics, remarks)


def cited_in(text: str, words: CitationWords) -> Citations:
    """The citations of a page of which only the text is known."""
    lines = text.split("\n")
    first = max(0, len(lines) - _MAX_LINES)
    blocks = [Block(line, "p", 0, -1, first + n, first + n + 1) for n, line in enumerate(lines[first:]) if line]
    references = find_references(blocks, lines, [False] * len(lines), words)
    return find_citations(text, _joined(references, lines), (), ())


def _leads_elsewhere(page: Outline, line: Block, url: str) -> bool:
    """Whether most of a line is a link to another page."""
    href = page.href(line.start) or "#" if 2 * line.linked > len(line.text) else "#"
    return "#" not in href and (absolute_url(url, href) or url).rstrip("/") != url.rstrip("/")


def _joined(references: range | None, texts: Sequence[str]) -> str | None:
    """The text of a references section; None if there is no section with entries."""
    return " ".join(texts[references.start : references.stop]) if references else None


def _many(*numbers: tuple[int, str]) -> str:
    return ", ".join(f"{number} {what}" for number, what in numbers if number > 0)


def find_references(
    blocks: Sequence[Block], texts: Sequence[str], links: Sequence[bool], words: CitationWords
) -> range | None:
    """The texts of the references section of a page: a heading with entries below it, or a line that holds both.

    An entry is a list item, or a text with a number before it, a link, a year or an address. The blocks refer to
    ``texts`` by index; ``links`` says for each text whether a link begins there. The range is empty below a heading
    without entries; the answer is None without a heading.
    """
    is_headed = False
    for number, block in enumerate(blocks):
        text = block.text
        if len(text) <= _MAX_HEADING and block.tag not in _LISTED and _plain(text) in words.headings:
            below = blocks[number + 1 : number + 1 + _MAX_ENTRIES]
            stop = next((line.start for line in below if line.tag in HEADING_NAMES), len(texts))
            found = range(block.end, min(stop, block.end + _MAX_ENTRIES))
            listed = any(line.tag in _LISTED for line in below if line.start < stop)
            if listed or any(links[index] or _ENTRY.search(texts[index]) for index in found):
                return found
            is_headed = True
        # Only Chinese lines put the heading and the sources on one line; "Sources:" in English opens image credits.
        elif not text[0].isascii() and (opening := _OPENING.match(text)) and _plain(opening[1]) in words.headings:
            return range(block.start, block.end)
    return range(0) if is_headed else None


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


def own_lines(lines: Sequence[Block], is_elsewhere: Callable[[Block], bool]) -> list[Block]:
    """The lines of a text without teasers of other pages, which are no support of this one.

    Teasers are links below each other, and a section below running text whose heading is a link (``is_elsewhere``), or
    that has no more than links.
    """
    begun = teased = False
    kept: list[Block] = []
    bare = [False, *(line.linked == len(line.text) for line in lines), False]
    for place, line in enumerate(lines, 1):
        if line.tag in HEADING_NAMES:
            teased = begun and is_elsewhere(line)
            kept += [] if teased else [line]
        elif not teased and not (bare[place] and (bare[place - 1] or bare[place + 1])):
            kept.append(line)
            begun = begun or len(line.text) - line.linked >= _RUNNING
    found: list[Block] = []
    section: list[Block] = []
    below, has_text = 0, False
    for line in reversed(kept):
        section.append(line)
        if line.tag not in HEADING_NAMES:
            has_text = has_text or 4 * line.linked < 3 * len(line.text)
            continue
        if has_text or below > int(line.tag[1]):
            found, below = [*found, *section], int(line.tag[1])
        section, has_text = [], False
    return [*found, *section][::-1]


def count_external_links(hrefs: Iterable[str], url: str) -> tuple[int, int]:
    """Different addresses on other registrable domains than the page's own, and those of them that support it.

    An address of the same owner, of a shop's product, or of a page that forwards to another one is no support.

    >>> hrefs = ["/a", "https://b.news.com/", "//other.org/x", "//other.org/x", "//news.de/", "//shop.org/dp/7"]
    >>> count_external_links([*hrefs, "https://sales.net/go?to=https%3A%2F%2Fother.org"], "https://news.com/")
    (4, 1)
    """
    host = host_of(url)
    own, owner = registrable_domain(host), owner_name(host)
    total = support = 0
    # One search in all addresses is faster than one in each.
    for (named, rest), count in Counter(_ADDRESS.findall("\0".join(("", *{href.strip() for href in hrefs})))).items():
        there = named.lower().strip(".")
        if registrable_domain(there) != own:
            total += count
            path, _, query = rest.partition("?")
            is_shop = there.startswith(("shop.", "store.")) or _SHOP.search(path) or _FORWARDED.search(query)
            support += 0 if is_shop or owner_name(there) == owner else count
    return total, support


def copied_from(lines: Iterable[str], original: str, url: str) -> str:
    """The publication of another owner that a page says that it is copied from; "" without one.

    It says so by its canonical address, ``original``, or in a line at its beginning. A page whose own address is not
    known, at a host of the reserved domain ``invalid``, is no copy by its canonical address.

    >>> copied_from(["Aarhus", "From Wikipedia, the free encyclopedia"], "", "https://mirror.site/aarhus")
    'Wikipedia'
    >>> copied_from([], "https://aarhus.example/news", "https://file.invalid/saved.html")
    ''
    >>> copied_from(["Un article de Wikipédia, l'encyclopédie libre."], "", "https://fr.wikipedia.org/aarhus")
    ''
    """
    here, there = host_of(url), host_of(absolute_url(url, original) or "")
    owner = owner_name(here)
    if owner and not here.endswith(".invalid") and registered_domain(there) and owner_name(there) != owner:
        return there
    named = (match[1] for line in lines if len(line) < _MAX_NAME and (match := _COPIED.fullmatch(line.strip())))
    return next(
        (name for name in named if normalize("NFKD", name).encode("ascii", "ignore").lower() != owner.encode()), ""
    )


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
