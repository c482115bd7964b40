"""A result in numbers: what the trained trees ask for.

In: everything that was read of a result. Out: one number for each name of ``TEXT_MEASURES``, or of ``PAGE_MEASURES``
where there is a page. No measure is the name of a site, a page or a label: they are lengths, shares and counts.
"""

from __future__ import annotations

import math
from urllib.parse import unquote, urlsplit

from handlers.listings.page_head import CONTROLS
from handlers.listings.page_shape import PageShape
from handlers.results.page_type import Observed
from handlers.text.patterns import CompiledPatterns
from schemas.retrieval import Evidence

_KINDS = ("date", "time", "price")
_FAR = 1.0


def text_measures(observed: Observed, url: str, patterns: CompiledPatterns, within: int) -> dict[str, float]:
    """Measures of address, title, text and its details; ``within`` characters of the text count."""
    text = observed.text
    return {
        **_of_address(observed, url),
        **_of_title(observed, patterns),
        "text_words": math.log1p(text.words),
        "text_link_phrases": text.link_phrases,
        "text_link_share": text.link_share,
        "text_content_share": text.content_share,
        "text_sentence_words": math.log1p(text.sentence_words),
        "text_function_words": text.function_words,
        "text_tail_function_words": text.tail_function_words,
        "text_account_phrases": text.account_phrases,
        "text_item_phrases": text.item_phrases,
        "text_capitals": text.capitals,
        "text_variety": text.variety,
        "text_repeated_pairs": text.repeated_pairs,
        "text_numbers": text.numbers,
        "text_commas": text.commas,
        "text_stops": text.stops,
        "text_questions": text.questions,
        "text_exclamations": text.exclamations,
        "text_longest_run": text.longest_run,
        "text_first_end": text.first_end,
        "text_ideographs": text.ideographs,
        **_of_details(observed.evidence, within),
        # The build of a page says more than the words in it.
        **(_of_offers(observed) if observed.page is None else {}),
    }


def page_measures(page: PageShape) -> dict[str, float]:
    """Measures of a page's build."""
    leads = page.leads
    text = max(1, page.text_characters)
    headings = page.linked_headings + page.plain_headings
    return {
        "page_links": page.links,
        "page_all_links": page.all_links,
        "page_link_density": page.link_density,
        "page_items": page.items,
        "page_item_share": page.item_share,
        "page_item_characters": math.log1p(page.item_characters),
        "page_text": math.log1p(page.text_characters),
        "page_prose": math.log1p(page.prose_characters),
        "page_longest_prose": math.log1p(page.longest_prose),
        "page_paragraphs": page.paragraphs,
        "page_longest_paragraph": math.log1p(page.longest_paragraph),
        "page_paragraph_share": page.paragraph_characters / text,
        "page_paged": page.paged,
        "page_declared_item": bool(page.declared_item),
        "page_declared_listing": bool(page.declared_listing),
        "page_linked_headings": page.linked_headings,
        "page_linked_heading_share": page.linked_headings / max(1, headings),
        "page_plain_headings": page.plain_headings,
        "page_articles": page.articles,
        "page_code": page.code_blocks,
        "page_bytes": math.log1p(page.html_bytes),
        "page_heading_words": page.heading_words,
        "page_og_article": "article" in page.og_type,
        "page_og_product": "product" in page.og_type,
        "page_og_website": "website" in page.og_type,
        "page_published": page.published,
        "page_authored": page.authored,
        **{f"page_{name}": page.controls.get(name, 0) for name in CONTROLS},
        "leads_inside": leads.inside,
        "leads_outside": leads.outside,
        "leads_below": leads.below,
        "leads_siblings": leads.siblings,
        "leads_same_folder": leads.same_folder,
        "leads_same_folder_share": leads.same_folder / max(1, leads.inside),
        "leads_same_folder_is_own": leads.same_folder_is_own,
        "leads_long": leads.long_labels,
        "leads_long_share": leads.long_characters / text,
        "leads_long_of_all": leads.long_labels / max(1, leads.inside),
        "leads_numbers": leads.numbers,
        "leads_alike": leads.alike,
        "leads_alike_long": leads.alike_long,
        "leads_alike_share": leads.alike_characters / text,
        "leads_alike_score": leads.alike_score,
        "leads_most_alike_long": leads.most_alike_long,
    }


def _of_address(observed: Observed, url: str) -> dict[str, float]:
    address = observed.address
    path = ""
    if address.readable:
        try:
            path = unquote(urlsplit(url).path)[:500]
        except ValueError:
            path = ""
    last = path.rstrip("/").rpartition("/")[2]
    return {
        "address_readable": address.readable,
        "address_root": address.root,
        "address_search": address.search,
        "address_paged": address.paged,
        "address_listing": bool(address.listing),
        "address_parent": bool(address.parent),
        "address_host": bool(address.host_listing),
        "address_navigation": bool(address.navigation),
        "address_identifier": bool(address.identifier),
        "address_plural": bool(observed.address_plural),
        "address_words": address.words,
        "address_depth": address.depth,
        "address_length": len(path),
        "address_digits": sum(map(str.isdigit, path)),
        "address_last_length": len(last),
        "address_last_joints": last.count("-") + last.count("_"),
        "address_last_type": "." in last,
    }


def _of_title(observed: Observed, patterns: CompiledPatterns) -> dict[str, float]:
    title = observed.title
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
        "title_plural": bool(observed.title_plural),
    }


def _of_offers(observed: Observed) -> dict[str, float]:
    offers, address = observed.offers, observed.address
    return {
        "offers_calls": offers.calls,
        "offers_counted": bool(offers.counted),
        "offers_placed": bool(offers.placed),
        "offers_reports": offers.reports,
        "address_information": bool(address.information),
        "address_offers": bool(address.offers),
    }


def _of_details(evidence: tuple[Evidence, ...], within: int) -> dict[str, float]:
    found: dict[str, float] = {}
    for kind in _KINDS:
        details = [detail for detail in evidence if detail.kind == kind and detail.start < within]
        found[f"details_{kind}"] = len(details)
        found[f"details_{kind}_different"] = len({detail.value or detail.text for detail in details})
        found[f"details_{kind}_first"] = details[0].start / within if details else _FAR
    return found
