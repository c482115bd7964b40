"""Dates, clock times, prices and street addresses on labelled texts: precision, recall and F1 by half.

What a set labels beyond them (relative days, durations, recurring sets, numbers in words) is left out with a reason. A
hash of the split key divides the halves: patterns are written with an eye on the first one only.

A labelled day or time counts if it is written in the text, so that it is found there without knowing what day it is:
a mention's words and its value in TIMEX form give absolute days and clock times, or the reason why they are left out.
"""

import contextlib
import re
import unicodedata
from calendar import monthrange
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from handlers.classify_results import ClassifyResultsRules
from handlers.html.encoding import page_bytes, parse_bytes
from handlers.text.evidence import find_evidence
from handlers.text.patterns import CompiledPatterns
from handlers.text.reading import is_currency_code
from schemas.evidence import DateEvidence, Evidence, PlaceEvidence, PriceEvidence, TimeEvidence
from tests.rules import shipped_rules
from tools import labelled
from tools.accuracy.matching import flat, plain
from tools.accuracy.measure import Measure, Measures, Setup
from tools.table import share

_TIMEX_DAY = re.compile(r"(\d{4}|XXXX|XX\d\d)-(\d\d)-(\d\d)")
_TIMEX_TIME = re.compile(r"T(\d\d)(?::(\d\d))?(?::\d\d)?$")
_RANGE = re.compile(r"\(([^,()]+),([^,()]+),")
_MONTHS = [
    "jan|january|januar", "feb|february|februar", "mar|march|märz", "apr|april", "may|mai", "jun|june|juni",
    "jul|july|juli", "aug|august", "sep|sept|september", "oct|october|okt|oktober", "nov|november",
    "dec|december|dez|dezember",
]  # fmt: skip
_IDEOGRAPHS = {"〇": 0, "零": 0, **{sign: n for n, sign in enumerate("一二三四五六七八九十", 1)}, "两": 2, "兩": 2}
_HOUR_MARK = r"\s?(?:[:：.]\s?\d\d|[ap]\.?m|[ap]\b|uhr|[点點时時]|o['’]clock)"
_VAGUE = re.compile(r"^(?:at|around|about|by|um|gegen|after|before|from)?\s*\d{1,2}$")


@dataclass(frozen=True, slots=True)
class Expected:
    """Something labelled: its kind, its value as ``value_of`` writes it, and its position (if known).

    Attributes:
        currency: An ISO code or a sign; "" without a label.
        currency_text: The currency as written.
    """

    kind: str
    value: str
    start: int = 0
    end: int = 10**9
    currency: str = ""
    currency_text: str = ""


def moments(span: dict[str, Any], written: str, start: int, end: int) -> tuple[list[Expected], str]:
    """The days and times of a labelled mention that are in scope, or the reason why there is no such value."""
    kind = span["type"].rpartition(".")[2]
    values = (span.get("resolution") or {}).get("values") or [{}]
    timex = values[0].get("timex") or ""
    if kind in ("duration", "set", "timezone"):
        return [], kind
    if values[0].get("isLunar"):
        return [], "lunar calendar"
    if kind.endswith("range"):
        return _range_ends(timex, written, start, end, kind)
    if expected := [*_parts(timex, written, start, end)]:
        return expected, ""
    if day := _TIMEX_DAY.match(timex):
        return [], "relative day" if _is_day(day) else "no such day"
    if kind in ("date", "datetime"):
        return [], "relative day"
    return [], "hour in words or bare" if _TIMEX_TIME.search(timex) else "part of the day"


def _range_ends(timex: str, written: str, start: int, end: int, kind: str) -> tuple[list[Expected], str]:
    ends = _RANGE.match(timex)
    moments = (ends[1], ends[2]) if ends else (timex,)
    found = [part for moment in moments for part in _parts(moment, written, start, end, bool(ends), strict_time=True)]
    return list(dict.fromkeys(found)), "" if found else f"{kind} without days or times in full"


def _parts(
    moment: str, written: str, start: int, end: int, strict_day: bool = False, strict_time: bool = False
) -> Iterator[Expected]:
    """The day and the time of a moment that are written."""
    day, time = _TIMEX_DAY.match(moment), _TIMEX_TIME.search(moment)
    if day and _is_day(day) and _has_day(written, int(day[2]), int(day[3]), strictly=strict_day):
        yield Expected("date", f"-{day[0][4:]}" if day[1] == "XXXX" else day[0], start, end)
    if time and _has_time(written, int(time[1]), strictly=strict_time):
        yield Expected("time", f"{int(time[1]) % 24:02d}:{time[2] or '00'}", start, end)


def _is_day(day: re.Match[str]) -> bool:
    year = int(day[1]) if day[1].isdigit() else 2024
    return 1 <= int(day[2]) <= 12 and 1 <= int(day[3]) <= monthrange(year, int(day[2]))[1]


def _has_day(written: str, month: int, day: int, *, strictly: bool = False) -> bool:
    """Whether day and month are both written; of a range with two ends, side by side."""
    folded = unicodedata.normalize("NFKC", written).lower()
    names = f"(?:{_MONTHS[month - 1]})"
    number = rf"(?<!\d)0?{day}(?!\d)"
    if not strictly:
        return day in numbers(folded) and (month in numbers(folded) or bool(re.search(rf"\b{names}", folded)))
    written_month = rf"(?<!\d)0?{month}"
    shapes = (
        rf"{number}(?:st|nd|rd|th|\.)?(?:\sof)?[\s/-]{{0,2}}{names}\b",
        rf"\b{names}\.?[\s-]{{1,2}}{number}",
        rf"{written_month}[/.-]{number}|{number}[/.-]{written_month}(?!\d)|{written_month}\s?月\s?{number}",
    )
    return any(re.search(shape, folded) for shape in shapes)


def _has_time(written: str, hour: int, *, strictly: bool = False) -> bool:
    """Whether the hour is written as a number with what makes it a time; beside a part of the day outside of ranges."""
    folded = unicodedata.normalize("NFKC", written).lower()
    hours = {hour, hour % 12 or 12, hour % 12, 24 if hour == 0 else hour}
    if any(re.search(rf"(?<!\d)0?{number}(?!\d){_HOUR_MARK}", folded) for number in hours):
        return True
    if re.search(r"[点點时時]", folded) and hours & numbers(folded):
        return True
    if re.search(r"\b(?:halb|halv)\b", folded) and {(h % 12) + 1 for h in hours} & numbers(folded):
        return True
    return not strictly and bool(hours & numbers(folded)) and not _VAGUE.match(folded) and "now" not in folded


def numbers(text: str) -> set[int]:
    """The numbers of a text, also those in ideographs below a hundred."""
    folded = unicodedata.normalize("NFKC", text)
    found = {int(digits) for digits in re.findall(r"\d{1,9}", folded)}
    for run in re.findall(f"[{''.join(_IDEOGRAPHS)}廿]{{1,4}}", folded):
        tens, mark, ones = run.replace("廿", "二十").rpartition("十")
        found.add((_IDEOGRAPHS[tens[-1]] if tens else 1) * 10 * bool(mark) + (_IDEOGRAPHS[ones[-1]] if ones else 0))
    return found


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
        return overlaps(plain(found.text), plain(expected.value))

    def is_beside_the_point(self, found: Evidence) -> bool:
        """Whether a detail is out of scope: labelled as such, a named place after its label, or a town alone."""
        if self.by_words and (":" in found.text or re.search(r"\s[A-Z]{2}\s+\d{5}(?:-\d{4})?$", found.text)):
            return True
        if any(found.start < end and start < found.end for start, end in self.ignored):
            return True
        return any(overlaps(plain(found.text), text) for text in self.ignored_texts)


def price_strings() -> Iterator[Case]:
    """Short price texts of shops; a price that is labelled without a currency in the text is left out."""
    for row in labelled.cases("price_strings"):
        case = Case(row["split_key"], row["text"], frozenset({"price"}))
        currency = row["currency"] or ""
        if row["amount"] is None:
            pass
        elif not currency:
            case.left_out.append("amount without a currency")
        elif flat(currency) not in flat(row["text"]):
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
        tree = parse_bytes(page_bytes(labelled.body("webstruct_contacts", row)).utf8)
        tree.strip_tags(["script", "style", "noscript", "template", "svg", "select"])
        # Visible text, a line for each piece.
        text = re.sub(r"\s*\n\s*", "\n", tree.body.text(separator="\n")) if tree.body else ""
        squeezed = plain(text)
        case = Case(row["split_key"], text, frozenset({"place"}), by_words=True)
        streets = {plain(street): street for name, street in row["entities"] if name == "STREET"}
        for short, street in streets.items():
            if any(map(str.isdigit, street)) and short in squeezed:
                case.expected.append(Expected("place", street))
            else:
                case.left_out.append("street address without a number, or not as labelled")
                case.ignored_texts.append(short)
        towns = [plain(text) for name, text in row["entities"] if name in ("CITY", "ZIPCODE", "STATE", "COUNTRY")]
        case.ignored_texts += [town for town in towns if len(town) > 3]
        yield case


def overlaps(one: str, other: str) -> bool:
    """Whether one holds the other, or the end of one begins the other, by five characters or more."""
    if one in other or other in one:
        return min(len(one), len(other)) > 3
    longest = min(len(one), len(other))
    return any(one.endswith(other[:n]) or other.endswith(one[:n]) for n in range(5, longest))


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


SETS: dict[str, Callable[[], Iterator[Case]]] = {
    "price_strings": price_strings,
    "datetime_currency_multilang": sentences,
    "webstruct_contacts": contact_pages,
}
HALVES = ("first half", "second half")
_OUTCOMES = ("right", "wrong value", "missing", "extra")
_LIMIT = 5000


async def measures(_: Setup) -> Measures:
    patterns = shipped_rules(ClassifyResultsRules).compiled_patterns
    every = [case for name, cases in SETS.items() if labelled.has(name) for case in cases()]
    cases = {
        (kind, half): [case for case in every if kind in case.kinds and HALVES[labelled.fold(case.split_key)] == half]
        for kind in ("date", "place", "price", "time")
        for half in HALVES
    }
    left_out = sum(len(case.left_out) for case in every)
    yield Measure(
        name="### Evidence", cases=cases, contestants={"": lambda case: list(judge(case, patterns))},
        match=lambda row, _, found: [(row, outcome) for kind, outcome in found if kind == row[0]],
        figures=lambda outcomes, _: _figures(Counter(outcomes)),
        heads=("labelled", *_OUTCOMES, "precision", "recall", "F1"), group=("kind", "half"),
        note=lambda _: f"\n{left_out:,} labels are left out.\n",
    )  # fmt: skip


def judge(case: Case, patterns: CompiledPatterns) -> Iterator[tuple[str, str]]:
    """Kind and outcome (right, wrong value, missing, extra) of all that is labelled or found."""
    found = [e for e in find_evidence(case.text, patterns.details, _LIMIT) if e.kind in case.kinds]
    used: set[int] = set()
    for expected in case.expected:
        near = [n for n, e in enumerate(found) if e.kind == expected.kind and case.touches(e, expected)]
        right = [n for n in near if is_right(found[n], expected, patterns)]
        used.update(right or near)
        yield expected.kind, "right" if right else "wrong value" if near else "missing"
    if case.has_every_mention:
        extra = [e for n, e in enumerate(found) if n not in used and not case.is_beside_the_point(e)]
        yield from ((kind, "extra") for kind, _ in {(e.kind, e.text) for e in extra})


def is_right(found: Evidence, expected: Expected, patterns: CompiledPatterns) -> bool:
    """Whether a value is the labelled one.

    A day whose order of day and month is open has no value: it is right where the two labelled numbers are in it. A
    year of two digits is compared by these. Of a price the amount counts, and the currency where it is labelled.
    """
    match found:
        case DateEvidence(month=None):
            written = numbers(found.text)
            return {int(expected.value[-5:-3]), int(expected.value[-2:])} <= written
        case DateEvidence():
            value = found.date or f"--{found.month:02d}-{found.day:02d}"
            return value.endswith(expected.value.removeprefix("XX"))
        case PriceEvidence():
            with contextlib.suppress(InvalidOperation):
                same_amount = abs(Decimal(found.amount) - Decimal(expected.value)) < Decimal("0.005")
                return same_amount and _same_currency(found, expected, patterns)
            return False
        case PlaceEvidence():
            return True
        case TimeEvidence():
            return found.time == expected.value


def _figures(count: Counter[str]) -> list[object]:
    """A wrong value is both wrong and missing."""
    right, wrong = count["right"], count["wrong value"]
    expected, answered = right + wrong + count["missing"], right + wrong + count["extra"]
    shares = share(right, answered), share(right, expected), share(2 * right, expected + answered)
    return [expected, *(count[outcome] for outcome in _OUTCOMES), *shares]


def _same_currency(found: PriceEvidence, expected: Expected, patterns: CompiledPatterns) -> bool:
    """By what the packs say the two mean, else by the sign itself."""
    if not expected.currency or expected.currency in (found.currency, found.unit):
        return True
    words, label = patterns.details.all_currencies, expected.currency
    meant = next((words[name] for name in (label, label.lower()) if name in words), label)
    if found.currency is not None and is_currency_code(meant):
        return found.currency == meant
    sign, text = expected.currency_text.casefold(), found.text.casefold()
    return sign in (text if " " in sign else text.replace(" ", ""))
