"""The labelled pages of every set in one form: each set's own fields, converted to the same terms.

A label that is None (or empty, for snippets) was not given. That is not the same as "the page has none", so such a page
counts for nothing, unless a set states that the page names no author (``authors == ()``).
"""

import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Any

from tools import labelled
from tools.accuracy.matching import day_of, persons

PAGES, TEXTS = "wcxb_page_types", "wcxb_main_content"


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
        return labelled.body(self.set, self.case)

    @property
    def place(self) -> str:
        return f"{self.set}/{self.case['file']}"


def pages(name: str) -> Iterator[LabelledPage]:
    for case in labelled.cases(name):
        if case.get("file"):
            labels = {label: _label(label, field, case) for label, field in _FIELDS[name].items()}
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


@cache
def _references() -> dict[str, str]:
    """The reference texts of WCXB, which are a set of their own."""
    return {case["id"]: case["main_content"] for case in labelled.cases(TEXTS)} if labelled.has(TEXTS) else {}


Read = Callable[[Any], Any]
_READ: dict[str, Read] = {
    "days": accepted_days,
    "authors": lambda value: persons(value) or None if value else None,
    "must_contain": _snippets,
    "must_not_contain": _snippets,
}
"""How the field of a label is read, if it is no text."""
_SNIPPETS: dict[str, str | Read] = {"must_contain": "must_contain", "must_not_contain": "must_not_contain"}
_FIELDS: dict[str, dict[str, str | Read]] = {
    PAGES: {
        "days": "publish_date", "authors": "author", "title": "title", "kind": "page_type", **_SNIPPETS,
        "gold_text": lambda case: _references().get(case["id"]),
    },
    "adbar_dates_authors": {
        "days": "date", "authors": "author", "title": "title", "site_name": "sitename", **_SNIPPETS,
    },
    "fundus_news_metadata": {"days": "publishing_date", "authors": "authors", "title": "title"},
    "postlight_metadata": {
        "days": lambda case: accepted_days(case.get("date_published"), tolerance=1), "authors": "author",
        "title": "title",
    },
    "readability_metadata": {
        "days": "published_time", "authors": "byline", "title": "title", "site_name": "site_name",
        "language": lambda case: case["lang"][:2].lower() if case["lang"] else None,
    },
    "twnews_zh_hant": {
        "days": "published", "authors": lambda case: persons(case["author"]), "title": "title",
        "language": lambda _: "zh", "must_contain": "must_contain",
    },
    "magic_html_article_forum": {
        "language": lambda case: "zh" if case["lang"] == "zh" else None, "gold_text": "gold_text",
    },
    "zh_articles": {"days": lambda case: accepted_days(day_of(case["date"])), "language": lambda _: "zh"},
}  # fmt: skip
"""For each set where its labels are: a field, or a function of the case."""
SETS = tuple(_FIELDS)


def _label(name: str, field: str | Read, case: dict[str, Any]) -> Any:
    read: Read = _READ.get(name, _text)
    return read(case.get(field)) if isinstance(field, str) else field(case)
