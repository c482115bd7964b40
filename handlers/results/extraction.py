"""When listings are followed, and how far: the limits, and how a batch's pages are shared out among its listings."""

from __future__ import annotations

from pydantic import Field

from schemas.rules import Section


class ExtractionSection(Section):
    """The ``extraction`` section of the configuration."""

    hop_limit: int = Field(default=1, ge=0, description="Attempts that may still trigger an extraction (C-11).")
    max_details: int = Field(default=5, ge=1, le=100, description="Detail pages fetched for one listing at most.")
    max_listing_pages: int = Field(
        default=2, ge=1, le=10, description="Pages of one listing that are read while details are still wanted."
    )
    batch_budget: int = Field(
        default=60, ge=2, le=1000, description="Pages that one batch may cost, its listings shared out (R-070)."
    )
    max_text_characters: int = Field(
        default=20_000, ge=100, description="Text kept of a result in events that carry it on."
    )
    max_html_characters: int = Field(
        default=1_000_000,
        ge=0,
        le=1_000_000,
        description="HTML of a source that is carried on to be judged; a longer page is carried as its text.",
    )


def share_details(listings: int, limits: ExtractionSection) -> tuple[int, ...]:
    """How many details each of a batch's listings may fetch, so that all of them stay within the batch's budget.

    Where there are too many, each is given fewer; where there are more than the budget has for one detail each, beside
    the listing's own pages, the last ones get 0: they are not fetched at all.

    >>> limits = ExtractionSection(max_details=5, max_listing_pages=1, batch_budget=10)
    >>> share_details(1, limits), share_details(4, limits), share_details(6, limits)
    ((5,), (2, 2, 1, 1), (1, 1, 1, 1, 1, 0))
    """
    followed = min(listings, limits.batch_budget // (limits.max_listing_pages + 1))
    if not followed:
        return (0,) * listings
    each, more = divmod(limits.batch_budget - followed * limits.max_listing_pages, followed)
    shares = [min(limits.max_details, each + (position < more)) for position in range(followed)]
    return (*shares, *[0] * (listings - followed))
