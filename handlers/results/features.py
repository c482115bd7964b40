"""A result in numbers: what the trees and the weights decide by, and how each reads as a reason.

No measure is the name of a site, a page or a label: they are lengths, shares and counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from handlers.html.refusals import Refusal
from handlers.listings.page_shape import PageShape
from handlers.results.address import Address
from handlers.results.sections import ClassificationSection
from handlers.results.text_shape import TextShape
from handlers.results.wording import Offers, Title
from handlers.text.patterns import CompiledPatterns
from schemas.retrieval import Evidence

_SHORT_WORDS = 100
_INFORMING_WORDS = 8
_KINDS = 3
_CALLS, _REPORTS, _ACCOUNT_PHRASES = 3, 2, 5
_RUNNING = (0.15, 0.35)


@dataclass(frozen=True, slots=True)
class Observed:
    """Everything that was read of a result.

    Attributes:
        url: Its address, or the one that its page gives itself.
        kinds: The kinds of details that count as its own (C-55).
        title_plural, address_plural: The plural that a short name is, "" where it is none.
        offers: What title and text offer.
        refusal: Why it is no content; None for most.
    """

    url: str
    title: Title
    address: Address
    text: TextShape
    page: PageShape | None
    evidence: tuple[Evidence, ...]
    kinds: frozenset[str]
    title_plural: str = ""
    address_plural: str = ""
    offers: Offers = field(default_factory=Offers)
    refusal: Refusal | None = None

    @property
    def plural(self) -> str:
        """The plural in the title, or that in the address."""
        return self.title_plural or self.address_plural


def measures_of(observed: Observed, patterns: CompiledPatterns, section: ClassificationSection) -> dict[str, float]:
    """All measures of a result; with a page also those of the page."""
    text, offers = observed.text, observed.offers
    # A long text begins with its menu, and shows by itself what it is.
    short = 1.0 - _ramp(text.words, _SHORT_WORDS, 3 * _SHORT_WORDS)
    linked = observed.page is None and text.link_phrases >= section.min_link_phrases
    return {
        **_of_address(observed),
        **_of_title(observed.title, patterns),
        "title_plural": bool(observed.title_plural),
        "name_plural": _plural(observed),
        "offers_calls": short * min(1.0, offers.calls / _CALLS),
        "offers_counted": short * bool(offers.counted),
        "offers_placed": short * bool(offers.placed),
        "offers_reports": short * min(1.0, offers.reports / _REPORTS),
        "text_words": text.words,
        "text_link_phrases": text.link_phrases,
        "text_link_share": text.link_share,
        "text_linked": min(1.0, text.link_share / section.mostly_links_text) if linked else 0.0,
        "text_content_share": text.content_share,
        "text_sentence_words": text.sentence_words,
        "text_function_words": text.function_words,
        "text_account_phrases": min(1.0, text.account_phrases / _ACCOUNT_PHRASES),
        "text_item_phrases": text.item_phrases,
        "text_details": min(1.0, len(observed.kinds) / _KINDS),
        "text_own_details": _own_details(observed),
        **{f"text_{name}": share for name, share in text.style.items()},
        "text_dates": _different(observed.evidence, "date"),
        "text_prices": _different(observed.evidence, "price"),
        **(observed.page.measures if observed.page else {}),
    }


def reasons_of(observed: Observed) -> Mapping[str, str]:
    """How the measures of a result read as reasons, where they are not 0."""
    address, title, text, offers, page = (
        observed.address,
        observed.title,
        observed.text,
        observed.offers,
        observed.page or PageShape(),
    )
    measures = page.measures
    items = f"{measures.get('page_items', 0)} alike blocks with links hold {measures.get('page_item_share', 0):.0%}"
    return {
        "address_root": "the address is a site's front page",
        "address_listing": f"the address ends in the listing word {address.listing!r}",
        "address_parent": f"the address selects from {address.parent!r}",
        "address_navigation": f"the address names {address.navigation!r}",
        "address_information": f"the address names {address.information!r}",
        "address_search": "the address holds a search",
        "address_paged": "the address numbers a page of a listing",
        "address_identifier": f"the address has the identifier {address.identifier[:60]!r}",
        "title_listing": f"the title reads as a listing's: {title.listing!r}",
        "title_navigation": f"the title reads as navigation: {title.navigation!r}",
        "title_headline": f"the title has {title.headline:g} words",
        "name_plural": f"the name {observed.plural!r} is a plural",
        "offers_calls": f"{offers.calls} phrases call on its reader to choose",
        "offers_counted": f"it counts what it offers: {offers.counted!r}",
        "offers_placed": f"the title offers things in a place: {offers.placed!r}",
        "offers_reports": f"{offers.reports} phrases of a report or the first person",
        "text_linked": f"{text.link_phrases} link phrases, {text.link_share:.0%} of the words",
        "text_details": f"it has details: {', '.join(sorted(observed.kinds))}",
        "text_own_details": "it has details of its own, or the text of its page",
        "text_sentence_words": f"sentences hold {text.content_share:.0%} of the text",
        "text_function_words": f"{text.function_words:.0%} of the words are function words",
        "text_account_phrases": "it has the phrases of a log-in or registration form",
        "text_item_phrases": "it has the phrases that stand beside one item",
        "page_link_density": f"{page.link_density:.0%} of the page's text stands in links",
        "page_items": f"{items} of the page's text",
        "page_longest_prose": f"{measures.get('page_longest_prose', 0)} characters of running text",
        "page_linked_headings": f"{measures.get('page_linked_headings', 0)} headings are links",
        "page_plain_headings": f"{measures.get('page_plain_headings', 0)} headings divide the text",
        "page_articles": f"it has {measures.get('page_articles', 0)} articles",
        "page_code": "it shows program text",
        "page_paged": "it links to further pages of the same listing",
        "page_password": "it asks for a password",
        "page_declared_item": f"its markup declares one {page.declared_item!r}",
        "page_declared_listing": f"its markup declares {page.declared_listing!r}",
    }


def _of_address(observed: Observed) -> dict[str, float]:
    address, path = observed.address, ""
    if address.readable:
        path = unquote(urlsplit(observed.url).path)[:500]
    last = path.rstrip("/").rpartition("/")[2]
    return {
        "address_readable": address.readable,
        # The front page of a restaurant with its hours and its address is no way to elsewhere (C-02).
        "address_root": float(address.root) * (1.0 - _own_details(observed)),
        "address_search": address.search,
        "address_paged": address.paged,
        "address_listing": bool(address.listing),
        "address_parent": bool(address.parent),
        "address_navigation": bool(address.navigation),
        "address_information": bool(address.information),
        "address_identifier": bool(address.identifier) and not address.parent,
        "address_plural": bool(observed.address_plural),
        "address_words": address.words,
        "address_depth": address.depth,
        "address_length": len(path),
        "address_digits": sum(map(str.isdigit, path)),
        "address_last_length": len(last),
        "address_last_joints": last.count("-") + last.count("_"),
        "address_last_type": "." in last,
    }


def _of_title(title: Title, patterns: CompiledPatterns) -> dict[str, float]:
    return {
        "title_words": len(title.words),
        "title_length": len(title.text),
        "title_function_words": sum(map(patterns.stop_words.__contains__, title.words)) / max(1, len(title.words)),
        "title_number": any(map(str.isdigit, title.text)),
        "title_question": "?" in title.text or "？" in title.text,
        "title_first_words": len(title.name),
        "title_first_length": len(title.first),
        "title_headline": title.headline,
        "title_listing": bool(title.listing),
        "title_navigation": bool(title.navigation),
    }


def _plural(observed: Observed) -> float:
    """How far a plural names a listing.

    A short text with one date, with details of several kinds or with sentences is about one thing.
    """
    # "Opening hours" and "returns" are plurals too.
    if not observed.plural or observed.address.information:
        return 0.0
    if observed.text.words > _SHORT_WORDS:
        return 1.0
    occurs = len(observed.kinds) > 1 or _different(observed.evidence, "date") == 1
    return 0.0 if occurs else 1.0 - _ramp(observed.text.function_words, *_RUNNING)


def _own_details(observed: Observed) -> float:
    """How far a short text states where something is and when, or is the text of a page such as "returns"."""
    text = observed.text
    placed = "place" in observed.kinds and len(observed.kinds) > 1
    informs = observed.address.information and not observed.offers.calls and text.words >= _INFORMING_WORDS
    return float(bool(placed or informs)) * (1.0 - _ramp(text.words, _SHORT_WORDS, 4 * _SHORT_WORDS))


def _ramp(value: float, low: float, high: float) -> float:
    return max(0.0, min(1.0, (value - low) / (high - low)))


def _different(evidence: tuple[Evidence, ...], kind: str) -> int:
    return len({detail.value or detail.text for detail in evidence if detail.kind == kind})
