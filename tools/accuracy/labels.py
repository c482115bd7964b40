"""The labelled pages of every set in one form: each set's own fields, converted to the same terms.

A label that is None (or empty, for snippets) was not given. That is not the same as "the page has none", so such a page
counts for nothing, unless a set states that the page names no author (``authors == ()``).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Any

from tools import labelled
from tools.accuracy.matching import day_of, persons
from tools.accuracy.word_f1 import TEXTS


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledPage:
    """A page and what is known of it.

    Attributes:
        days: Days that are right, ISO 8601; the first is the one that is shown. Empty where no date is labelled.
        authors: Persons of whom one has to be named; () if the set says that a page has no author, None if unlabelled.
        gold_text: The whole main text, where the set has it.
        kind: The kind of the page, if the set has it.
    """

    set: str
    id: str
    url: str
    case: dict[str, Any]
    days: tuple[str, ...] = ()
    authors: tuple[str, ...] | None = None
    title: str | None = None
    site_name: str | None = None
    language: str | None = None
    must_contain: tuple[str, ...] = ()
    must_not_contain: tuple[str, ...] = ()
    gold_text: str | None = None
    kind: str | None = None

    def body(self) -> bytes:
        """The page as fetched."""
        return labelled.body(self.set, self.case)

    @property
    def place(self) -> str:
        """The path of the page, to look at it."""
        return f"{self.set}/{self.case['file']}"


def pages(name: str) -> Iterator[LabelledPage]:
    """The labelled pages of a set, in its order."""
    for case in labelled.cases(name):
        if case.get("file"):
            labels = _READERS[name](case)
            yield LabelledPage(set=name, id=str(case["id"]), url=labelled.address(case), case=case, **labels)


def accepted_days(label: Any, tolerance: int = 0) -> tuple[str, ...]:
    """The days that are right for a label, the labelled one first.

    An instant is on one day where the page was published and perhaps on another in UTC; pages show either, so both are
    right. ``tolerance`` adds days before and after, for sets whose instants depend on the labeller's time zone.
    """
    if not isinstance(label, str) or len(label) < len("2000-01-01"):
        return ()
    try:
        instant = datetime.fromisoformat(label.strip())
    except ValueError:
        return ()
    days = [instant.date()] + ([instant.astimezone(UTC).date()] if instant.tzinfo else [])
    around = [day + timedelta(days=step) for day in days for step in range(-tolerance, tolerance + 1)]
    return tuple(dict.fromkeys(day.isoformat() for day in [*days, *sorted(around)] if date.min < day))


def _text(value: Any) -> str | None:
    return unicodedata.normalize("NFC", value).strip() or None if isinstance(value, str) else None


def _snippets(value: Any) -> tuple[str, ...]:
    return tuple(text for text in value or () if isinstance(text, str) and text.strip())


def _people(value: Any) -> tuple[str, ...] | None:
    return persons(value) or None


def _wcxb(case: dict[str, Any]) -> dict[str, Any]:
    return {
        "days": accepted_days(case["publish_date"]),
        "authors": _people(case["author"]),
        "title": _text(case["title"]),
        "must_contain": _snippets(case["must_contain"]),
        "must_not_contain": _snippets(case["must_not_contain"]),
        "kind": case["page_type"],
        "gold_text": _references().get(case["id"]),
    }


@cache
def _references() -> dict[str, str]:
    """The reference texts of WCXB, which are a set of their own."""
    return {case["id"]: case["main_content"] for case in labelled.cases(TEXTS)} if labelled.has(TEXTS) else {}


def _adbar(case: dict[str, Any]) -> dict[str, Any]:
    return {
        "days": accepted_days(case.get("date")),
        "authors": _people(case.get("author")),
        "title": _text(case.get("title")),
        "site_name": _text(case.get("sitename")),
        "must_contain": _snippets(case.get("must_contain")),
        "must_not_contain": _snippets(case.get("must_not_contain")),
    }


def _fundus(case: dict[str, Any]) -> dict[str, Any]:
    return {
        "days": accepted_days(case["publishing_date"]),
        "authors": _people(case["authors"]),
        "title": _text(case["title"]),
    }


def _postlight(case: dict[str, Any]) -> dict[str, Any]:
    return {
        "days": accepted_days(case["date_published"], tolerance=1),
        "authors": _people(case["author"]),
        "title": _text(case["title"]),
    }


def _readability(case: dict[str, Any]) -> dict[str, Any]:
    return {
        "days": accepted_days(case["published_time"]),
        "authors": _people(case["byline"]),
        "title": _text(case["title"]),
        "site_name": _text(case["site_name"]),
        "language": case["lang"][:2].lower() if case["lang"] else None,
    }


def _twnews(case: dict[str, Any]) -> dict[str, Any]:
    return {
        "days": accepted_days(case["published"]),
        "authors": persons(case["author"]),
        "title": _text(case["title"]),
        "language": "zh",
        "must_contain": _snippets(case["must_contain"]),
    }


def _magic(case: dict[str, Any]) -> dict[str, Any]:
    return {"language": "zh" if case["lang"] == "zh" else None, "gold_text": _text(case["gold_text"])}


def _zh_articles(case: dict[str, Any]) -> dict[str, Any]:
    return {"days": accepted_days(day_of(case["date"])), "language": "zh"}


_READERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "wcxb_page_types": _wcxb,
    "adbar_dates_authors": _adbar,
    "fundus_news_metadata": _fundus,
    "postlight_metadata": _postlight,
    "readability_metadata": _readability,
    "twnews_zh_hant": _twnews,
    "magic_html_article_forum": _magic,
    "zh_articles": _zh_articles,
}
SETS = tuple(_READERS)
