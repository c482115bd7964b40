"""What a result is: the thing itself, a listing, or navigation (R-020), and why.

In: address, title, text, and the page where there is one. Out: the type, a confidence and reasons. Each cue has a
strength in [0, 1] and weights in ``classification.cues``; a type's score is the weighted sum, the confidence is its
share under softmax, and the reasons are the cues that carried the decision. No cue knows any site.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from handlers.html.refusals import Refusal
from handlers.listings.page_shape import PageShape
from handlers.listings.rows import Rows
from handlers.results.address import Address
from handlers.results.offers import Offers
from handlers.results.sections import ClassificationSection, CueWeight
from handlers.results.text_shape import TextShape
from handlers.results.titles import Title
from schemas.retrieval import Evidence, ResultType

_REASONS = 4
_ROWS = 3
_CARDS = 4
_SHORT_WORDS = 100
_INFORMING_WORDS = 8
_NO_WEIGHT = CueWeight()
_NO_ROWS = Rows()
_NO_OFFERS = Offers()


@dataclass(frozen=True, slots=True)
class Cue:
    """One observation: its name in the configuration, how strong it is, and how it reads."""

    name: str
    strength: float
    because: str


@dataclass(frozen=True, slots=True)
class Observed:
    """Everything that was read of a result.

    Attributes:
        url: Its address, or where that is none the one that its page gives itself.
        kinds: The kinds of details that count as its own (C-55).
        address_plural, title_plural: The plural that a short name is, "" where it is none.
        defined: Whether the text begins by saying what the title names.
        rows: Rows of the text that look like a listing's.
        offers: Whether title and text offer many things.
        refusal: Why it is no content; None for most.
    """

    url: str
    title: Title
    address: Address
    text: TextShape
    page: PageShape | None
    evidence: tuple[Evidence, ...]
    kinds: frozenset[str]
    address_plural: str = ""
    title_plural: str = ""
    defined: bool = False
    rows: Rows = _NO_ROWS
    offers: Offers = _NO_OFFERS
    refusal: Refusal | None = None


def weigh(
    cues: tuple[Cue, ...],
    section: ClassificationSection,
    trained: Sequence[float] | None = None,
    *,
    least_listing_confidence: float = 0.0,
) -> tuple[ResultType, float, tuple[str, ...]]:
    """The type with the largest sum, its share under softmax, and the cues that carried it, strongest first.

    A listing below the least confidence is none: what is taken for a listing is fetched, and cannot answer.

    Args:
        cues: What was observed.
        section: What each cue weighs.
        trained: Scores of the three types that decide in place of the cues' sums; these then only give the reasons.
        least_listing_confidence: Below it AGGREGATOR is not taken.
    """
    weights = section.cues
    sums = list(trained) if trained is not None else cue_sums(cues, section.bias, weights)
    types = (ResultType.SPECIFIC_CONTENT, ResultType.AGGREGATOR, ResultType.NAVIGATION)
    winner = max(range(3), key=lambda index: (sums[index], index))
    if types[winner] is ResultType.AGGREGATOR and _share(sums, winner) < least_listing_confidence:
        winner = max((0, 2), key=lambda index: (sums[index], index))
    confidence = _share(sums, winner)
    carried: list[tuple[float, str]] = []
    for cue in cues:
        weight = weights.get(cue.name, _NO_WEIGHT)
        pulls = (weight.specific, weight.aggregator, weight.navigation)
        pull = cue.strength * (pulls[winner] - (sum(pulls) - pulls[winner]) / 2)
        if pull > 0:
            carried.append((pull, cue.because))
    reasons = tuple(because for _, because in sorted(carried, key=lambda item: -item[0])[:_REASONS])
    return types[winner], round(confidence, 4), reasons or ("neither one thing nor a listing stands out",)


def _share(sums: Sequence[float], index: int) -> float:
    return 1.0 / sum(math.exp(min(700.0, score - sums[index])) for score in sums)


def cue_sums(cues: tuple[Cue, ...], bias: CueWeight, weights: Mapping[str, CueWeight]) -> list[float]:
    """The weighted sum of the cues for each type: SPECIFIC_CONTENT, AGGREGATOR, NAVIGATION."""
    weighed = [(cue.strength, weights.get(cue.name, _NO_WEIGHT)) for cue in cues]
    return [
        bias.specific + sum(strength * weight.specific for strength, weight in weighed),
        bias.aggregator + sum(strength * weight.aggregator for strength, weight in weighed),
        bias.navigation + sum(strength * weight.navigation for strength, weight in weighed),
    ]


def find_cues(observed: Observed, section: ClassificationSection) -> tuple[Cue, ...]:
    """All cues of a result, those that are absent left out."""
    found = [
        *_address_cues(observed),
        *_title_cues(observed.title),
        _plural_cue(observed),
        *_offer_cues(observed),
        *_text_cues(observed, section),
        *(_page_cues(observed.page, observed.kinds) if observed.page else ()),
    ]
    return tuple(cue for cue in found if cue.strength > 0)


def _offer_cues(observed: Observed) -> Iterator[Cue]:
    offers = observed.offers
    # A long text begins with its menu, and shows by itself what it is.
    short = 1.0 - _ramp(observed.text.words, _SHORT_WORDS, 3 * _SHORT_WORDS)
    yield Cue("offers_calls", short * _ramp(offers.calls, 0, 3), f"{offers.calls} phrases call on its reader to choose")
    yield Cue("offers_counted", short * bool(offers.counted), f"it counts what it offers: {offers.counted!r}")
    yield Cue("offers_placed", short * bool(offers.placed), f"the title offers things in a place: {offers.placed!r}")
    reports = f"{offers.reports} phrases of a report or the first person"
    yield Cue("offers_none", short * _ramp(offers.reports, 0, 2), reports)


def _address_cues(observed: Observed) -> Iterator[Cue]:
    address = observed.address
    if not address.readable:
        return
    # The front page of a restaurant with its hours and its address is no way to elsewhere (C-02).
    front = float(address.root) * (1.0 - _own_details(observed))
    yield Cue("address_front_page", front, "the address is a site's front page")
    yield Cue(
        "address_listing", float(bool(address.listing)), f"the address ends in the listing word {address.listing!r}"
    )
    yield Cue("address_parent", float(bool(address.parent)), f"the address selects from {address.parent!r}")
    yield Cue("address_host", float(bool(address.host_listing)), f"the host {address.host_listing!r} names a listing")
    yield Cue("address_navigation", float(bool(address.navigation)), f"the address names {address.navigation!r}")
    yield Cue("address_information", float(bool(address.information)), f"the address names {address.information!r}")
    yield Cue("address_offers", float(bool(address.offers)), f"the address names things: {address.offers!r}")
    yield Cue("address_search", float(address.search), "the address holds a search")
    yield Cue("address_paged", float(address.paged), "the address numbers a page of a listing")
    identifier = bool(address.identifier) and not address.parent
    yield Cue("address_identifier", float(identifier), f"the address has the identifier {address.identifier[:60]!r}")
    short = 0 < len(address.name) <= 2 and not address.identifier and not address.listing
    yield Cue("address_short", float(short), "the address ends in a short name")


def _title_cues(title: Title) -> Iterator[Cue]:
    listing, navigation, words = title.listing, title.navigation, title.headline
    yield Cue("title_listing", float(bool(listing)), f"the title reads as a listing's: {listing!r}")
    yield Cue("title_navigation", float(bool(navigation)), f"the title reads as navigation: {navigation!r}")
    yield Cue("title_headline", _ramp(words, 4, 9), f"the title has the length of a headline: {words:g} words")


def _plural_cue(observed: Observed) -> Cue:
    """One cue, wherever the plural stands; one dated occurrence, or details of several kinds, are one thing's.

    A short text that runs on tells of one thing as well; a longer one has all of these of what surrounds the thing.
    """
    named = observed.title_plural or observed.address_plural
    # "Opening hours" and "returns" are plurals too.
    strength = float(bool(named) and not observed.defined and not observed.address.information)
    if observed.text.words <= _SHORT_WORDS and observed.rows.count < _ROWS:
        occurs = len(observed.kinds) > 1 or _different(observed.evidence, "date") == 1
        strength *= 0.0 if occurs else 1.0 - _ramp(_function_words(observed.text), 0.15, 0.35)
    return Cue("name_plural", strength, f"the name {named!r} is a plural")


def _text_cues(observed: Observed, section: ClassificationSection) -> Iterator[Cue]:
    text, evidence, kinds = observed.text, observed.evidence, observed.kinds
    yield Cue("text_blank", float(not text.words), "there is no text")
    if text.link_phrases >= section.min_link_phrases:
        share = min(1.0, text.link_share / section.mostly_links_text)
        # A page's own anchors say more than the words of its links do.
        name = "page_link_phrases" if observed.page else "text_link_phrases"
        yield Cue(name, share, f"{text.link_phrases} link phrases, {text.link_share:.0%} of the words")
    yield Cue("text_details", min(1.0, len(kinds) / 3), f"it has {_joined(kinds)}")
    yield Cue("text_own_details", _own_details(observed), "it has details of its own, or the text of its page")
    yield Cue("text_sentences", _ramp(text.sentence_words, 8, 200) * min(1.0, text.content_share * 2), _sentences(text))
    # The labels of rows repeat themselves: they are neither prose nor beside one item.
    share = _ramp(observed.rows.share, 0.3, 0.6)
    single = 1.0 - _ramp(observed.rows.count, _ROWS - 1, _ROWS) * share
    prose = single * _ramp(_function_words(text), 0.1, 0.4)
    yield Cue("text_prose", prose, f"{_function_words(text):.0%} of the words are function words")
    yield Cue("text_defines", float(observed.defined), "it begins by saying what its title is")
    rows = f"it has {observed.rows.count} rows of names with dates, prices or counts"
    yield Cue("text_rows", _ramp(observed.rows.count, _ROWS - 1, _ROWS) * share, rows)
    yield Cue("text_account", _ramp(text.account_phrases, 1, 5), "it has the phrases of a log-in or registration form")
    yield Cue("text_item", single * _ramp(text.item_phrases, 0, 3), "it has the phrases that stand beside one item")
    dates = _different(evidence, "date")
    apart = text.words / max(1, dates)
    # A history has many dates as well, with more between them.
    packed = _ramp(dates, 2, 6) * (1.0 - _ramp(apart, 25, 80))
    yield Cue("text_many_dates", packed, f"it has {dates} different dates, {apart:.0f} words apart")
    prices = _different(evidence, "price")
    yield Cue("text_many_prices", _ramp(prices, 3, 12), f"it has {prices} different prices")


def _page_cues(page: PageShape, kinds: frozenset[str]) -> Iterator[Cue]:
    density = f"{page.link_density:.0%} of the page's text stands in links"
    yield Cue("page_links", _ramp(page.link_density, 0.15, 0.6), density)
    items = f"{page.items} alike blocks with links hold {page.item_share:.0%} of the text"
    yield Cue("page_items", _ramp(page.items, 3, 20) * _ramp(page.item_share, 0.1, 0.6), items)
    yield Cue("page_item_share", _ramp(page.item_share, 0.2, 0.8), items)
    yield Cue("page_prose", _ramp(page.longest_prose, 200, 2500), f"{page.longest_prose} characters of running text")
    thin = 1.0 - _ramp(page.text_characters, 200, 1500)
    # A card that is one link has no block of its own around it.
    alike = max(page.items, page.leads.alike)
    share = max(page.item_share, page.leads.alike_characters / max(1, page.text_characters))
    cards = thin * float(alike >= _CARDS) * _ramp(share, 0.4, 0.8)
    yield Cue("page_cards", cards, f"{alike} alike blocks or links hold {min(1.0, share):.0%} of a short page")
    # A short page of cards, sections or details is none that only leads on.
    bare = (1.0 - _ramp(page.plain_headings, 0, 2)) * (1.0 - cards) * float(not kinds)
    yield Cue("page_thin", thin * bare, f"only {page.text_characters} characters of text")
    yield Cue("page_linked_headings", _ramp(page.linked_headings, 2, 12), f"{page.linked_headings} headings are links")
    yield Cue("page_sections", _ramp(page.plain_headings, 0, 6), f"{page.plain_headings} headings divide the text")
    yield Cue("page_articles", _ramp(page.articles, 1, 6), f"it has {page.articles} articles")
    yield Cue("page_one_article", float(page.articles == 1), "it has one article")
    yield Cue("page_code", _ramp(page.code_blocks, 0, 2), "it shows program text")
    yield Cue("page_paged", float(page.paged), "it links to further pages of the same listing")
    yield Cue("page_password", _ramp(page.password_fields, 0, 1), "it asks for a password")
    yield Cue("page_declared_item", float(bool(page.declared_item)), f"its markup declares one {page.declared_item!r}")
    yield Cue(
        "page_declared_listing", float(bool(page.declared_listing)), f"its markup declares {page.declared_listing!r}"
    )


def _own_details(observed: Observed) -> float:
    """How far a short text states where something is and when, or is the text of a page such as "returns"."""
    text = observed.text
    placed = "place" in observed.kinds and len(observed.kinds) > 1
    informs = observed.address.information and not observed.offers.calls and text.words >= _INFORMING_WORDS
    return float(bool(placed or informs)) * (1.0 - _ramp(text.words, _SHORT_WORDS, 4 * _SHORT_WORDS))


def _ramp(value: float, low: float, high: float) -> float:
    return max(0.0, min(1.0, (value - low) / (high - low)))


def _function_words(text: TextShape) -> float:
    """Their share of the words; two ideographs count as a word."""
    return text.function_words * (1.0 + text.ideographs)


def _different(evidence: tuple[Evidence, ...], kind: str) -> int:
    return len({detail.value or detail.text for detail in evidence if detail.kind == kind})


def _joined(kinds: frozenset[str]) -> str:
    return "details: " + ", ".join(sorted(kinds))


def _sentences(text: TextShape) -> str:
    return f"sentences hold {text.content_share:.0%} of the text"
