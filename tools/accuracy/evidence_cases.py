"""The labelled dates, times, prices and addresses of every set in one form, and the rules that say which of them count.

In scope are absolute dates (day and month are both written in the text), clock times (the hour is written as a number
with a sign or word that makes it a time), amounts in digits beside their currency, and street addresses with a number.
Everything else is left out with a reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from handlers.html.encoding import page_bytes, parse_bytes
from schemas.evidence import Evidence
from tools import labelled
from tools.accuracy.written_moments import Expected, moments


@dataclass(slots=True)
class Case:
    """A text with what is labelled in it.

    Attributes:
        kinds: The kinds of detail the set labels.
        has_every_mention: Whether a detail that is not labelled is a wrong one.
        ignored: Spans of labels out of scope: what is found there counts for nothing.
        ignored_texts: The same without spans: squeezed texts.
    """

    split_key: str
    text: str
    kinds: frozenset[str]
    expected: list[Expected] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    ignored: list[tuple[int, int]] = field(default_factory=list)
    ignored_texts: list[str] = field(default_factory=list)
    has_every_mention: bool = True
    by_words: bool = False

    def touches(self, found: Evidence, expected: Expected) -> bool:
        """Whether a detail is at the label's place: by offsets, or by its letters and digits."""
        if not self.by_words:
            return found.start < expected.end and expected.start < found.end
        return overlaps(squeeze(found.text), squeeze(expected.value))

    def is_beside_the_point(self, found: Evidence) -> bool:
        """Whether a detail is out of scope: labelled as such, a named place after its label, or a town alone."""
        if self.by_words and (":" in found.text or re.search(r"\s[A-Z]{2}\s+\d{5}(?:-\d{4})?$", found.text)):
            return True
        if any(found.start < end and start < found.end for start, end in self.ignored):
            return True
        return any(overlaps(squeeze(found.text), text) for text in self.ignored_texts)


def price_strings() -> Iterator[Case]:
    """Short price texts of shops; a price that is labelled without a currency in the text is left out."""
    for row in labelled.cases("price_strings"):
        case = Case(row["split_key"], row["text"], frozenset({"price"}))
        currency = row["currency"] or ""
        if row["amount"] is None or not currency:
            if row["amount"] is not None:
                case.left_out.append("amount without a currency")
        elif _plain(currency) not in _plain(row["text"]):
            case.left_out.append("currency is beside the text only")
        elif not re.search(r"\d", row["text"]):
            case.left_out.append("no digits")
        else:
            amount = str(row["amount"]).removeprefix("Decimal('").removesuffix("')")
            case.expected.append(Expected("price", amount, currency=currency, currency_text=currency))
            # One price is labelled where a text has several.
            case.has_every_mention = False
        yield case


def sentences() -> Iterator[Case]:
    """Sentences in English, German, Chinese and Japanese with offsets; ends of ranges count where written in full."""
    for row in labelled.cases("datetime_currency_multilang"):
        kinds = {"price"} if row["kind"] == "currency" else {"date", "time"}
        case = Case(row["split_key"], row["text"], frozenset(kinds))
        for span in row["spans"]:
            # Offsets count UTF-16 units and include the last one; all characters here are in the first plane.
            start, end = span["start"], span["end"] + 1
            written = row["text"][start:end]
            read = _amount if row["kind"] == "currency" else moments
            expected, reason = read(span, written, start, end)
            case.expected += expected
            if reason:
                case.left_out.append(reason)
                case.ignored.append((start, end))
            elif not case.expected or span["type"].endswith("range"):
                case.ignored.append((start, end))
        yield case


def contact_pages() -> Iterator[Case]:
    """Pages with street addresses; each different one counts once, where its words are in the page's text."""
    for row in labelled.cases("webstruct_contacts"):
        text = page_text("webstruct_contacts", row)
        squeezed = squeeze(text)
        case = Case(row["split_key"], text, frozenset({"place"}), by_words=True)
        streets = {squeeze(street): street for name, street in row["entities"] if name == "STREET"}
        for short, street in streets.items():
            if not any(map(str.isdigit, street)):
                case.left_out.append("street address without a number")
                case.ignored_texts.append(short)
            elif short not in squeezed:
                case.left_out.append("not in the page's text as labelled")
                case.ignored_texts.append(short)
            else:
                case.expected.append(Expected("place", street))
        towns = [squeeze(text) for name, text in row["entities"] if name in ("CITY", "ZIPCODE", "STATE", "COUNTRY")]
        case.ignored_texts += [town for town in towns if len(town) > 3]
        yield case


def page_text(name: str, row: dict[str, Any]) -> str:
    """Visible text of a page, a line for each piece."""
    tree = parse_bytes(page_bytes(labelled.body(name, row)).utf8)
    tree.strip_tags(["script", "style", "noscript", "template", "svg", "select"])
    return re.sub(r"\s*\n\s*", "\n", tree.body.text(separator="\n")) if tree.body else ""


def squeeze(text: str) -> str:
    """Letters and digits only, lower case."""
    return re.sub(r"[\W_]", "", text).lower()


def overlaps(one: str, other: str) -> bool:
    """Whether one holds the other, or the end of one begins the other, by five characters or more."""
    if one in other or other in one:
        return min(len(one), len(other)) > 3
    longest = min(len(one), len(other))
    return any(one.endswith(other[:n]) or other.endswith(one[:n]) for n in range(5, longest))


def _plain(text: str) -> str:
    return re.sub(r"\s", "", text).casefold()


def _amount(span: dict[str, Any], written: str, start: int, end: int) -> tuple[list[Expected], str]:
    resolution = span["resolution"]
    if resolution.get("value") is None:
        return [], "currency without an amount"
    if not re.search(r"\d", written):
        return [], "amount in words"
    if re.search(r"\d\D{1,12}\d", re.sub(r"(?<=\d)[.,\s](?=\d)", "", written)):
        return [], "amount in two units"
    code = resolution.get("isoCurrency") or ""
    value = resolution["value"]
    return [Expected("price", value, start, end, code if code != "None" else "")], ""
