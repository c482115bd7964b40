"""Dates, clock times, prices and street addresses on labelled texts: precision, recall and F1 by half.

What a set labels beyond them (relative days, durations, recurring sets, numbers in words) is left out by the rules in
``evidence_cases``. A hash of the split key divides the halves: patterns are
written with an eye on the first one only.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal, InvalidOperation

from handlers.classify_results import ClassifyResultsRules
from handlers.text.evidence import find_evidence
from handlers.text.patterns import CompiledPatterns, compile_patterns
from handlers.text.reading import is_currency_code
from schemas.evidence import DateEvidence, Evidence, PlaceEvidence, PriceEvidence, TimeEvidence
from tests.rules import shipped_rules
from tools import labelled
from tools.accuracy import evidence_cases, written_moments
from tools.accuracy.evidence_cases import Case
from tools.accuracy.written_moments import Expected

SETS: dict[str, Callable[[], Iterator[Case]]] = {
    "price_strings": evidence_cases.price_strings,
    "datetime_currency_multilang": evidence_cases.sentences,
    "webstruct_contacts": evidence_cases.contact_pages,
}
HALVES = ("first half", "second half")
_LIMIT = 5000

Counts = dict[tuple[str, str], Counter[str]]


def run() -> list[str]:
    """The table over every set that is here, as lines of text."""
    counts, left_out = measure()
    lines = ["", "### Evidence", ""]
    lines.append("| kind | half | labelled | right | wrong value | missing | extra | precision | recall | F1 |")
    lines.append("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    lines += [_row(kind, half, count) for (kind, half), count in sorted(counts.items())]
    return [*lines, "", f"{left_out:,} labels are left out.", ""]


def measure() -> tuple[Counts, int]:
    """Counts by (kind, half), and how many labels are left out."""
    patterns = compile_patterns(shipped_rules(ClassifyResultsRules).patterns)
    counts: Counts = {}
    left_out = 0
    for name, cases in SETS.items():
        for case in cases() if labelled.has(name) else ():
            half = HALVES[half_of(case.split_key)]
            left_out += len(case.left_out)
            for kind, outcome in judge(case, patterns):
                counts.setdefault((kind, half), Counter())[outcome] += 1
    return counts, left_out


def half_of(split_key: str) -> int:
    """0 or 1, always the same for a key."""
    return hashlib.sha256(split_key.encode()).digest()[0] % 2


def judge(case: Case, patterns: CompiledPatterns) -> Iterator[tuple[str, str]]:
    """Kind and outcome (right, wrong, missing, extra) of all that is labelled or found."""
    found = [e for e in find_evidence(case.text, patterns.details, _LIMIT) if e.kind in case.kinds]
    used: set[int] = set()
    for expected in case.expected:
        near = [n for n, e in enumerate(found) if e.kind == expected.kind and case.touches(e, expected)]
        right = [n for n in near if is_right(found[n], expected, patterns)]
        used.update(right or near)
        yield expected.kind, "right" if right else "wrong" if near else "missing"
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
            numbers = written_moments.numbers(found.text)
            return {int(expected.value[-5:-3]), int(expected.value[-2:])} <= numbers
        case DateEvidence():
            return value_of(found).endswith(expected.value.removeprefix("XX"))
        case PriceEvidence():
            return _same_amount(found.amount, expected.value) and _same_currency(found, expected, patterns)
        case PlaceEvidence():
            return True
        case TimeEvidence():
            return found.time == expected.value


def value_of(found: Evidence) -> str:
    """What is found in the form of labels: a day without a year as ``--11-29``, "" for one that is open."""
    match found:
        case DateEvidence():
            return "" if found.month is None else found.date or f"--{found.month:02d}-{found.day:02d}"
        case PriceEvidence():
            return f"{found.amount} {found.currency or found.unit or ''}".rstrip()
        case TimeEvidence():
            return found.time
        case PlaceEvidence():
            return found.name


def f1(count: Counter[str]) -> float:
    """Harmonic mean of precision and recall; a wrong value is both wrong and missing."""
    total = 2 * count["right"] + 2 * count["wrong"] + count["missing"] + count["extra"]
    return 2 * count["right"] / total if total else 0.0


def _row(kind: str, half: str, count: Counter[str]) -> str:
    expected = count["right"] + count["wrong"] + count["missing"]
    answered = count["right"] + count["wrong"] + count["extra"]
    recall = count["right"] / expected if expected else 0.0
    precision = count["right"] / answered if answered else 0.0
    cells = [kind, half, str(expected), *(str(count[o]) for o in ("right", "wrong", "missing", "extra"))]
    return f"| {' | '.join(cells)} | {precision:.3f} | {recall:.3f} | {f1(count):.3f} |"


def _same_amount(one: str, other: str) -> bool:
    try:
        return abs(Decimal(one) - Decimal(other)) < Decimal("0.005")
    except InvalidOperation:
        return False


def _same_currency(found: PriceEvidence, expected: Expected, patterns: CompiledPatterns) -> bool:
    """By what the packs say the two mean, else by the sign itself."""
    if not expected.currency or expected.currency in (found.currency, found.unit):
        return True
    words, label = patterns.details.all_currencies, expected.currency
    meant = next((words[name] for name in (label, label.lower()) if name in words), label)
    if found.currency is not None and is_currency_code(meant):
        return found.currency == meant
    return not expected.currency_text or expected.currency_text.casefold() in _joined(
        found.text.casefold(), expected.currency_text
    )


def _joined(text: str, like: str) -> str:
    return text if " " in like else text.replace(" ", "")
