"""Pages that came with status 200 and are no content: "not found", "checking your browser", "accept our cookies".

A page's title and text go in; why it is not passed on comes out, or None. Careful on purpose: only a short page, or one
without a text of its own, can be a refusal, since an article may well be about error messages.
"""

from __future__ import annotations

from pydantic import Field

from schemas.outcome import FetchFailure
from schemas.rules import Section


class PageRefusalsSection(Section):
    """The ``page_refusals`` section of the configuration; phrases are lower case."""

    short_characters: int = Field(ge=0, description="Text above which a page is content, whatever it says.")
    least_characters: int = Field(ge=0, description="Text below which a page holds nothing.")
    soft_404: tuple[str, ...] = Field(description="Phrases of pages that say that there is no such page.")
    challenge: tuple[str, ...] = Field(description="Phrases of pages that want proof of being human, or consent.")


def why_no_content(title: str, text: str, section: PageRefusalsSection) -> FetchFailure | None:
    """Why a page that came is not content; None where it is.

    Args:
        title: The page's title.
        text: Its main text.
        section: Phrases and limits.
    """
    if len(text) > section.short_characters:
        return None
    said = f"{title}\n{text}".lower()
    if any(phrase in said for phrase in section.challenge):
        return FetchFailure.CHALLENGE
    if any(phrase in said for phrase in section.soft_404):
        return FetchFailure.SOFT_404
    return FetchFailure.NO_CONTENT if len(text) < section.least_characters else None
