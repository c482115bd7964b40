"""The measures of a result, by which the trees decide, and the reason that each measure gives.

No measure is the name of a site, a page or a label: they are lengths, shares and counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from pydantic import Field, model_validator

from handlers.html.state import CONTENT, PageState
from handlers.listings.page_shape import PageShape
from handlers.results.address import Address
from handlers.results.wording import Offers, Title
from handlers.text.patterns import CompiledPatterns
from handlers.trees.forest import Trees
from schemas.evidence import Evidence
from schemas.rules import Section

_UNGROWN = Trees(start=(0.0, 0.0, 0.0))
_ROUNDING = 1e-9
_PATH_CHARACTERS = 500
_MENU_WORDS = 200
_RUNNING = 0.2
"""Share of small words, as "the" and "of", from which on a text runs; labels of a listing have few."""
REASONS = {
    "address_root": "the address is a site's front page",
    "address_listing": "the address ends in the listing word {address.listing!r}",
    "address_parent": "the address selects from {address.parent!r}",
    "address_navigation": "the address names {address.navigation!r}",
    "address_information": "the address names {address.information!r}",
    "address_search": "the address holds a search",
    "address_paged": "the address numbers a page of a listing",
    "address_identifier": "the address has the identifier '{address.identifier:.60}'",
    "title_listing": "the title reads as a listing's: {title.listing!r}",
    "title_navigation": "the title reads as navigation: {title.navigation!r}",
    "title_headline": "the title is a headline of {title.headline:g} words",
    "title_plural": "the title's name {title_plural!r} is a plural",
    "address_plural": "the address's name {address_plural!r} is a plural",
    "offers_calls": "it calls on its reader to choose",
    "offers_counted": "it counts what it offers: {offers.counted!r}",
    "offers_placed": "the title offers things in a place: {offers.placed!r}",
    "offers_reports": "it reports, or its author speaks",
    "text_link_share": "it has labels of links, such as those of buttons and menus",
    "text_details": "it has details: {kinds}",
    "text_sentence_words": "{sentences} of its text is whole sentences",
    "text_function_words": "it is worded like {wording}",
    "text_account_phrases": "it has the phrases of a log-in or registration form",
    "text_item_phrases": "it has phrases that accompany one item",
    "page_link_density": "{page_link_density:.0%} of the page's text is links",
    "page_items": "{page_item_share:.0%} of the page's text is in {page_items} alike blocks with links",
    "page_longest_prose": "it has running text of {page_longest_prose} characters",
    "page_linked_headings": "{page_linked_headings} headings are links",
    "page_plain_headings": "{page_plain_headings} headings divide the text",
    "page_articles": "it has {page_articles} articles",
    "page_code": "it shows program text",
    "page_paged": "it links to further pages of the same listing",
    "page_password": "it asks for a password",
    "page_declared_item": "its markup declares one {page.declared_item!r}",
    "page_declared_listing": "its markup declares {page.declared_listing!r}",
}
"""Measures that may be a reason, with the text of the reason."""


class ActionableBands(Section):
    """How the actionable score lies inside the band of a type (R-030); no score falls between two bands (C-05)."""

    rich_kinds: int = Field(ge=1, le=4, description="Kinds of detail (date, time, place, price) of a rich item.")
    rich: float = Field(ge=0.9, le=1.0, description="A rich item.")
    rich_each_kind: float = Field(ge=0.0, le=0.1, description="Each kind of detail beyond that.")
    rich_identifier: float = Field(ge=0.0, le=0.1, description="An address with a slug or identifier.")
    rich_markup: float = Field(ge=0.0, le=0.1, description="Markup that declares a single item.")
    minimal: float = Field(ge=0.6, le=0.8, description="An item without details.")
    minimal_each_kind: float = Field(ge=0.0, le=0.2, description="Each kind of detail of an item that is not rich.")
    listing_content: float = Field(ge=0.3, le=0.5, description="A listing with some content, at least.")
    listing_content_range: float = Field(ge=0.0, le=0.2, description="What its share of content adds at most.")
    listing_links: float = Field(ge=0.0, le=0.2, description="A listing that is mostly links, at most.")
    navigation: float = Field(ge=0.4, le=0.4, description="Navigation: one value, by definition.")

    @model_validator(mode="after")
    def _stay_inside(self) -> Self:
        rich = self.rich + (4 - self.rich_kinds) * self.rich_each_kind + self.rich_identifier + self.rich_markup
        tops = {
            "rich": (rich, 1.0),
            "minimal": (self.minimal + (self.rich_kinds - 1) * self.minimal_each_kind, 0.8),
            "listing_content": (self.listing_content + self.listing_content_range, 0.5),
        }
        for name, (top, most) in tops.items():
            if top > most + _ROUNDING:
                raise ValueError(f"{name} and what is added to it come to {top:g}, above {most:g}")
        return self


class ClassificationSection(Section):
    """The ``classification`` section of the configuration."""

    max_characters: int = Field(ge=200, description="Text of a result that is looked at.")
    max_html_characters: int = Field(ge=1000, description="HTML of a result that is parsed.")
    least_page_share: float = Field(ge=0, le=1, description="Share of the text that a page without links must show.")
    lead_characters: int = Field(
        ge=200, description="Beginning of a full text in which details count as its own; a snippet counts whole."
    )
    max_evidence: int = Field(ge=1, le=100, description="Details of each kind that are kept.")
    min_link_phrases: int = Field(ge=1, description="Labels of links below which a text has no link share.")
    mostly_links_text: float = Field(
        gt=0.0, le=1.0, description="Share of words in labels of links from which on a text is mostly links."
    )
    mostly_links_page: float = Field(
        gt=0.0, lt=1.0, description="Share of linked text from which on a page is mostly links."
    )
    least_listing_confidence: float = Field(ge=0, le=1, description="Confidence that a listing without its page needs.")
    bands: ActionableBands = Field(description="How the actionable score is made.")


@dataclass(frozen=True, slots=True)
class Observed:
    """Everything that was read of a result.

    Attributes:
        address: Of the result, or the one that its page declares.
        text: Measures of the text.
        kinds: The kinds of details that count as its own (C-55).
        title_plural, address_plural: The plural that a short name is, or "".
        offers: What title and text offer.
        state: Content, or why the result has no content.
    """

    title: Title
    address: Address
    text: Mapping[str, float]
    page: PageShape | None
    evidence: tuple[Evidence, ...]
    kinds: frozenset[str]
    title_plural: str = ""
    address_plural: str = ""
    offers: Offers = field(default_factory=Offers)
    state: PageState = CONTENT


def measures_of(observed: Observed, patterns: CompiledPatterns) -> dict[str, float]:
    """All measures of a result; with a page also those of the page."""
    address, title, text, offers = observed.address, observed.title, observed.text, observed.offers
    path = address.path[:_PATH_CHARACTERS]
    last = path.rstrip("/").rpartition("/")[2]
    # A long text begins with its menu, and shows by itself what it is.
    short = max(0.0, min(1.0, 1.5 - text["text_words"] / _MENU_WORDS))
    return {
        "address_readable": address.readable,
        "address_root": address.root,
        "address_search": address.search,
        "address_paged": address.paged,
        "address_listing": bool(address.listing),
        "address_parent": bool(address.parent),
        "address_navigation": address.navigation_share,
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
        "title_words": len(title.words),
        "title_length": len(title.text),
        "title_function_words": sum(map(patterns.stop_words.__contains__, title.words)) / max(1, len(title.words)),
        "title_number": any(map(str.isdigit, title.text)),
        "title_question": "?" in title.text or "？" in title.text,
        "title_first_words": len(title.name),
        "title_first_length": len(title.first),
        "title_headline": title.headline,
        "title_listing": bool(title.listing),
        "title_navigation": title.navigation_share,
        "title_plural": bool(observed.title_plural),
        "offers_calls": short * offers.calls,
        "offers_counted": short * bool(offers.counted),
        "offers_placed": short * bool(offers.placed),
        "offers_reports": short * offers.reports,
        **text,
        "text_details": len(observed.kinds),
        "text_place": "place" in observed.kinds,
        "text_dates": _different_dates(observed.evidence),
        "text_times": sum(detail.kind == "time" for detail in observed.evidence),
        "text_prices": _different_prices(observed.evidence),
        **(observed.page.measures if observed.page else {}),
    }


def reasons_of(names: Sequence[str], observed: Observed, measures: Mapping[str, float]) -> tuple[str, ...]:
    """The reasons that some measures give."""
    fields = {
        **measures,
        "address": observed.address,
        "title": observed.title,
        "offers": observed.offers,
        "page": observed.page,
        "sentences": "most" if measures["text_content_share"] > 0.5 else "little",
        "wording": "running text" if measures["text_function_words"] >= _RUNNING else "names and labels",
        "kinds": ", ".join(sorted(observed.kinds)),
        "title_plural": observed.title_plural,
        "address_plural": observed.address_plural,
    }
    return tuple(REASONS[name].format_map(fields) for name in names)


def _different_dates(evidence: tuple[Evidence, ...]) -> int:
    dates = [detail for detail in evidence if detail.kind == "date"]
    # Dates whose day and month can't be told apart are compared as written.
    return len({(date.date, date.month, date.day) if date.month else date.text for date in dates})


def _different_prices(evidence: tuple[Evidence, ...]) -> int:
    return len({(detail.amount, detail.currency, detail.unit) for detail in evidence if detail.kind == "price"})


class ResultTrees(Section):
    """The ``result_trees`` section, written by the training script."""

    about: str = Field(default="", description="What the trees were grown from, under which licences, and when.")
    page: Trees = Field(default=_UNGROWN, description="For results with a page.")
    text: Trees = Field(default=_UNGROWN, description="For results without a page.")
