"""The first design's rules for result types, word by word (R-026 to R-035): what they reach by themselves.

Parts of words count (``all`` in ``hall``), density is read off the text, and one cue is enough.
"""

from __future__ import annotations

import re

from schemas.retrieval import ResultType, RetrievedContent

_LISTING_WORDS = ("search", "events", "all", "category", "listings")
_LISTING_TITLE = re.compile(r"all events in|find events|browse", re.IGNORECASE)
_LINK_PHRASES = re.compile(r"read more|view event", re.IGNORECASE)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
_DETAILS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\d{{1,2}}[/\-.]\d{{1,2}}[/\-.]\d{{2,4}}|{_MONTH} \d{{1,2}}|\d{{1,2}} {_MONTH}",
        r"\d{1,2}:\d{2}\s?(?:am|pm)",
        r"venue:|location:|\d{1,5} \w{1,30} street",
        r"price:|\$\d|free admission",
    )
)
_MANY_PHRASES = 2


def classify(result: RetrievedContent) -> ResultType:
    """The type by the rules: a listing where any of its cues is there, else an item by its details, else navigation."""
    is_listing = (
        any(word in result.url.lower() for word in _LISTING_WORDS)
        or _LISTING_TITLE.search(result.title or "")
        or len(_LINK_PHRASES.findall(result.content)) >= _MANY_PHRASES
    )
    if is_listing:
        return ResultType.AGGREGATOR
    if any(pattern.search(result.content) for pattern in _DETAILS):
        return ResultType.SPECIFIC_CONTENT
    return ResultType.NAVIGATION
