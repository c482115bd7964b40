"""When listings are followed, and how far."""

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
    max_text_characters: int = Field(
        default=20_000, ge=100, description="Text kept of a result in events that carry it on."
    )
