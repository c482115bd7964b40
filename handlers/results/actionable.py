"""How far a result can be acted on: a score inside the band of its type (R-030), never between two bands (C-05)."""

from __future__ import annotations

from handlers.results.page_type import Observed
from handlers.results.sections import ClassificationSection
from schemas.retrieval import ResultType


def actionable_score(result_type: ResultType, observed: Observed, section: ClassificationSection) -> float:
    """The score in [0, 1].

    An item is rich from three kinds of detail on (date, time, place, price): 0.9 to 1.0; with fewer it is minimal: 0.6
    to 0.8. A listing of mostly links has 0.0 to 0.2, falling with its link density; one with some content 0.3 to 0.5,
    rising with the share of its text that is content. Navigation has 0.4.
    """
    bands = section.bands
    match result_type:
        case ResultType.NAVIGATION:
            score = bands.navigation
        case ResultType.AGGREGATOR:
            score = _listing(observed, section)
        case ResultType.SPECIFIC_CONTENT:
            kinds = len(observed.kinds)
            if kinds < bands.rich_kinds:
                score = bands.minimal + kinds * bands.minimal_each_kind
            else:
                score = bands.rich + (kinds - bands.rich_kinds) * bands.rich_each_kind
                score += bands.rich_identifier if observed.address.identifier else 0.0
                score += bands.rich_markup if observed.page and observed.page.declared_item else 0.0
    return round(score, 4)


def _listing(observed: Observed, section: ClassificationSection) -> float:
    bands = section.bands
    page, text = observed.page, observed.text
    if page is not None and page.text_characters:
        least = section.mostly_links_page
        if page.link_density >= least:
            return bands.listing_links * (1.0 - (page.link_density - least) / (1.0 - least))
        return bands.listing_content + bands.listing_content_range * (1.0 - page.link_density)
    linked = text.link_phrases >= section.min_link_phrases and text.link_share >= section.mostly_links_text
    # Without anchors there is no excess to measure; a listing without any text is nothing but its links.
    if linked or not text.words:
        return bands.listing_links
    return bands.listing_content + bands.listing_content_range * text.content_share
