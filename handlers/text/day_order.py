"""Whether 03/04/2024 is the third of April or the fourth of March, by where a text comes from.

In: a page's address, what it declares of its language and country, and the language of its text. Out: an ``Origin``.
The country decides, then the language. Where countries contradict each other, or both orders are in use, nothing does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from handlers.text.details import DetailPatterns

Order = Literal["day", "month"]

_HOST = re.compile(r"^(?:[a-z][a-z0-9+.-]{0,20}:)?//(?:[^/?#@]{0,200}@)?([^/?#:\\]{1,253})", re.IGNORECASE)
_TAG = re.compile(r"^\s{0,4}([a-z]{2,3})(?:[-_][a-z]{4})?(?:[-_]([a-z]{2})(?![a-z]))?", re.IGNORECASE)
_MAX_TAG = 40
_COUNTRY_LETTERS = 2


@dataclass(frozen=True, slots=True)
class Origin:
    """What is known of where a text comes from.

    Attributes:
        order: What comes first in 03/04/2024; None where that is open.
        is_chinese: Whether 113/05/03 may count the years of the Republic of China without Chinese words beside it.
    """

    order: Order | None = None
    is_chinese: bool = False


UNKNOWN = Origin()


def origin_of(url: str, declared: Iterable[str], language: str | None, patterns: DetailPatterns) -> Origin:
    """Where a text comes from.

    Args:
        url: The page's address; its last label may be a country's.
        declared: Language tags and locales of the page: ``en-GB``, ``en_US``. One of another language than the text's
            is a template's and not believed.
        language: The language of the text; None where it is not known.
        patterns: Which countries and languages write the month first.
    """
    tags = [match for tag in declared if (match := _TAG.match(tag[:_MAX_TAG]))]
    languages = {match[1].lower() for match in tags}
    regions = {match[2].lower() for match in tags if match[2] and language in {None, match[1].lower()}}
    if region := _region_of(url, patterns):
        regions.add(region)
    if language is not None:
        languages.add(language)
    is_chinese = "zh" in languages
    if regions:
        orders = {_order_in(region, patterns) for region in regions}
        return Origin(orders.pop() if len(orders) == 1 else None, is_chinese)
    return Origin(None if languages.isdisjoint(patterns.day_first_languages) else "day", is_chinese)


def _region_of(url: str, patterns: DetailPatterns) -> str:
    """The country that an address is of, by its last label; "" where it names none."""
    match = _HOST.match(url)
    label = match[1].rstrip(".").rpartition(".")[2].lower() if match else ""
    if label in patterns.region_of_domains:
        return patterns.region_of_domains[label]
    return (
        label if len(label) == _COUNTRY_LETTERS and label.isalpha() and label not in patterns.worldwide_domains else ""
    )


def _order_in(region: str, patterns: DetailPatterns) -> Order | None:
    if region in patterns.open_regions:
        return None
    return "month" if region in patterns.month_first_regions else "day"
